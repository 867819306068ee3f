"""Δ cursors: two vertical lines through charts that share their lower axis, and the values of the curves there.

The lines are dragged with the mouse or moved with the arrow keys while their button has the focus. Values are
interpolated linearly from the curves at full resolution, so that they agree with the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QHeaderView, QToolButton, QVBoxLayout

from bench_gui.plots.chart import Chart
from bench_gui.theme import themes
from bench_gui.widgets.fields import describe, label
from bench_gui.widgets.tables import plain_table
from bench_gui.widgets.text_table import Cell, Column, TextTable
from core.base.units import significant
from core.document.plot import labelled

NAMES = ("①", "②")
READOUT_WIDTH = 360
VALUE_WIDTH = 76
LOOK = 100
"""Period of checking the curves for changes [ms]."""
_COLUMNS = (
    Column("Curve"),
    Column(NAMES[0], "Value at the first cursor", number=True),
    Column(NAMES[1], "Value at the second cursor", number=True),
    Column("Δ", "Second minus first", number=True),
)
COARSE = 10
"""Step of a cursor with Shift and an arrow key [px]."""
SECONDS = "s"


@dataclass(frozen=True)
class Reading:
    """One curve at both cursors, in the unit of its axis; NaN where it has no value."""

    name: str
    axis: str
    unit: str
    colour: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first


class DeltaCursors(QObject):
    """Cursor lines of a group of charts; the first chart leads."""

    changed = Signal()
    """Emitted when a place or a value changes."""
    grasped = Signal(int)
    """Emitted when the user takes hold of a cursor, 0 or 1."""

    def __init__(self, charts: Sequence[Chart]) -> None:
        super().__init__(charts[0])
        self._charts = tuple(charts)
        self._lines: list[tuple[Any, ...]] = []
        self._focus = -1
        self.on = False
        self.places = [0.0, 0.0]
        """Places of both cursors on the lower axis, in its unit."""
        themes.changed.connect(self._paint)

    def show(self, on: bool) -> None:
        """Show the cursors at one and two thirds of the visible range, or hide them."""
        if on == self.on:
            return
        self.on = on
        if on:
            low, high = self._seen()
            self.places = [low + (high - low) / 3.0, low + 2.0 * (high - low) / 3.0]
            # The names are in the uppermost chart of each stack: the next one after a chart with a lower axis.
            named = [True, *(bool(chart.bottom[0]) for chart in self._charts)]
            self._lines = [
                tuple(self._line(chart, number, first) for number in (0, 1))
                for chart, first in zip(self._charts, named, strict=False)
            ]
            self._paint()
        else:
            for chart, lines in zip(self._charts, self._lines, strict=True):
                for line in lines:
                    chart.remove_item(line)
            self._lines = []
        self.changed.emit()

    def move(self, number: int, place: float) -> None:
        """Move a cursor to a place on the lower axis, in all charts."""
        if place == self.places[number]:
            return
        self.places[number] = place
        for lines in self._lines:
            lines[number].setValue(place)
        self.changed.emit()

    def step(self, number: int, pixels: float) -> None:
        """Move a cursor by pixels; a cursor outside the visible range first moves to the nearer end."""
        low, high = self._seen()
        inside = min(max(self.places[number], low), high)
        width = max(1.0, float(self._charts[0].view.width()))
        self.move(number, inside + pixels * (high - low) / width)

    def mark(self, number: int) -> None:
        """Highlight the cursor that the keys move; −1 for none."""
        self._focus = number
        self._paint()

    def readings(self) -> list[Reading]:
        """Readings of every visible curve, from the top chart down."""
        first, second = self.values
        return [
            Reading(curve.name, chart.full_name, chart.left[1], curve.colour, curve.at(first), curve.at(second))
            for chart in self._charts
            if chart.isVisibleTo(chart.window())
            for curve in chart.seen()
            if curve.width
        ]

    @property
    def values(self) -> list[float]:
        """Values of the lower axis at both cursors."""
        return [self._charts[0].value_at(place) for place in self.places]

    def _seen(self) -> tuple[float, float]:
        low, high = self._charts[0].view.viewRange()[0]
        return float(low), float(high)

    def _line(self, chart: Chart, number: int, named: bool) -> Any:
        line = pg.InfiniteLine(self.places[number], angle=90, movable=True)
        line.setZValue(100)
        if named:
            # The first label is left of its line, the second right, so that close cursors stay readable.
            text = pg.InfLineLabel(line, NAMES[number], position=0.08, anchors=[(number ^ 1, 0.5), (number ^ 1, 0.5)])
            text.setParentItem(line)
        chart.add_item(line)
        line.sigPositionChanged.connect(lambda moved, number=number: self.move(number, float(moved.value())))
        line.sigDragged.connect(lambda _, number=number: self.grasped.emit(number))
        return line

    def _paint(self) -> None:
        for lines in self._lines:
            for number, line in enumerate(lines):
                width = 2 if number == self._focus else 1
                line.setPen(pg.mkPen(themes.current.accent, width=width))
                line.setHoverPen(pg.mkPen(themes.current.accent_hover, width=2))
                for child in line.childItems():
                    if isinstance(child, pg.InfLineLabel):
                        child.setColor(themes.current.accent)


class _Handle(QToolButton):
    """Button of a cursor: shows its place; with the focus, the arrow keys move the cursor."""

    stepped = Signal(float)
    focused = Signal(bool)

    def __init__(self, number: int) -> None:
        super().__init__()
        self.setProperty("kind", "cursor")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        describe(
            self,
            f"Cursor {number + 1}",
            f"Cursor {number + 1}: the arrow keys move it by a pixel, with Shift by {COARSE}; or drag its line",
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the cursor on an arrow key."""
        way = {Qt.Key.Key_Left: -1.0, Qt.Key.Key_Right: 1.0}.get(Qt.Key(event.key()), 0.0)
        if way:
            coarse = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.stepped.emit(way * (COARSE if coarse else 1))
            event.accept()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: Any) -> None:
        """Mark this cursor as the one that the keys move."""
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: Any) -> None:
        """Remove the mark."""
        super().focusOutEvent(event)
        self.focused.emit(False)


