"""Live plots of a run: the planned goal, the measured motion, its twin, and further channels below.

Position is always shown; pinned channels stand below it. A channel that is not pinned has no plot and costs nothing.
The twin and its band are decimated once, when they arrive; each frame only shows more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QColor
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from bench_gui.plots.chart import Array, Chart, pen, show_live
from bench_gui.plots.decimate import min_max
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.styles import BAND_OPACITY, GOAL, MEASURED
from bench_gui.record.live import LiveRun
from bench_gui.state.models import ModelEntry
from bench_gui.theme import themes
from bench_gui.widgets.fields import tool, vbox
from core.base.units import RADIANS, AngleUnit
from core.motion.trajectories import TrajectoryPreview
from core.practice.twin import TwinMotion
from drivers.limits import Limits

NOTHING = np.empty(0)


@dataclass(frozen=True)
class Strip:
    """A channel that can be pinned below the position."""

    title: str
    unit: str
    angular: bool
    """True if it is shown in the angle's unit."""
    least: float
    """Minimum span of the axis to both sides of the first value."""


STRIPS = {
    "velocity": Strip("Velocity", "/s", True, 0.1),
    "current": Strip("Current", "A", False, 0.1),
    "duty_cycle": Strip("Duty cycle", "1", False, 0.05),
    "supply_voltage": Strip("Supply", "V", False, 0.3),
    "temperature": Strip("Temperature", "°C", False, 1.0),
}
PINNED = ("velocity", "current")
INSTEAD = {"current": "duty_cycle"}
"""Substitute for a channel that the servo does not report."""


