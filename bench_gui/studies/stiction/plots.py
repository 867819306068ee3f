"""Charts of the stiction tab: Φ and Φ_Z as in Figs 3–8 of seed 001, and the experiment over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtWidgets import QHBoxLayout, QWidget

from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.curves import Curves
from bench_gui.plots.dashes import CATALOGUE_DASH, FILE_DASH, IDENTIFIED_DASH
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.studies.stiction.colours import FRICTION_COLOURS, LAW_MODELS
from bench_gui.studies.stiction.compute import PULL, TORQUE, StictionView
from bench_gui.studies.stiction.form import LAW_TITLES
from bench_gui.theme import themes
from bench_gui.widgets.fields import vbox
from core.base.units import AngleUnit
from core.contact.bristle import Bristle, transformed
from core.contact.laws import FrictionLaw
from core.studies.stiction.published import LAWS

REACH = 5.0
"""Range of the curves as a multiple of v_S or Z·F_S, whichever is larger."""
LEAST_REACH = 0.05
"""Smallest range of the curves [rad/s]."""
POINTS = 500
GOAL, STATIC = "goal", "static"
FRICTION_TITLES = {"elastoplastic": "elastoplastic", "sign": "sign()", "tanh": "tanh", "Karnopp": "Karnopp"}
FRICTION_DASHES = {"elastoplastic": None, "sign": None, "tanh": IDENTIFIED_DASH, "Karnopp": CATALOGUE_DASH}


class _TwoCharts(QWidget):
    """Two charts side by side under a common legend, with linked horizontal axes."""

    def __init__(self, left: Chart, right: Chart) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.head = QHBoxLayout()
        """Row above the charts; callers append tools to it."""
        self._curves = Curves()
        self.legend = Legend(self._curves.toggle)
        self.head.addWidget(self.legend, 1)
        column.addLayout(self.head)
        self.charts = (left, right)
        self.row = QHBoxLayout()
        """Row of the charts; callers append the readout to it."""
        self.row.setSpacing(8)
        for chart in self.charts:
            chart.setMinimumHeight(60)
            self.row.addWidget(chart, 1)
        column.addLayout(self.row, 1)
        right.view.setXLink(left.view)
        themes.changed.connect(self._draw)

    def _draw(self) -> None:
        """Redraw the current data."""


class FrictionCurves(_TwoCharts):
    """Φ at the left, Φ_Z at the right; the law of the form is solid, the other published laws are thin and dashed."""

    def __init__(self) -> None:
        super().__init__(
            Chart("Friction function Φ", "Friction Φ", "N·m", bottom="Velocity v [rad/s]"),
            Chart("Implicit friction", "Implicit friction", "N·m", bottom="Hypothetical velocity v* [rad/s]"),
        )
        self.function, self.implicit = self.charts
        self.implicit.view.setYLink(self.function.view)
        self._shown: tuple[str, FrictionLaw, Bristle] | None = None

    def show_law(self, kind: str, law: FrictionLaw, bristle: Bristle) -> None:
        """Draw a law on a bristle. If the two do not fit, the curve of Φ_Z visibly folds back."""
        asked = (kind, law, bristle)
        if asked != self._shown:
            self._shown = asked
            self._draw()
            self.fit()

    def fit(self) -> None:
        """Zoom to the full extent of all curves."""
        self.function.fit()

    def _draw(self) -> None:
        self._curves.clear()
        theme = themes.current
        if self._shown is None:
            return
        kind, law, bristle = self._shown
        speed = getattr(law, "breakaway_speed", 0.0)
        fastest = max(REACH * speed, REACH * bristle.Z * law.static, LEAST_REACH)
        entries = [LegendEntry(kind, LAW_TITLES[kind], theme.model(LAW_MODELS[kind]))]
        self._law(kind, law, bristle, fastest, pen(theme.model(LAW_MODELS[kind]), 2.0), 2)
        for name, other in LAWS.items():
            if name != kind:
                colour = theme.model(LAW_MODELS[name])
                entries.append(LegendEntry(name, f"{LAW_TITLES[name]}, published", colour, FILE_DASH, 1.0))
                self._law(name, other, bristle, fastest, pen(colour, 1.0, FILE_DASH), 1)
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)

    def _law(self, name: str, law: FrictionLaw, bristle: Bristle, fastest: float, drawn: Any, z: float) -> None:
        v = np.linspace(0.0, fastest, POINTS)
        torque = law.friction(v)
        # At rest the curve starts at static friction, which the law reaches only in the limit v → 0.
        torque[0] = law.static
        v, torque = np.concatenate([-v[::-1], v]), np.concatenate([-torque[::-1], torque])
        wished, implicit = transformed(law, bristle, fastest, POINTS)
        inside = np.abs(wished) <= fastest
        for chart, x, y in ((self.function, v, torque), (self.implicit, wished[inside], implicit[inside])):
            self._curves.add(chart, name, LAW_TITLES[name], x, y, drawn, z)


class JointCurves(_TwoCharts):
    """Joint angle and, beside it, drive torque or joint velocity over the same time axis."""

    def __init__(self) -> None:
        super().__init__(
            Chart("Angle of the joint", "Angle", "rad", bottom="Time [s]"),
            Chart("Torque or velocity of the joint", "Torque", "N·m", bottom="Time [s]"),
        )
        self.angle, self.below = self.charts
        self._unit: AngleUnit | None = None
        self._view: StictionView | None = None

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles and velocities."""
        self._unit = unit
        self._draw()
        self.fit()

    def show_view(self, view: StictionView | None) -> None:
        """Draw an experiment."""
        if view is not self._view:
            self._view = view
            self._draw()
            self.fit()

    def fit(self) -> None:
        """Zoom to the full extent; limit a drive torque of both signs to the range around ±F_S."""
        self.angle.fit()
        self.below.fit()
        view = self._view
        if view is not None and view.below == TORQUE and view.traces[0].below.min() < 0.0:
            reach = 1.4 * view.job.law.static
            self.below.view.setYRange(-reach, reach, padding=0.0)

    def _draw(self) -> None:
        self._curves.clear()
        theme, view = themes.current, self._view
        if view is None:
            self.legend.set_entries([])
            return
        factor, symbol = (self._unit.per_radian, self._unit.symbol) if self._unit is not None else (1.0, "rad")
        torque = view.below == TORQUE
        self.angle.set_left("Angle", symbol)
        self.below.set_left(*(("Torque", "N·m") if torque else ("Velocity", f"{symbol}/s")))
        entries, ends = [], view.traces[0].time[[0, -1]]
        if view.goal is not None:
            title = "pulled end" if view.job.experiment == PULL else "goal"
            entries.append(LegendEntry(GOAL, title, theme.goal, width=1.0))
            self._curves.add(self.angle, GOAL, title, ends, factor * view.goal, pen(theme.goal), 0)
        if torque:
            entries.append(LegendEntry(STATIC, "± static friction", theme.muted, CATALOGUE_DASH, 1.0))
            levels = (1.0, -1.0) if view.traces[0].below.min() < 0.0 else (1.0,)
            for sign in levels:
                drawn = pen(theme.muted, 1.0, CATALOGUE_DASH)
                level = np.full(2, sign * view.job.law.static)
                named = f"{'+' if sign > 0 else '−'} static friction"
                self._curves.add(self.below, STATIC, named, ends, level, drawn, 0)
        for z, trace in zip(range(len(view.traces), 0, -1), view.traces, strict=True):
            colour, dash = theme.model(FRICTION_COLOURS[trace.name]), FRICTION_DASHES[trace.name]
            title = FRICTION_TITLES[trace.name]
            width = 2.0 if trace is view.traces[0] else 1.0
            entries.append(LegendEntry(trace.name, title, colour, dash, width))
            below = trace.below if torque else factor * trace.below
            for chart, y in ((self.angle, factor * trace.position), (self.below, below)):
                self._curves.add(chart, trace.name, title, trace.time, y, pen(colour, width, dash), z)
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)
