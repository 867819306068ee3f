"""Charts of a Webots Servo over time: position with target and limits, velocity with Vc, forces on the joint."""

from __future__ import annotations

import numpy as np
from PySide6.QtWidgets import QHBoxLayout, QWidget

from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.curves import Curves
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.stack import stacked
from bench_gui.studies.webots.scene import Shown
from bench_gui.theme import themes
from bench_gui.widgets.fields import vbox
from core.base.units import AngleUnit
from core.document.plot import Array
from core.servo.terms import RICHEST

TARGET, MOTION, SOFT, STOPS = "target", "motion", "soft limits", "stops"
MOTOR, FORCED, SPRING, DAMPER, PUSH = "motor", "force control", "spring", "damper", "push"
DASH, DOTS = (5.0, 3.0), (1.5, 2.5)
WIDTH = 1.8


class WebotsPlots(QWidget):
    """Three charts over one time axis with a common legend."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self._curves = Curves()
        self.legend = Legend(self._curves.toggle)
        self.head = QHBoxLayout()
        """Row of the legend; callers append tools to it."""
        self.head.setSpacing(8)
        self.head.addWidget(self.legend, 1)
        column.addLayout(self.head)
        self.position = Chart("Position of the servo", "Position", "rad")
        self.velocity = Chart("Velocity of the servo", "Velocity", "rad/s")
        self.force = Chart("Forces on the joint", "Force", "N·m", bottom="Time [s]")
        self.charts = (self.position, self.velocity, self.force)
        self.body = QHBoxLayout()
        """Row of the charts; callers append the readout to it."""
        self.body.setSpacing(8)
        self.body.addWidget(stacked(self.charts, (6, 4, 6), 13), 1)
        column.addLayout(self.body, 1)
        self._unit: AngleUnit | None = None
        self._shown: Shown | None = None
        themes.changed.connect(self._draw)

    @property
    def keys(self) -> list[str]:
        """Names of the visible curves."""
        return self._curves.keys

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles."""
        self._unit = unit
        self.position.set_left("Position", unit.symbol)
        self.velocity.set_left("Velocity", f"{unit.symbol}/s")
        self._draw()
        self.fit()

    def show_motion(self, shown: Shown) -> None:
        """Draw the motion of a scene."""
        self._shown = shown
        self._draw()
        self.fit()

    def fit(self) -> None:
        """Zoom to the full extent of all curves."""
        for chart in self.charts:
            chart.fit()

    def _draw(self) -> None:
        theme, shown = themes.current, self._shown
        self._curves.clear()
        if shown is None:
            return
        trace, fields = shown.trace, shown.scene.fields
        factor = self._unit.per_radian if self._unit is not None else 1.0
        entries = [LegendEntry(MOTION, "servo", theme.measured, width=WIDTH)]
        self._curve(self.position, MOTION, "position", trace.position * factor, theme.measured, WIDTH, 4)
        self._curve(self.velocity, MOTION, "velocity", trace.velocity * factor, theme.measured, WIDTH, 4)
        entries.append(LegendEntry(TARGET, "target", theme.goal, DASH, 1.2))
        if np.isfinite(trace.target).any():
            self._curve(self.position, TARGET, "target", trace.target * factor, theme.goal, 1.2, 3, DASH)
        self._curve(self.velocity, TARGET, "Vc", trace.wanted_velocity * factor, theme.goal, 1.2, 5, DASH)
        for key, on, values, colour in (
            (SOFT, fields.has_soft_limits, fields.soft_limits, theme.moving),
            (STOPS, fields.has_stops, fields.stops, theme.fault),
        ):
            if on:
                entries.append(LegendEntry(key, key, colour, DOTS, 1.4))
                for side, value in zip(("lower", "upper"), values, strict=True):
                    line = np.full(len(trace.time), value * factor)
                    self._curve(self.position, key, f"{side} {key[:-1]}", line, colour, 1.4, 2, DOTS)
        for key, values, colour in (
            (MOTOR, trace.motor_force, theme.model("m4")),
            (FORCED, trace.force, theme.model(RICHEST)),
            (SPRING, shown.spring, theme.model("m3")),
            (DAMPER, shown.damper, theme.model("m2")),
            (PUSH, shown.push, theme.model("m1")),
        ):
            if np.isfinite(values).any() and (key == MOTOR or np.nan_to_num(values).any()):
                entries.append(LegendEntry(key, key, colour, width=1.4))
                self._curve(self.force, key, key, values, colour, 1.4, 3)
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)

    def _curve(
        self,
        chart: Chart,
        key: str,
        title: str,
        y: Array,
        colour: str,
        width: float,
        z: float,
        dash: tuple[float, ...] | None = None,
    ) -> None:
        assert self._shown is not None
        self._curves.add(chart, key, title, self._shown.trace.time, y, pen(colour, width, dash), z)