class LivePlots(QWidget):
    """Plots stacked on one time axis; redrawn only on request."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.legend = Legend(self._toggle)
        self.pins = self._pin_button()
        self.bar = QHBoxLayout()
        """Row of the legend; the page adds its switches to it."""
        self.bar.setSpacing(6)
        self.bar.addWidget(self.legend, 1)
        self.bar.addWidget(self.pins)
        column.addLayout(self.bar)
        self.position = Chart("Live position", "Position", "rad")
        column.addWidget(self.position, 10)
        self._above: list[Chart] = []
        """Charts between position and the lowest one; each is created when that many channels are first pinned."""
        self._column = column
        self._run: LiveRun | None = None
        self._unit: AngleUnit = RADIANS
        self._preview: TrajectoryPreview | None = None
        self._limits: Limits | None = None
        self._twin: TwinMotion | None = None
        self._entry: ModelEntry | None = None
        self._thinned: dict[str, tuple[Array, Array]] = {}
        self._grown: dict[str, int] = {}
        self._turn = 0
        add = self.position.add_live_curve
        self.curves: dict[str, Any] = {
            "goal": add(1, "goal", lambda: self._whole_goal()),
            "band": self.position.add_live_band(0.5),
            "twin": add(1.5, "twin", lambda: self._whole_twin()),
            "position": add(2, "measured", self._source("position")),
        }
        self._limit_lines = [self.position.vertical_line(0.0) for _ in range(2)]
        for line in self._limit_lines:
            line.setAngle(0)
            line.setVisible(False)
        self._strip_curves: dict[Chart, Any] = {}
        self._foot = Chart("Lowest live channel", "", "", bottom="Time in the run [s]")
        self._add_strip(self._foot, column.count())
        self._pinned: tuple[str, ...] = ()
        self.pin(PINNED)
        themes.follow(self._paint)

    # Display.

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts created so far, from the top."""
        return (self.position, *self._above, self._foot)

    @property
    def pinned(self) -> tuple[str, ...]:
        """Channels below the position, from the top."""
        return self._pinned

    def pin(self, channels: tuple[str, ...]) -> None:
        """Show these channels below the position; at least one."""
        chosen = tuple(name for name in STRIPS if name in channels) or PINNED[:1]
        self._pinned = chosen
        while len(self._above) < len(chosen) - 1:
            self._above.append(Chart(f"Live channel {len(self._above) + 1}", "", ""))
            self._add_strip(self._above[-1], self._column.indexOf(self._foot))
        # Only the lowest chart has the time axis.
        places = [*self._above[: len(chosen) - 1], self._foot]
        for chart in self._above:
            chart.setVisible(chart in places)
        # The lowest chart also holds the time axis, so it gets more height the more charts there are.
        self._column.setStretchFactor(self._foot, 7 + len(chosen))
        for name in STRIPS:
            self.curves.pop(name, None)
        self._placed = dict(zip(chosen, places, strict=True))
        for name, chart in self._placed.items():
            self.curves[name] = self._strip_curves[chart]
        for name, action in self._actions.items():
            action.setChecked(name in chosen)
        self._name_axes()
        self._grown = {}
        self._colour()
        if self._run is not None:
            self.show_run(self._run)

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit; the caller redraws the curves."""
        self._unit = unit
        self._name_axes()
        self._grown = {}
        if self._preview is not None:
            self.show_preview(self._preview)
        self.show_limits(self._limits)

    def show_limits(self, limits: Limits | None) -> None:
        """Draw the angles the servo may not leave; None: not known."""
        self._limits = limits
        for line, name in zip(self._limit_lines, ("lowest_position", "highest_position"), strict=True):
            line.setVisible(limits is not None)
            if limits is not None:
                line.setValue(getattr(limits, name) * self._unit.per_radian)

    @property
    def limit_lines(self) -> tuple[float, ...]:
        """Positions of the limit lines, in the shown unit."""
        return tuple(float(line.value()) for line in self._limit_lines if line.isVisible())

    def show_preview(self, preview: TrajectoryPreview) -> None:
        """Draw the goal of the next or present run, and fix the axes to it."""
        self._preview = preview
        factor = self._unit.per_radian
        x, y = min_max(preview.time, preview.goal * factor, self._columns())
        show_live(self.curves["goal"], x, y)
        low, high = preview.lowest * factor, preview.highest * factor
        room = 0.15 * max(high - low, 0.2 * factor)
        self.position.view.setXRange(0.0, float(preview.time[-1]), padding=0.01)
        self.position.view.setYRange(low - room, high + room, padding=0.0)
        if "velocity" in self._placed:
            speed = max(preview.peak_velocity * factor, 0.2 * factor)
            self._placed["velocity"].view.setYRange(-1.25 * speed, 1.25 * speed, padding=0.0)
            self._grown.setdefault("velocity", 0)

    def show_twin(self, motion: TwinMotion | None, entry: ModelEntry | None) -> None:
        """Set the simulated motion of the present run; None removes it."""
        self._twin, self._entry = motion, entry
        self._thinned = {}
        if motion is not None:
            columns = self._columns()
            for name, side in (("twin", 0.0), ("lower", -1.0), ("upper", 1.0)):
                self._thinned[name] = min_max(motion.time, motion.position + side * motion.half_width, columns)
        for name in ("twin", "band"):
            show_live(self.curves[name], NOTHING, NOTHING)
        self._colour()
        self._entries()

    def begin_run(self, run: LiveRun) -> None:
        """Remove the curves of the last run; `run` is the next."""
        self._run = run
        self._grown = {}
        for name in ("position", *self._pinned):
            show_live(self.curves[name], NOTHING, NOTHING)

    def show_run(self, run: LiveRun) -> None:
        """Draw the run so far, and its twin up to the same time."""
        for _ in range(self.shown_charts):
            self.show_next(run)

    @property
    def shown_charts(self) -> int:
        """Number of charts shown."""
        return 1 + len(self._placed)

    def show_next(self, run: LiveRun) -> None:
        """Draw the run so far in one chart, in turns: drawing all at once would block the window."""
        self._run = run
        if not run.count:
            return
        self._turn = (self._turn + 1) % self.shown_charts
        if self._turn:
            self._show_strip(self._pinned[self._turn - 1], run)
        else:
            self._show_position(run)

    # Internal.

    def _paint(self) -> None:
        self._colour()
        self._entries()

    def _add_strip(self, chart: Chart, place: int) -> None:
        """Insert a new chart with a curve into the column."""
        self._column.insertWidget(place, chart, 7)
        chart.view.setXLink(self.position.view)
        self._strip_curves[chart] = chart.add_live_curve(2, "measured", self._strip_source(chart))

    def _show_position(self, run: LiveRun) -> None:
        time, factor = run.column("time"), self._unit.per_radian
        x, y = min_max(time, run.column("position"), self._columns())
        show_live(self.curves["position"], x.copy(), y * factor)
        self._grow("position", self.position, run.column("position"), factor, 0.1)
        now = float(time[-1])
        if self._thinned:
            (x, y), (below, low), (above, high) = (
                (when[: (shown := int(np.searchsorted(when, now, side="right")))], values[:shown] * factor)
                for when, values in (self._thinned[name] for name in ("twin", "lower", "upper"))
            )
            show_live(self.curves["twin"], x, y)
            show_live(self.curves["band"], np.append(below, above[::-1]), np.append(low, high[::-1]))

    def _show_strip(self, name: str, run: LiveRun) -> None:
        chart = self._placed[name]
        channel, strip = self._given(name, run)
        scale = self._unit.per_radian if strip.angular else 1.0
        if self.legend.shown("measured"):
            x, y = min_max(run.column("time"), run.column(channel), self._columns())
            show_live(self.curves[name], x.copy(), y * scale)
        self._grow(name, chart, run.column(channel), scale, strip.least * scale)
        if chart.left[0] != strip.title:
            self._name_axis(chart, strip)

    def _given(self, name: str, run: LiveRun | None) -> tuple[str, Strip]:
        """Return the channel for a pinned one: itself, or the substitute that the servo reports."""
        other = INSTEAD.get(name)
        if other is not None and other not in self._pinned and run is not None and run.count and not run.has(name):
            return other, STRIPS[other]
        return name, STRIPS[name]

    def _columns(self) -> int:
        return max(200, int(self.position.view.width()))

    def _grow(self, name: str, chart: Chart, values: Array, scale: float, least: float) -> None:
        """Widen the vertical axis in steps when a curve leaves it, so it does not creep."""
        fresh = name not in self._grown and name != "position"
        new = values[self._grown.get(name, 0) :]
        new = new[np.isfinite(new)] * scale
        if not len(new):
            return
        self._grown[name] = len(values)
        lowest, highest = float(new.min()), float(new.max())
        if fresh:
            chart.view.setYRange(lowest - least, highest + least, padding=0.0)
            return
        low, high = chart.view.viewRange()[1]
        if highest > high or lowest < low:
            room = 0.15 * (max(highest, high) - min(lowest, low))
            chart.view.setYRange(
                lowest - room if lowest < low else low,
                highest + room if highest > high else high,
                padding=0.0,
            )

    def _name_axes(self) -> None:
        self.position.set_left("Position", self._unit.symbol)
        for name, chart in self._placed.items():
            self._name_axis(chart, self._given(name, self._run)[1])

    def _name_axis(self, chart: Chart, strip: Strip) -> None:
        chart.set_left(strip.title, f"{self._unit.symbol}{strip.unit}" if strip.angular else strip.unit)
        chart.setAccessibleName(f"Live {strip.title.lower()}")

    def _colour(self) -> None:
        self.curves["goal"].setPen(pen(*GOAL))
        for name in ("position", *self._pinned):
            self.curves[name].setPen(pen(*MEASURED))
        for line in self._limit_lines:
            line.setPen(pen("fault"))
        if self._entry is not None:
            style = self._entry.style._replace(width=1.0)
            self.curves["twin"].setPen(pen(*style))
            pale = QColor(themes.current.colour(style.colour))
            pale.setAlphaF(BAND_OPACITY)
            self.curves["band"].setBrush(pale)

    def _entries(self) -> None:
        entries = [LegendEntry("goal", "goal", GOAL), LegendEntry("measured", "measured", MEASURED)]
        if self._entry is not None and self._twin is not None:
            style = self._entry.style._replace(width=1.0)
            entries.append(LegendEntry("twin", f"twin {self._entry.title}", style, band=True))
        self.legend.set_entries(entries)

    def _toggle(self, key: str, on: bool) -> None:
        names = {"goal": ("goal",), "twin": ("twin", "band")}.get(key, ("position", *self._pinned))
        for name in names:
            self.curves[name].setVisible(on)
        if on and self._run is not None:
            self.show_run(self._run)

    def _pin_button(self) -> QToolButton:
        button = tool("Pinned channels", "Channels shown below the position", "flat")
        button.setText("Channels")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        self._actions: dict[str, QAction] = {}
        for name, strip in STRIPS.items():
            action = QAction(strip.title, menu)
            action.setCheckable(True)
            action.setToolTip(f"Show the {strip.title.lower()} below the position")
            action.triggered.connect(lambda on, name=name: self._pin(name, on))
            menu.addAction(action)
            self._actions[name] = action
        button.setMenu(menu)
        return button

    def _pin(self, name: str, on: bool) -> None:
        kept = set(self._pinned) | {name} if on else set(self._pinned) - {name}
        self.pin(tuple(kept))

    # Full resolution, for cursors and exports.

    def _source(self, name: str) -> Callable[[], tuple[Array, Array]]:
        def points() -> tuple[Array, Array]:
            run = self._run
            if run is None or not run.count:
                return NOTHING, NOTHING
            strip = STRIPS.get(name)
            scale = self._unit.per_radian if strip is None or strip.angular else 1.0
            return run.column("time").copy(), run.column(name) * scale

        return points

    def _strip_source(self, chart: Chart) -> Callable[[], tuple[Array, Array]]:
        def points() -> tuple[Array, Array]:
            for name, placed in self._placed.items():
                if placed is chart:
                    return self._source(self._given(name, self._run)[0])()
            return NOTHING, NOTHING

        return points

    def _whole_goal(self) -> tuple[Array, Array]:
        preview = self._preview
        return (NOTHING, NOTHING) if preview is None else (preview.time, preview.goal * self._unit.per_radian)

    def _whole_twin(self) -> tuple[Array, Array]:
        twin = self._twin
        return (NOTHING, NOTHING) if twin is None else (twin.time, twin.position * self._unit.per_radian)
