"""Transfer matrix: error of each unit's model on every unit's runs as colours, readable by mouse and arrow keys."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetrics,
    QImage,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from bench_gui.fleet.summary import TransferSummary
from bench_gui.plots.heat import CIVIDIS, heat_colour, heat_colours, ink_on
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import describe
from core.base.units import milliradians
from core.document.plot import HeatPanel

Array = NDArray[np.float64]

FLEET, ALIKE, OWN, GIVEN, RECEIVED = "fleet", "alike", "own", "given", "received"
ORDERS = (
    ("similarity", ALIKE),
    ("fleet order", FLEET),
    ("error of own model", OWN),
    ("error of its model on other units", GIVEN),
    ("error of other models on it", RECEIVED),
)
SCALE_HEIGHT, AXIS_HEIGHT = 26, 18
"""[px]"""
MOST_LABEL = 96
"""Maximum width of the units' names at the side [px]."""
WRITTEN = (36.0, 17.0)
"""Minimum size of cells that show their number [px]."""
GAP_FROM = 12.0
"""Minimum size of cells that have a gap between them [px]."""
FONT = 11


def ordered(transfer: TransferSummary, order: str) -> list[int]:
    """Return indices of the units in one of ORDERS."""
    count = len(transfer.units)
    if order == ALIKE:
        return list(transfer.alike)
    if order == FLEET or count < 2:
        return list(range(count))
    errors = np.where(np.isfinite(transfer.errors), transfer.errors, np.pi)
    off = errors.copy()
    np.fill_diagonal(off, 0.0)
    keys = {OWN: np.diag(errors), GIVEN: off.sum(axis=1), RECEIVED: off.sum(axis=0)}
    return [int(place) for place in np.argsort(keys[order], kind="stable")]


