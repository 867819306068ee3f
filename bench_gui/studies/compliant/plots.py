"""Charts of a compliant joint: torque and stiffness of its springs, and its motion over time and on a dial."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QWidget

from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.curves import Curves
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.stack import LEGIBLE
from bench_gui.plots.styles import FILE_DASH, GOAL, Style
from bench_gui.studies.compliant.compute import PUSH, ComplianceView
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import hbox, vbox
from core.base.units import AngleUnit
from core.document.plot import PlotArea
from core.studies.compliant.elastic import CompliantActuator
from core.studies.compliant.modes import Mode

Array = NDArray[np.float64]

LINK, MOTOR_1, MOTOR_2, EQUILIBRIUM = "link", "motor 1", "motor 2", "equilibrium"
PUSHED = "push"
STYLES = {
    LINK: Style("accent", 2.0),
    MOTOR_1: Style("m1", 1.5),
    MOTOR_2: Style("m3", 1.5),
    EQUILIBRIUM: Style("measured", 1.5, FILE_DASH),
    "goal": GOAL,
    PUSHED: Style("m6", 1.5),
}
"""By key, in the order of the legend."""
POINTS = 241
BEYOND = 1.25
"""Range of the torque curves as a multiple of the largest deflection."""
HANDS = {EQUILIBRIUM: 1.0, MOTOR_1: 0.72, MOTOR_2: 0.72, LINK: 0.9}
"""Lengths of the hands on the dial, whose radius is 1."""


class _SpringChart(Chart):
    """Chart whose horizontal axis depends on the actuator."""

    def set_bottom(self, text: str) -> None:
        """Set the title of the horizontal axis, e.g. "Pivot position [m]"."""
        self._bottom = text
        self._label()


class _Dial(Chart):
    """Round dial without axes."""

    def __init__(self) -> None:
        super().__init__("Dial of link, motors and equilibrium; down is 0", "", "")
        self.setToolTip("Angles of link, motors and equilibrium; hanging down is 0")
        self.view.setAspectLocked(True)
        self.view.setMouseEnabled(False, False)
        self.fit()

    def fit(self) -> None:
        """Zoom to the whole dial."""
        self.view.setRange(xRange=(-1.1, 1.1), yRange=(-1.1, 1.1), padding=0.0)

    def _label(self) -> None:
        for axis in self.axes.values():
            axis.hide()


class ComplianceCurves(QWidget):
    """Torque over deflection and stiffness over preset, computed in the window's thread: a few hundred points."""

    def __init__(self) -> None:
        super().__init__()
        column, row = vbox(self, spacing=4), hbox(spacing=8)
        self._curves = Curves()
        self.legend = Legend(self._curves.toggle)
        column.addWidget(self.legend)
        column.addLayout(row, 1)
        self.torque = _SpringChart("Torque of the springs over deflection", "Torque", "N·m", bottom="Deflection [rad]")
        self.torque.setToolTip(
            "Torque of the springs on the link at the preset; dashed: each spring of a pair, in the colour of its motor"
        )
        self.stiffness = _SpringChart("Stiffness", "Stiffness", "N·m/rad", bottom="Stiffness preset [rad]", log=True)
        for chart in (self.torque, self.stiffness):
            chart.setMinimumHeight(LEGIBLE)
            row.addWidget(chart, 1)
        self._unit: AngleUnit | None = None
        self._shown: tuple[CompliantActuator, float] | None = None
        themes.changed.connect(self._draw)

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles; stiffness stays in N·m/rad."""
        self._unit = unit
        self._draw()

    def show_actuator(self, actuator: CompliantActuator, preset: float) -> None:
        """Draw the curves of an actuator at a preset, given in the preset's own unit."""
        self._shown = actuator, preset
        self._draw()

    def _draw(self) -> None:
        self._curves.clear()
        unit = self._unit
        if unit is None or self._shown is None:
            return
        actuator, preset = self._shown
        styles = self._draw_torque(actuator, preset, unit)
        self._draw_stiffness(actuator, preset, unit)
        self.legend.set_entries([LegendEntry(title, title, style) for title, style in styles.items()])
        self._curves.follow(self.legend)
        for chart in (self.torque, self.stiffness):
            chart.fit()

    def _draw_torque(self, actuator: CompliantActuator, preset: float, unit: AngleUnit) -> dict[str, Style]:
        """Draw the torques on the link; return the style of each curve."""
        reach = BEYOND * actuator.parameters()["max_deflection"].value
        deflection = np.linspace(-reach, reach, POINTS)
        q1, q2 = (float(v) for v in actuator.references(0.0, preset))
        found = actuator.elastic_torque(q1, q2, deflection)
        x = deflection * unit.per_radian
        torques = {"springs on the link": (found.link, STYLES[LINK])}
        if actuator.motors == 2:
            torques["spring 1"] = -found.motor_1, STYLES[MOTOR_1]._replace(dash=FILE_DASH)
            torques["spring 2"] = -found.motor_2, STYLES[MOTOR_2]._replace(dash=FILE_DASH)
        for title, (torque, style) in torques.items():
            self._curves.add(self.torque, title, title, x, torque, style)
        self.torque.set_bottom(f"Link − equilibrium [{unit.symbol}]")
        return {title: style for title, (_, style) in torques.items()}

    def _draw_stiffness(self, actuator: CompliantActuator, preset: float, unit: AngleUnit) -> None:
        low, high = actuator.preset_limits()
        if high > low:
            presets = low + (high - low) * np.linspace(0.02, 1.0, POINTS)
            angular = actuator.preset_unit == "rad"
            per, symbol = (unit.per_radian, unit.symbol) if angular else (1.0, actuator.preset_unit)
            self._stiffness_curve("stiffness", presets * per, self._stiffness_of(actuator, presets))
            here = np.array([min(max(preset, presets[0]), high)])
            mark = self._stiffness_curve("now", here * per, self._stiffness_of(actuator, here))
            mark.setPen(None)
            mark.setSymbol("o")
            mark.setSymbolBrush(pg.mkBrush(themes.current.accent))
            mark.setSymbolPen(pen("accent"))
            self.stiffness.set_bottom(f"{actuator.preset_name} [{symbol}]")
            return
        reach = actuator.parameters()["max_deflection"].value
        deflection = np.linspace(-reach, reach, POINTS)
        stiffness = actuator.elastic_torque(0.0, 0.0, deflection).stiffness
        self._stiffness_curve("stiffness", deflection * unit.per_radian, stiffness)
        self.stiffness.set_bottom(f"Link − equilibrium [{unit.symbol}]")

    def _stiffness_curve(self, title: str, x: Array, stiffness: Array) -> Any:
        return self._curves.add(self.stiffness, title, title, x, np.log10(stiffness), STYLES[LINK])

    @staticmethod
    def _stiffness_of(actuator: CompliantActuator, presets: Array) -> Array:
        return actuator.elastic_torque(*actuator.references(0.0, presets), 0.0).stiffness


