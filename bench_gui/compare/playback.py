"""Time cursor in an overlay, and the pendulum at that time, measured and simulated."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QElapsedTimer, QPointF, QTimer
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton

from bench_gui.compare.plots import ComparePlots
from bench_gui.plots.chart import Chart
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import label, tool, vbox
from bench_gui.widgets.pendulum import PendulumView, at
from core.base.units import DEGREES, AngleUnit, fixed
from core.servo.bench import Bench

FRAME = 33
"""Time between two frames [ms]."""
WIDTH = 300
NARROWER = 22.0
"""Reduction of the pendulum's size compared with the bench page [px]."""
PLAY, PAUSE = "▶ Play", "❚❚ Pause"


class PlayedPendulum(PendulumView):
    """Measured pendulum with thin ones behind it for the simulated models."""

    def __init__(self) -> None:
        super().__init__()
        self.setToolTip("Filled: measured; rings: simulated, in the models' colours")
        self.others: list[tuple[float, str]] = []
        """Angle [rad] and colour of each simulated pendulum."""

    def geometry_of_rod(self) -> tuple[QPointF, float]:
        """Leave room for the numbers around the ring; the corners are empty."""
        centre, reach = super().geometry_of_rod()
        return centre, reach - NARROWER

    def _numbers(self, painter: QPainter, theme: Theme, bench: Bench) -> None:
        """Draw the angle below, beside the time."""

    def _scale(self, painter: QPainter, theme: Theme, centre: QPointF, reach: float) -> None:
        super()._scale(painter, theme, centre, reach)
        for angle, colour in self.others:
            end = at(centre, reach, angle)
            painter.setPen(QPen(QColor(colour), 3))
            painter.drawLine(centre, end)
            painter.drawEllipse(end, 22.0, 22.0)


class Playback(QFrame):
    """Panel beside the curves; its cursor is dragged along the time axis, or plays."""

    def __init__(self, plots: ComparePlots) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.setFixedWidth(WIDTH)
        self._plots = plots
        self._unit: AngleUnit | None = None
        self._lines: list[tuple[Chart, Any]] = []
        self.time = 0.0
        """Place of the cursor on the time axis [s]."""
        self.pendulum = PlayedPendulum()
        self.button: QToolButton = tool("Play", "Play from the cursor at the speed of the recording", "play")
        self.button.setText(PLAY)
        self.button.setCheckable(True)
        self.button.toggled.connect(self._play)
        self.moment: QLabel = label("", "muted")
        row = QHBoxLayout()
        row.addWidget(self.button)
        row.addStretch(1)
        row.addWidget(self.moment)
        column = vbox(self, margins=(8, 8, 8, 8))
        column.addWidget(self.pendulum, 1)
        column.addLayout(row)
        self._clock = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME)
        self._timer.timeout.connect(self._advance)
        plots.drawn.connect(self._look)
        themes.changed.connect(self._paint)
        self.hide()

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit."""
        self._unit = unit
        self._look()

    def show_cursor(self, on: bool) -> None:
        """Show the pendulum with its cursor at the left end of the visible range, or hide them."""
        self.button.setChecked(False)
        for chart, line in self._lines:
            chart.remove_item(line)
        self._lines = []
        if on:
            self.time = max(0.0, float(self._plots.charts[0].view.viewRange()[0][0]))
            for chart in self._plots.charts:
                line = pg.InfiniteLine(self.time, angle=90, movable=True)
                line.setZValue(90)
                line.sigPositionChanged.connect(lambda moved: self.move_to(float(moved.value())))
                chart.add_item(line)
                self._lines.append((chart, line))
            self._paint()
        self.setVisible(on)
        self._look()

    def move_to(self, time: float) -> None:
        """Move the cursor to a time on the axis [s]."""
        if time != self.time:
            self.time = time
            for _, line in self._lines:
                line.setValue(time)
            self._look()

    def hideEvent(self, event: QHideEvent) -> None:
        """Pause while hidden."""
        super().hideEvent(event)
        self.button.setChecked(False)

    def _paint(self) -> None:
        for _, line in self._lines:
            line.setPen(pg.mkPen(themes.current.accent, width=1))
            line.setHoverPen(pg.mkPen(themes.current.accent_hover, width=2))

    def _play(self, on: bool) -> None:
        self.button.setText(PAUSE if on else PLAY)
        self.button.setAccessibleName("Pause" if on else "Play")
        if not on:
            self._timer.stop()
            return
        if self.time >= self._end - FRAME / 1e3:
            self.move_to(0.0)
        self._clock.start()
        self._timer.start()

    @property
    def _end(self) -> float:
        return self._plots.duration

    def _advance(self) -> None:
        self.move_to(min(self.time + self._clock.restart() / 1e3, self._end))
        if self.time >= self._end:
            self.button.setChecked(False)

    def _look(self) -> None:
        if not self.isVisible() or self._unit is None:
            return
        bench, angles = self._plots.at(self.time)
        if bench is not None:
            self.pendulum.show_bench(bench)
        measured = angles.pop("measured", float("nan"))
        self.pendulum.others = [(angle, self._plots.colour(key)) for key, angle in angles.items()]
        self.pendulum.show_angle(measured, self._unit, self._plots.colour("measured"))
        self.pendulum.update()
        shown = fixed(measured * self._unit.per_radian, 1 if self._unit is DEGREES else 3, self._unit.symbol)
        self.moment.setText(f"{fixed(self.time, 2, 's')}   {shown}")
