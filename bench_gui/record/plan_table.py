"""The recording plan as a grid: a row for each load and length, a column for each gain, recorded over planned runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from bench_gui.theme import Theme
from core.plan import Cell, PlanStatus

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
Field = tuple[float, float, float]
"""Length, mass, gain."""


class PlanTable(QAbstractTableModel):
    """Rows in the order in which they are recorded."""

    def __init__(self) -> None:
        super().__init__()
        self._status: PlanStatus | None = None
        self._running: Field | None = None
        self._places: list[tuple[float, float]] = []
        self._done: Counter[Field] = Counter()
        self._all: Counter[Field] = Counter()
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme

    def show_status(self, status: PlanStatus, running: Cell | None) -> None:
        """Show what is done; the field that is recorded now is marked."""
        other = self._status is None or self._status.plan != status.plan
        if other:
            self.beginResetModel()
        self._status, self._running = status, None if running is None else _field(running)
        self._done = Counter(_field(cell) for cell in status.done)
        if other:
            cells = status.plan.cells()
            self._all = Counter(_field(cell) for cell in cells)
            self._places = list(dict.fromkeys(cell.place for cell in cells))
            self.endResetModel()
        else:
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))

    def cells(self, index: Index) -> list[Cell]:
        """The planned runs of a field of the grid; none for the column of loads."""
        if self._status is None or not index.isValid() or index.column() == 0:
            return []
        field = self._field_at(index)
        return [cell for cell in self._status.plan.cells() if _field(cell) == field]

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Loads and lengths."""
        return 0 if parent.isValid() else len(self._places)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """The load and the gains."""
        return 0 if parent.isValid() or self._status is None else 1 + len(self._status.plan.kps)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is not Qt.Orientation.Horizontal or self._status is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return "Load" if section == 0 else f"kp {self._status.plan.kps[section - 1]:g}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            return int(left if section == 0 else Qt.AlignmentFlag.AlignCenter)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        length, mass = self._places[index.row()]
        if index.column() == 0:
            return f"{mass:g} kg at {length:g} m" if role == Qt.ItemDataRole.DisplayRole else None
        field = self._field_at(index)
        done, total = self._done[field], self._all[field]
        running = field == self._running
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{done}/{total}" + (" ▸" if running else " ✓" if done == total else "")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignCenter)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(index)
        if role == Qt.ItemDataRole.FontRole and (running or done == total):
            font = QFont()
            font.setBold(True)
            font.setPixelSize(12)
            return font
        if role == Qt.ItemDataRole.ForegroundRole and self._theme is not None:
            theme = self._theme
            return QColor(
                theme.moving if running else theme.good if done == total else theme.text if done else theme.muted
            )
        return None

    def _tip(self, index: Index) -> str:
        if self._status is None:
            return ""
        done = self._status.done
        return "\n".join(
            f"{cell.trajectory} {cell.repetition}: {done.get(cell, 'missing')}" for cell in self.cells(index)
        )

    def _field_at(self, index: Index) -> Field:
        length, mass = self._places[index.row()]
        kp = self._status.plan.kps[index.column() - 1] if self._status is not None else 0.0
        return length, mass, kp


def _field(cell: Cell) -> Field:
    return cell.length, cell.mass, cell.kp