class ComplianceMotion(QWidget):
    """Angles and torques over time, beside a dial with link, motors and equilibrium at one moment."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.legend = Legend(self._toggle)
        self.angle = Chart("Angles of link, motors and equilibrium", "Angle", "rad")
        self.torque = Chart("Torques on the link", "On the link", "N·m", bottom="Time [s]")
        self.over_time = (self.angle, self.torque)
        self.torque.view.setXLink(self.angle.view)
        times = QWidget()
        charts = vbox(times, spacing=4)
        for chart, share in zip(self.over_time, (5, 4), strict=True):
            chart.setMinimumHeight(LEGIBLE)
            charts.addWidget(chart, share)
        self.dial = _Dial()
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(8)
        splitter.addWidget(self.dial)
        splitter.addWidget(times)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([210, 600])
        column.addWidget(self.legend)
        self.body = QHBoxLayout()
        """Row of the charts; callers append the readout to it."""
        self.body.setSpacing(8)
        self.body.addWidget(splitter, 1)
        column.addLayout(self.body, 1)
        turn = np.linspace(0.0, 2.0 * np.pi, 121)
        self._rim = pg.PlotCurveItem(np.cos(turn), np.sin(turn))
        self.dial.add_item(self._rim)
        self._hands: dict[str, Any] = {key: pg.PlotCurveItem() for key in HANDS}
        for hand in self._hands.values():
            self.dial.add_item(hand)
        self._now = [pg.InfiniteLine(0.0, angle=90) for _ in self.over_time]
        for chart, mark in zip(self.over_time, self._now, strict=True):
            chart.add_item(mark)
        self._unit: AngleUnit | None = None
        self._view: ComplianceView | None = None
        self._curves = Curves()
        themes.follow(self._paint)

    @property
    def keys(self) -> list[str]:
        """Names of the curves over time."""
        return self._curves.keys

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles."""
        self._unit = unit
        self.angle.set_left("Angle", unit.symbol)
        self._draw()

    def show_view(self, view: ComplianceView) -> None:
        """Draw a motion, with the dial at its end."""
        self._view = view
        self._draw()

    def fit(self) -> None:
        """Zoom to the full extent of all curves."""
        for chart in self.over_time:
            chart.fit()

    def show_moment(self, time: float) -> None:
        """Move the hands and the time marks to a time [s] of the motion."""
        view = self._view
        if view is None:
            return
        k = min(int(np.searchsorted(view.motion.time, time)), len(view.motion.time) - 1)
        for key, angles in _angles(view).items():
            if key not in self._hands:
                continue
            at = angles[k]
            seen = np.isfinite(at)
            self._hands[key].setVisible(bool(seen) and self.legend.shown(key))
            if seen:
                self._hands[key].setData([0.0, HANDS[key] * np.sin(at)], [0.0, -HANDS[key] * np.cos(at)])
        for mark in self._now:
            mark.setValue(view.motion.time[k])

    def _paint(self) -> None:
        theme = themes.current
        self._rim.setPen(pen(theme.grid))
        for mark in self._now:
            mark.setPen(pen(theme.muted))
        self._draw()

    def _draw(self) -> None:
        self._curves.clear()
        theme, unit, view = themes.current, self._unit, self._view
        if unit is None or view is None:
            return
        time, motion = view.motion.time, view.motion
        torques = {
            LINK: ("torque of the actuator", motion.link_torque),
            PUSHED: ("push of the hand", motion.external_torque),
        }
        for key, angles in _angles(view).items():
            self._curve(self.angle, key, key, time, angles * unit.per_radian, STYLES[key])
        for key, (title, values) in torques.items():
            self._curve(self.torque, key, title, time, values, STYLES[key])
        for key, hand in self._hands.items():
            hand.setPen(pen(*STYLES[key]._replace(width=2.0 * STYLES[key].width)))
        self.angle.clear_areas()
        self.torque.clear_areas()
        if view.job.push != 0.0:
            self._shade(view, theme)
        entries = [LegendEntry(key, key, style) for key, style in STYLES.items() if key in self._curves.keys]
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)
        self.fit()
        self.show_moment(float(time[-1]))

    def _shade(self, view: ComplianceView, theme: Theme) -> None:
        """Shade the time of the push over the full height of the curves."""
        begin, end = (share * view.job.duration for share in PUSH)
        for chart in self.over_time:
            drawn = [c.y[np.isfinite(c.y)] for c in chart.seen()]
            values = np.concatenate(drawn) if drawn else np.zeros(1)
            low, high = float(values.min()), float(values.max())
            x = np.array([begin, end])
            chart.add_area(PlotArea("push", x, np.full(2, low), np.full(2, high), theme.muted, 0.16))

    def _curve(self, chart: Chart, key: str, title: str, x: Array, y: Array, style: Style) -> None:
        if not np.isfinite(y).any():
            return
        self._curves.add(chart, key, title, x, y, style, len(self._curves.keys))

    def _toggle(self, key: str, on: bool) -> None:
        self._curves.toggle(key, on)
        if key in self._hands:
            self._hands[key].setVisible(on and key in self._curves.keys)


def _angles(view: ComplianceView) -> dict[str, Array]:
    """Return the angles [rad] by key. The position of an adjuster is left out, because it is a length."""
    motion, job = view.motion, view.job
    nothing = np.full_like(motion.position, np.nan)
    commands_position = job.mode.takes_preset or job.mode is Mode.LINK_PID
    return {
        "goal": motion.reference_1 if commands_position else nothing,
        EQUILIBRIUM: view.equilibrium,
        MOTOR_1: motion.motor_1,
        MOTOR_2: motion.motor_2 if job.joint.actuator.motors == 2 else nothing,
        LINK: motion.position,
    }