class TransferMap(QWidget):
    """Rows: the unit a model was fitted to; columns: the unit it is scored on. Colours are logarithmic."""

    chosen = Signal(str)
    """A row was chosen: the name of its unit."""

    def __init__(self) -> None:
        super().__init__()
        self._plain = "Error of each unit's model on each unit's runs; arrow keys move, a click chooses the row's unit"
        describe(self, "Transfer from unit to unit", self._plain)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(220, 160)
        self._transfer: TransferSummary | None = None
        self._order: list[int] = []
        self._image = QImage()
        self._range = (math.nan, math.nan)
        self.cell: tuple[int, int] | None = None
        """Row and column chosen by keys or mouse."""

    def sizeHint(self) -> QSize:
        """Large, so that the map takes the available space."""
        return QSize(600, 480)

    def show_transfer(self, transfer: TransferSummary, order: str) -> None:
        """Show these errors in one of ORDERS."""
        unit = self.unit(self.cell[0]) if self.cell is not None else ""
        self._transfer, self._order = transfer, ordered(transfer, order)
        self.cell = None
        if unit in transfer.units:
            row = self._order.index(transfer.units.index(unit))
            self.cell = (row, row)
        shown = transfer.errors[np.ix_(self._order, self._order)]
        finite = shown[np.isfinite(shown) & (shown > 0.0)]
        self._range = (float(finite.min()), float(finite.max())) if len(finite) else (math.nan, math.nan)
        self._image = self._drawn(shown)
        self.update()

    def select(self, unit: str) -> None:
        """Mark a unit's row."""
        if self._transfer is not None and unit in self._transfer.units:
            row = self._order.index(self._transfer.units.index(unit))
            if self.cell is None or self.cell[0] != row:
                self.cell = (row, row)
                self.update()

    def unit(self, place: int) -> str:
        """Return the unit of a row or column."""
        return "" if self._transfer is None else self._transfer.units[self._order[place]]

    def words_of(self, row: int, column: int) -> str:
        """Return the text of a cell."""
        assert self._transfer is not None
        error = float(self._transfer.errors[self._order[row], self._order[column]])
        text = f"{milliradians(error)} mrad" if math.isfinite(error) else "diverges"
        if row == column:
            return f"{self.unit(row)}: {text} with its own model"
        return f"Model of {self.unit(row)} on the runs of {self.unit(column)}: {text}"

    def panel(self) -> HeatPanel | None:
        """Return the map for a file."""
        transfer = self._transfer
        if transfer is None:
            return None
        names = tuple(transfer.units[place] for place in self._order)
        errors = 1e3 * transfer.errors[np.ix_(self._order, self._order)]
        return HeatPanel(
            left="Model of",
            bottom="Scored on",
            rows=names,
            columns=names,
            values=np.where(np.isfinite(errors), errors, np.nan),
            scale=f"{transfer.friction.upper()}: mean absolute error [mrad]",
        )

    # Reading.

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show the text of the cell below the mouse."""
        cell = self._cell_at(event.position())
        text = self._plain if cell is None else self.words_of(*cell)
        if text != self.toolTip():
            self.setToolTip(text)
            if cell is not None:
                QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a cell."""
        cell = self._cell_at(event.position())
        if cell is not None:
            self._choose(cell)

    def leaveEvent(self, event: QEvent) -> None:
        """Clear the hovered cell."""
        self.setToolTip(self._plain)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move from cell to cell with the arrow keys."""
        step = {
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
        }.get(Qt.Key(event.key()))
        if step is None or not self._order:
            super().keyPressEvent(event)
            return
        last = len(self._order) - 1
        row, column = self.cell if self.cell is not None else (0, 0)
        self._choose((min(max(row + step[0], 0), last), min(max(column + step[1], 0), last)))

    def _choose(self, cell: tuple[int, int]) -> None:
        self.cell = cell
        self.setAccessibleDescription(self.words_of(*cell))
        self.update()
        self.chosen.emit(self.unit(cell[0]))

    def _cell_at(self, place: QPointF) -> tuple[int, int] | None:
        area, count = self._area(), len(self._order)
        if not count or not area.contains(place):
            return None
        row = int((place.y() - area.top()) / area.height() * count)
        column = int((place.x() - area.left()) / area.width() * count)
        return min(row, count - 1), min(column, count - 1)

    # Drawing.

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw cells, names, the mark and the scale."""
        theme, count = themes.current, len(self._order)
        if self._transfer is None or not count:
            return
        painter = QPainter(self)
        painter.setFont(self._font())
        area = self._area()
        cell = (area.width() / count, area.height() / count)
        painter.fillRect(area, QBrush(QColor(theme.border), Qt.BrushStyle.BDiagPattern))
        painter.drawImage(area, self._image)
        if min(cell) >= GAP_FROM:
            painter.setPen(QPen(QColor(theme.window), 1))
            for k in range(1, count):
                x, y = area.left() + k * cell[0], area.top() + k * cell[1]
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        if cell[0] >= WRITTEN[0] and cell[1] >= WRITTEN[1]:
            self._write(painter, area, cell)
        self._name(painter, area, cell, theme)
        if self.cell is not None:
            row, column = self.cell
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(area.left(), area.top() + row * cell[1], area.width(), cell[1]))
            painter.drawRect(QRectF(area.left() + column * cell[0], area.top() + row * cell[1], *cell))
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1))
            painter.drawRect(area.adjusted(-2, -2, 1, 1))
        self._scale(painter, area, theme)

    def _write(self, painter: QPainter, area: QRectF, cell: tuple[float, float]) -> None:
        assert self._transfer is not None
        for row, one in enumerate(self._order):
            for column, other in enumerate(self._order):
                error = float(self._transfer.errors[one, other])
                if not math.isfinite(error):
                    continue
                painter.setPen(QColor(ink_on(heat_colour(self._share(error)))))
                box = QRectF(area.left() + column * cell[0], area.top() + row * cell[1], *cell)
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, milliradians(error))

    def _name(self, painter: QPainter, area: QRectF, cell: tuple[float, float], theme: Theme) -> None:
        """Draw the names of as many rows and columns as fit."""
        metrics = QFontMetrics(self._font())
        painter.setPen(QColor(theme.muted))
        names = [self.unit(place) for place in range(len(self._order))]
        widest = max(metrics.horizontalAdvance(name) for name in names) + 10
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for row in range(0, len(names), max(1, math.ceil((FONT + 4) / cell[1]))):
            box = QRectF(0, area.top() + (row + 0.5) * cell[1] - 8, area.left() - 6, 16)
            painter.drawText(box, right, metrics.elidedText(names[row], Qt.TextElideMode.ElideLeft, int(box.width())))
        for column in range(0, len(names), max(1, math.ceil(widest / cell[0]))):
            width = max(cell[0], float(widest))
            box = QRectF(area.left() + (column + 0.5) * cell[0] - width / 2, area.bottom() + 3, width, AXIS_HEIGHT - 2)
            if box.right() <= self.width():
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, names[column])

    def _scale(self, painter: QPainter, area: QRectF, theme: Theme) -> None:
        low, high = self._range
        if not math.isfinite(low):
            return
        middle = math.sqrt(low * high)
        ends = [f"{milliradians(value)} mrad" for value in (low, high)]
        widths = [QFontMetrics(self._font()).horizontalAdvance(end) + 8 for end in ends]
        top = self.height() - SCALE_HEIGHT
        bar = QRectF(area.left() + widths[0], top + 3, max(20.0, area.width() - sum(widths)), 9)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for place, colour in enumerate(CIVIDIS):
            gradient.setColorAt(place / (len(CIVIDIS) - 1), QColor(colour))
        painter.fillRect(bar, gradient)
        painter.setPen(QColor(theme.muted))
        line = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(area.left(), top, widths[0], 15), line | Qt.AlignmentFlag.AlignLeft, ends[0])
        painter.drawText(QRectF(bar.right(), top, widths[1], 15), line | Qt.AlignmentFlag.AlignRight, ends[1])
        below = QRectF(bar.center().x() - 60, top + 12, 120, 14)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, milliradians(middle))

    def _area(self) -> QRectF:
        """Area of the cells."""
        metrics = QFontMetrics(self._font())
        units = self._transfer.units if self._transfer is not None else ()
        names = max((metrics.horizontalAdvance(name) for name in units), default=0)
        left = min(names, MOST_LABEL) + 8
        below = AXIS_HEIGHT + SCALE_HEIGHT + 4
        return QRectF(left, 3, max(1, self.width() - left - 4), max(1, self.height() - below - 3))

    def _font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(FONT)
        return font

    def _share(self, error: float) -> float:
        low, high = self._range
        return math.log(max(error, low) / low) / math.log(high / low) if high > low else 0.0

    def _drawn(self, errors: Array) -> QImage:
        """Return an image with one pixel per cell; transparent where there is no number."""
        count = len(errors)
        low, high = self._range
        palette = np.array([QColor(colour).rgba() for colour in heat_colours(256)], dtype=np.uint32)
        pixels = np.zeros((count, count), dtype=np.uint32)
        there = np.isfinite(errors)
        if math.isfinite(low):
            shares = np.log(np.maximum(errors[there], low) / low) / (math.log(high / low) if high > low else 1.0)
            pixels[there] = palette[np.clip(np.round(255.0 * shares), 0, 255).astype(int)]
        image = QImage(pixels.tobytes(), count, count, 4 * count, QImage.Format.Format_ARGB32)
        return image.copy()
