"""Model of all tables: columns with tooltips, cells with a tone; editable or long tables derive from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QApplication, QStyledItemDelegate, QStyleOptionViewItem

from bench_gui.icons import swatch
from bench_gui.theme import Theme, themes

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
VALUE_ROLE = Qt.ItemDataRole.UserRole + 1
"""Role of the data that a delegate draws, see `Cell.value`."""


@dataclass(frozen=True)
class Column:
    """Title and tooltip of a column, and its alignment: numbers right, otherwise left or centred."""

    title: str
    tip: str = ""
    number: bool = False
    centred: bool = False
    friction: str = ""
    """Friction model whose colour is shown before the title."""

    @property
    def alignment(self) -> int:
        """Alignment flags for Qt."""
        side = Qt.AlignmentFlag.AlignRight if self.number else Qt.AlignmentFlag.AlignLeft
        return int((Qt.AlignmentFlag.AlignHCenter if self.centred else side) | Qt.AlignmentFlag.AlignVCenter)


@dataclass(frozen=True)
class Cell:
    """Text of a cell."""

    text: str
    tip: str = ""
    """Tooltip; empty: the text itself, which may be elided."""
    tone: str = ""
    """Theme name of the colour, e.g. "fault"; empty for the normal one."""
    bold: bool = False
    friction: str = ""
    """Friction model whose colour is shown before the text."""
    colour: str = ""
    """Colour shown before the text."""
    value: Any = None
    """Data under VALUE_ROLE, for a delegate to draw or for sorting."""


def muted(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a row whose value is not determined."""
    return [replace(cell, tone=cell.tone or "muted") for cell in cells]


class TextTable(QAbstractTableModel):
    """Rows of cells set by `show`; a long table overrides `rowCount` and `cell_at` and makes only visible cells."""

    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.rows: tuple[tuple[Cell, ...], ...] = ()
        self._keys: Sequence[Any] | None = None

    def show(
        self,
        rows: Sequence[Sequence[Cell | str]],
        columns: Sequence[Column] | None = None,
        keys: Sequence[Any] | None = None,
    ) -> None:
        """Show rows.

        Rows with the same keys as before are changed in place, which keeps the selection.

        Args:
            rows: cells of each row.
            columns: new columns; None keeps the current ones.
            keys: identity of each row.
        """
        columns = self.columns if columns is None else tuple(columns)
        cells = tuple(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows)
        if keys is not None and keys == self._keys and len(columns) == len(self.columns):
            if (columns, cells) == (self.columns, self.rows):
                return
            self.columns, self.rows = columns, cells
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(columns) - 1)
            self._redraw()
            return
        self.beginResetModel()
        self.columns, self.rows, self._keys = columns, cells, keys
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the titles and tooltips of the columns."""
        if orientation is Qt.Orientation.Horizontal and section < len(self.columns):
            column = self.columns[section]
            if role == Qt.ItemDataRole.DisplayRole:
                return column.title
            if role == Qt.ItemDataRole.ToolTipRole:
                return column.tip
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return column.alignment
            if role == Qt.ItemDataRole.DecorationRole and column.friction:
                return swatch(themes.current.model(column.friction))
        return None

    def cell_at(self, row: int, column: int) -> Cell:
        """Return one cell."""
        return self.rows[row][column]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        cell = self.cell_at(index.row(), index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return cell.text
        if role == Qt.ItemDataRole.ToolTipRole:
            return cell.tip or cell.text
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.columns[index.column()].alignment
        if role == VALUE_ROLE:
            return cell.value
        if role == Qt.ItemDataRole.DecorationRole and cell.friction:
            return swatch(themes.current.model(cell.friction))
        if role == Qt.ItemDataRole.DecorationRole and cell.colour:
            return swatch(cell.colour)
        if role == Qt.ItemDataRole.ForegroundRole and cell.tone:
            return QColor(getattr(themes.current, cell.tone))
        if role == Qt.ItemDataRole.FontRole and cell.bold:
            font = QFont(QApplication.font())
            font.setBold(True)
            return font
        return None

    def _redraw(self) -> None:
        if self.rowCount():
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, len(self.columns) - 1))


class DrawnCells(QStyledItemDelegate):
    """Delegate base class that draws the values of a column in theme colours."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the background as usual, then the value."""
        super().paint(painter, option, index)
        value = index.data(VALUE_ROLE)
        if value is None:
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.draw(painter, QRectF(option.rect).adjusted(8, 0, -12, 0), value, themes.current)  # type: ignore[attr-defined]
        painter.restore()

    def draw(self, painter: QPainter, area: QRectF, value: Any, theme: Theme) -> None:
        """Draw one value into an area."""
        raise TypeError(f"{type(self).__name__} draws nothing")
