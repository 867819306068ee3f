"""Dialog for the used part of a run: two lines on its plot, or two numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyqtgraph as pg
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QLabel, QWidget

from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.decimate import min_max
from bench_gui.plots.styles import GOAL, MEASURED
from bench_gui.session.dialogs.about_runs import RunDialog
from bench_gui.session.runs.wording import number_of, used_part
from bench_gui.theme import themes
from bench_gui.widgets.fields import button, label, number
from core.base.units import RADIANS, AngleUnit
from core.motion.trajectories import title_of

if TYPE_CHECKING:
    from core.motion.recording import Recording
    from sessions import Annotation, RunSummary

SHORTEST = 0.02
"""Shortest part of a run [s]."""
COLUMNS = 1200
"""Columns of the plot; curves have two points per column."""
DIGITS = 3
"""Decimals of the numbers; a change below half of the last one counts as none."""
Trimmed = Callable[[float | None, float | None], object]


class TrimDialog(RunDialog):
    """Asks for begin and end in seconds from the first sample; `begin` and `end` are None for an untrimmed side.

    The window reuses one dialog for all runs. A plot leaves objects to Python's garbage collector, which may run in a
    thread that must not touch widgets.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(
            parent,
            "Trim",
            "Fits and comparisons use the part between the lines. The recording itself is not changed.",
        )
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        self.resize(720, 430)
        self._trimmed: Trimmed = lambda begin, end: None
        self._length = 0.0
        self._unit = RADIANS
        self.chart = Chart("Position of the run", "Position", "", bottom="Time [s]")
        self.chart.setMinimumHeight(200)
        self._goal, self._measured = self.chart.add_curve(1), self.chart.add_curve(2)
        self.region = pg.LinearRegionItem(swapMode="block")
        self.region.setZValue(3)
        self.chart.add_item(self.region)
        self.body.addWidget(self.chart, 1)
        self.first = self._field("Begin", "Earlier samples are not used")
        self.last = self._field("End", "Later samples are not used")
        self._used = label("", "muted")
        row = QHBoxLayout()
        for caption, field in (("Begin", self.first), ("End", self.last)):
            name = QLabel(caption)
            name.setBuddy(field)
            row.addWidget(name)
            row.addWidget(field)
            row.addSpacing(10)
        row.addWidget(self._used, 1)
        self.reset_button = button("Whole run", "Use the whole run again", self.reset)
        row.addWidget(self.reset_button)
        self.body.addLayout(row)
        self.offer("Cancel", "Change nothing", lambda: None)
        self.trim_button = self.offer(
            "Trim", "Use only this part of the run", lambda: self._trimmed(self.begin, self.end), "primary"
        )
        self.region.sigRegionChanged.connect(self._moved)
        self.first.valueChanged.connect(self._entered)
        self.last.valueChanged.connect(self._entered)
        themes.follow(self._paint)

    def ask(self, run: RunSummary, annotation: Annotation, unit: AngleUnit, trimmed: Trimmed) -> None:
        """Show the dialog for a run; trimmed: called with begin and end. `show_recording` draws the run."""
        self.title.setText(f"Trim run {number_of(run)}, {title_of(run.trajectory)}")
        self._trimmed, self._length, self._unit = trimmed, run.duration, unit
        self.chart.set_left("Position", unit.symbol)
        for curve in (self._goal, self._measured):
            curve.setData([], [])
        for field in (self.first, self.last):
            field.setRange(0.0, run.duration)
        self.region.setBounds((0.0, run.duration))
        self.region.setRegion(used_part(run, annotation))
        self._moved()
        self.chart.view.setXRange(0.0, run.duration)
        self.show()
        self.raise_()

    @property
    def begin(self) -> float | None:
        """Begin of the used part [s]."""
        return None if self.first.value() < 0.5 * 10.0**-DIGITS else self.first.value()

    @property
    def end(self) -> float | None:
        """End of the used part [s]."""
        return None if self.last.value() > self._length - 10.0**-DIGITS else self.last.value()

    def show_recording(self, recording: Recording) -> None:
        """Draw the run."""
        time = recording.time - recording.time[0]
        goal = recording.goal_position if recording.command.kind == "position" else recording.position
        for curve, values in ((self._goal, goal), (self._measured, recording.position)):
            curve.setData(*min_max(time, values * self._unit.per_radian, COLUMNS))
        self.chart.fit()

    def _paint(self) -> None:
        theme = themes.current
        self._goal.setPen(pen(*GOAL))
        self._measured.setPen(pen(*MEASURED))
        brush, strong = QColor(theme.accent), QColor(theme.accent)
        brush.setAlphaF(0.10)
        strong.setAlphaF(0.16)
        self.region.setBrush(brush)
        self.region.setHoverBrush(strong)
        for line in self.region.lines:
            line.setPen(pg.mkPen(theme.accent, width=2))
            line.setHoverPen(pg.mkPen(theme.accent_hover, width=4))
        self.region.update()

    def reset(self) -> None:
        """Use the whole run."""
        self.region.setRegion((0.0, self._length))

    def _field(self, name: str, tip: str) -> QDoubleSpinBox:
        return number(name, f"{tip} [s from the first sample]", "s", 0.0, 0.0, 0.0, DIGITS, 0.1)

    def _moved(self) -> None:
        for field, value in zip((self.first, self.last), self.region.getRegion(), strict=True):
            with QSignalBlocker(field):
                field.setValue(float(value))  # pyright: ignore[reportArgumentType]
        self._say()

    def _entered(self) -> None:
        with QSignalBlocker(self.region):
            self.region.setRegion(sorted((self.first.value(), self.last.value())))
        self._say()

    def _say(self) -> None:
        left = self.last.value() - self.first.value()
        good = left >= SHORTEST
        self._used.setText(
            f"{max(left, 0.0):.2f} s of {self._length:.2f} s are used"
            if good
            else f"The end must be at least {SHORTEST} s after the begin"
        )
        self.trim_button.setEnabled(good)
        self.trim_button.setToolTip("Use only this part of the run" if good else self._used.text())
