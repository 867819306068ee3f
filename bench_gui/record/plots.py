"""What a run looks like while it happens: the goal ahead, the motion over it, speed and effort below."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtWidgets import QVBoxLayout, QWidget

from bench_gui.plots.chart import Array, Chart, pen, show_live
from bench_gui.plots.decimate import min_max
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.record.live import LiveRun
from bench_gui.theme import Theme
from bench_gui.units import AngleUnit
from core.trajectories import TrajectoryPreview

NOTHING = np.empty(0)
MEASURED = ("position", "velocity", "effort")


class LivePlots(QWidget):
    """Three plots above each other with one time axis; redrawn only when asked."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.legend = Legend(self._toggle)
        column.addWidget(self.legend)
        self.position = Chart("Live position", "Position", "rad")
        self.velocity = Chart("Live velocity", "Velocity", "rad/s")
        self.effort = Chart("Live current", "Current", "A", bottom="Time in the run [s]")
        self.charts = (self.position, self.velocity, self.effort)
        for chart, share in zip(self.charts, (10, 7, 9), strict=True):
            column.addWidget(chart, share)
            if chart is not self.position:
                chart.axes.setXLink(self.position.axes)
        self.curves: dict[str, Any] = {
            "goal": self.position.add_live_curve(1),
            "position": self.position.add_live_curve(2),
            "velocity": self.velocity.add_live_curve(2),
            "effort": self.effort.add_live_curve(2),
        }
        self._effort_channel = "current"
        self._unit: AngleUnit | None = None
        self._preview: TrajectoryPreview | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        for chart in self.charts:
            chart.set_theme(theme)
        self.curves["goal"].setPen(pen(theme.goal))
        for name in MEASURED:
            self.curves[name].setPen(pen(theme.measured))
        self.legend.set_entries(
            [
                LegendEntry("goal", "goal", theme.goal, width=1.0),
                LegendEntry("measured", "measured", theme.measured),
            ]
        )

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit; what is drawn has to be drawn again."""
        self._unit = unit
        self.position.set_left("Position", unit.symbol)
        self.velocity.set_left("Velocity", f"{unit.symbol}/s")
        if self._preview is not None:
            self.show_preview(self._preview)

    def show_preview(self, preview: TrajectoryPreview) -> None:
        """Draw the goal of the run that comes or is on, and hold the axes to it."""
        self._preview = preview
        factor = self._unit.per_radian if self._unit else 1.0
        x, y = min_max(preview.time, preview.goal * factor, self._columns())
        show_live(self.curves["goal"], x, y)
        low, high = preview.lowest * factor, preview.highest * factor
        room = 0.15 * max(high - low, 0.2 * factor)
        self.position.axes.setXRange(0.0, float(preview.time[-1]), padding=0.01)
        self.position.axes.setYRange(low - room, high + room, padding=0.0)
        speed = max(preview.peak_velocity * factor, 0.2 * factor)
        self.velocity.axes.setYRange(-1.25 * speed, 1.25 * speed, padding=0.0)

    def show_effort(self, channel: str) -> None:
        """Show the current [A] or, for servos that do not report it, the duty cycle."""
        self._effort_channel = channel
        title, unit = ("Current", "A") if channel == "current" else ("Duty cycle", "1")
        self.effort.set_left(title, unit)

    def show_run(self, run: LiveRun) -> None:
        """Draw the run so far."""
        factor = self._unit.per_radian if self._unit else 1.0
        time, columns = run.column("time"), self._columns()
        channels = ("position", "velocity", self._effort_channel)
        for name, channel, scale in zip(MEASURED, channels, (factor, factor, 1.0), strict=True):
            x, y = min_max(time, run.column(channel), columns)
            show_live(self.curves[name], x.copy(), y * scale)
        self._grow(self.position, run.column("position") * factor)
        self._grow(self.velocity, run.column("velocity") * factor)
        self._grow(self.effort, run.column(self._effort_channel))

    def _columns(self) -> int:
        return max(200, int(self.position.view.width()))

    def _grow(self, chart: Chart, values: Array) -> None:
        """Widen the vertical axis when a curve leaves it, in steps, so that it does not creep."""
        values = values[np.isfinite(values)]
        if not len(values):
            return
        low, high = chart.view.viewRange()[1]
        lowest, highest = float(values.min()), float(values.max())
        if highest > high or lowest < low:
            room = 0.15 * (max(highest, high) - min(lowest, low))
            chart.axes.setYRange(
                lowest - room if lowest < low else low,
                highest + room if highest > high else high,
                padding=0.0,
            )

    def begin_run(self) -> None:
        """Forget the curves of the run before."""
        for name in MEASURED:
            show_live(self.curves[name], NOTHING, NOTHING)
        self.effort.axes.setYRange(-0.1, 0.1, padding=0.0)

    def _toggle(self, key: str, on: bool) -> None:
        for name in ("goal",) if key == "goal" else MEASURED:
            self.curves[name].setVisible(on)