class ReadingTable(TextTable):
    """Readings: one row per curve, grouped by chart, with the values at both cursors and their difference."""

    def __init__(self) -> None:
        super().__init__(_COLUMNS)
        self.headings: list[int] = []
        """Rows that name an axis."""

    def show_readings(self, readings: list[Reading]) -> None:
        """Show readings; unchanged curves keep their rows."""
        rows, keys, self.headings = [], [], []
        for axis, members in groupby(readings, lambda reading: labelled(reading.axis, reading.unit)):
            self.headings.append(len(rows))
            keys.append(axis)
            rows.append((Cell(axis, bold=True), "", "", ""))
            for reading in members:
                keys.append((reading.name, reading.colour))
                values = (reading.first, reading.second, reading.difference)
                rows.append((Cell(reading.name, colour=reading.colour), *map(significant, values)))
        self.show(rows, keys=keys)


class CursorReadout(QFrame):
    """Box beside the charts with places, their difference and the curves' values; visible while the cursors are on."""

    def __init__(self, cursors: DeltaCursors, symbol: str, unit: Callable[[], str]) -> None:
        """Create the box; symbol: name of the lower axis, e.g. "t"; unit: returns its unit."""
        super().__init__()
        self._cursors, self._symbol, self._unit = cursors, symbol, unit
        self.setProperty("role", "card")
        self.setFixedWidth(READOUT_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(6)
        self.handles = [_Handle(number) for number in (0, 1)]
        for number, handle in enumerate(self.handles):
            handle.stepped.connect(lambda pixels, number=number: cursors.step(number, pixels))
            handle.focused.connect(lambda there, number=number: cursors.mark(number if there else -1))
            row.addWidget(handle, 1)
        column.addLayout(row)
        self.difference = label("", "muted")
        column.addWidget(self.difference)
        self.table = ReadingTable()
        view = plain_table("Values at the cursors", "Each visible curve at both cursors, and the difference")
        view.setObjectName("embedded")
        view.setModel(self.table)
        for place, width in enumerate((100, VALUE_WIDTH, VALUE_WIDTH, VALUE_WIDTH)):
            view.setColumnWidth(place, width)
        header = view.horizontalHeader()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(30)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        column.addWidget(view, 1)
        self._view = view
        self.table.modelReset.connect(self._span)
        cursors.changed.connect(self._show)
        cursors.grasped.connect(lambda number: self.handles[number].setFocus())
        # Curves change without notice: live data, or a curve that is switched off.
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK)
        self._timer.timeout.connect(self._show)
        self.hide()

    def _show(self) -> None:
        cursors = self._cursors
        self.setVisible(cursors.on)
        if not cursors.on:
            self._timer.stop()
            return
        if not self._timer.isActive():
            self._timer.start()
        if not self.isVisible():
            return
        unit = self._unit()
        for name, handle, place in zip(NAMES, self.handles, cursors.values, strict=True):
            handle.setText(f"{name} {significant(place)} {unit}")
        self.difference.setText(self._difference(unit))
        self.table.show_readings(cursors.readings())

    def _span(self) -> None:
        self._view.clearSpans()
        for row in self.table.headings:
            self._view.setSpan(row, 0, 1, self.table.columnCount())

    def _difference(self, unit: str) -> str:
        first, second = self._cursors.values
        difference = second - first
        text = f"Δ{self._symbol} = {significant(difference)} {unit}"
        if unit == SECONDS and not math.isclose(difference, 0.0):
            text += f"   1/Δ{self._symbol} = {significant(1.0 / abs(difference), 3)} Hz"
        return text
