"""Heat map as a table: numbers in coloured cells, usable by eye, keyboard and screen readers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QLinearGradient, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from bench_gui.plots.heat import CIVIDIS, heat_colour, ink_on
from bench_gui.theme import themes
from bench_gui.widgets.fields import describe, label, vbox
from bench_gui.widgets.text_table import VALUE_ROLE, Cell, Column, Index, TextTable
from core.base.units import FIGURE_DASH, fixed
from core.document.plot import HeatPanel

LOWEST_ROW, NARROWEST_COLUMN = 24, 48
"""Smallest sizes of a cell [px]."""
SCALE_HEIGHT = 26


def _range(panel: HeatPanel) -> tuple[float, float]:
    known = panel.values[np.isfinite(panel.values)]
    return (float(known.min()), float(known.max())) if len(known) else (math.nan, math.nan)


class HeatTable(TextTable):
    """Cells of a HeatPanel; a cell's value is its colour, empty without a number."""

    def __init__(self) -> None:
        super().__init__(())
        self.panel: HeatPanel | None = None

    def show_panel(self, panel: HeatPanel) -> None:
        """Show a panel's numbers."""
        low, high = _range(panel)
        self.panel = panel
        rows = []
        for row, values in zip(panel.rows, panel.values.tolist(), strict=True):
            cells = []
            for column, value in zip(panel.columns, values, strict=True):
                known = math.isfinite(value)
                tip = f"{panel.left} {row}, {panel.bottom} {column}: "
                tip += f"{value:.2f} mrad" if known else "error unknown"
                colour = heat_colour((value - low) / (high - low) if high > low else 0.0) if known else ""
                cells.append(Cell(fixed(value, 2 if value < 10 else 1), tip, value=colour))
            rows.append(cells)
        self.show(rows, [Column(name, centred=True) for name in panel.columns])

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the values of the conditions."""
        if orientation is Qt.Orientation.Vertical and role == Qt.ItemDataRole.DisplayRole and self.panel is not None:
            return self.panel.rows[section] if section < len(self.panel.rows) else None
        return super().headerData(section, orientation, role)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's data; screen readers get its place from the tooltip."""
        spoken = role == Qt.ItemDataRole.AccessibleTextRole
        return super().data(index, Qt.ItemDataRole.ToolTipRole if spoken else role)


class _HeatCell(QStyledItemDelegate):
    """Fills a cell with its colour; a cell without a number is hatched."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the colour, the number and the selection mark."""
        theme = themes.current
        painter.save()
        cell = QRectF(option.rect).adjusted(1, 1, -1, -1)  # pyright: ignore[reportAttributeAccessIssue]
        colour = index.data(VALUE_ROLE)
        if colour:
            painter.fillRect(cell, QColor(colour))
            painter.setPen(QColor(ink_on(colour)))
        else:
            painter.fillRect(cell, QBrush(QColor(theme.border), Qt.BrushStyle.BDiagPattern))
            painter.setPen(QColor(theme.muted))
        font = QFont(option.font)  # pyright: ignore[reportAttributeAccessIssue]
        font.setPixelSize(12)
        painter.setFont(font)
        painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, str(index.data()))
        if option.state & QStyle.StateFlag.State_Selected:  # pyright: ignore[reportAttributeAccessIssue]
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(cell.adjusted(1, 1, -1, -1))
        painter.restore()


class _Scale(QWidget):
    """Colour scale from the lowest to the highest number."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(SCALE_HEIGHT)
        self.setAccessibleName("Scale of the heat map")
        self.panel: HeatPanel | None = None

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the scale with the values at its ends."""
        if self.panel is None:
            return
        low, high = _range(self.panel)
        if not math.isfinite(low):
            return
        painter = QPainter(self)
        font = QFont(self.font())
        font.setPixelSize(11)
        painter.setFont(font)
        ends = (f"{low:.2f} mrad", f"{high:.2f} mrad")
        widths = [painter.fontMetrics().horizontalAdvance(end) + 8 for end in ends]
        bar = QRectF(widths[0], 7, max(20, self.width() - sum(widths)), 12)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for place, colour in enumerate(CIVIDIS):
            gradient.setColorAt(place / (len(CIVIDIS) - 1), QColor(colour))
        painter.fillRect(bar, gradient)
        painter.setPen(QColor(themes.current.muted))
        line = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, 0, widths[0], SCALE_HEIGHT), line | Qt.AlignmentFlag.AlignLeft, ends[0])
        right = QRectF(self.width() - widths[1], 0, widths[1], SCALE_HEIGHT)
        painter.drawText(right, line | Qt.AlignmentFlag.AlignRight, ends[1])


class HeatMap(QWidget):
    """Cells, names of their rows and columns, and the scale."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.axes: QLabel = label("", "muted")
        column.addWidget(self.axes)
        self.table = HeatTable()
        self.view: QTableView = describe(
            QTableView(), "Heat map", "Mean error over two conditions; hatched where there is no recording"
        )
        self._cells = _HeatCell()
        self.view.setModel(self.table)
        self.view.setItemDelegate(self._cells)
        self.view.setShowGrid(False)
        self.view.setTabKeyNavigation(False)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        for header, least in (
            (self.view.horizontalHeader(), NARROWEST_COLUMN),
            (self.view.verticalHeader(), LOWEST_ROW),
        ):
            header.setMinimumSectionSize(least)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
            header.setHighlightSections(False)
            header.setDefaultAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self.view, 1)
        self._scale = _Scale()
        column.addWidget(self._scale)

    def show_panel(self, panel: HeatPanel) -> None:
        """Show a panel's numbers."""
        self.table.show_panel(panel)
        self._scale.panel = panel
        self._scale.update()
        self.axes.setText(f"{panel.left} down, {panel.bottom} across; {FIGURE_DASH} no data")
