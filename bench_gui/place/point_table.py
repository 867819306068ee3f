"""The placed points as a table: one row a torque and repeat, its two extremes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from bench_gui.headless.place.rests import Target
from bench_gui.theme import Theme
from core.placement import BACKDRIVE, DRIVE, PlacedPoint
from core.units import FIGURE_DASH, RADIANS, AngleUnit, fixed

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
SOUGHT = "▸"
"""Stands where a person is looking for the number."""
SIDE_OF_COLUMN = {1: DRIVE, 2: BACKDRIVE}


@dataclass(frozen=True)
class _Row:
    torque: float
    repeat: int
    points: dict[str, PlacedPoint]


class PointTable(QAbstractTableModel):
    """Every extreme of the plan, and points of the bench beyond it."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[_Row] = []
        self._sought: Target | None = None
        self._unit = RADIANS
        self._direction = 1
        self._theme: Theme | None = None

    def set_points(self, points: Sequence[PlacedPoint], plan: Sequence[Target]) -> None:
        """Show these points and what is still to be placed."""
        found: dict[tuple[float, int], dict[str, PlacedPoint]] = {(t.torque, t.repeat): {} for t in plan}
        for point in points:
            found.setdefault((point.motor_torque, point.repeat), {})[point.side] = point
        rows = [_Row(torque, repeat, sides) for (torque, repeat), sides in sorted(found.items())]
        if rows == self._rows:
            return
        same = [(r.torque, r.repeat) for r in rows] == [(r.torque, r.repeat) for r in self._rows]
        if same:
            self._rows = rows
            self._redraw()
        else:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def set_sought(self, target: Target | None) -> None:
        """Emphasise the extreme that is sought."""
        if target != self._sought:
            self._sought = target
            self._redraw()

    def set_unit(self, unit: AngleUnit, direction: int) -> None:
        """Show angles in a unit; direction: −1 where the pendulum turns clockwise as the servo's angle grows."""
        self._unit, self._direction = unit, direction
        self._redraw()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 1, 2)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self._redraw()

    def target(self, index: Index) -> Target | None:
        """The extreme in a cell; None where a cell is none."""
        side = SIDE_OF_COLUMN.get(index.column()) if index.isValid() else None
        if side is None:
            return None
        row = self._rows[index.row()]
        return Target(row.torque, row.repeat, side)

    def cell(self, target: Target) -> Index:
        """Where an extreme is shown; an invalid index where it is not."""
        for number, row in enumerate(self._rows):
            for column, side in SIDE_OF_COLUMN.items():
                if Target(row.torque, row.repeat, side) == target:
                    return self.index(number, column)
        return QModelIndex()

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else 4

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        symbol = self._unit.symbol
        titles = ("Torque\n[N·m]", f"Lowest\n[{symbol}]", f"Highest\n[{symbol}]", "Spread\n[mrad]")
        tips = (
            "Motor torque held, and which time",
            "Lowest angle at which the pendulum still rested: the drive torque",
            "Highest angle at which the pendulum still rested: the backdrive torque",
            "Between the lowest and the highest position while the pendulum rested, the larger of both",
        )
        if role == Qt.ItemDataRole.DisplayRole:
            return titles[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tips[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, index.column(), self._is_sought(index))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        sought = self._is_sought(index)
        if role == Qt.ItemDataRole.ForegroundRole and sought and self._theme is not None:
            return QColor(self._theme.accent)
        if role == Qt.ItemDataRole.FontRole and sought:
            font = QFont()
            font.setBold(True)
            return font
        if role == Qt.ItemDataRole.ToolTipRole:
            point = row.points.get(SIDE_OF_COLUMN.get(index.column(), ""))
            if point is not None:
                return f"External torque {fixed(point.external_torque, 4, 'N·m')}, placed {point.when}"
        return None

    def _is_sought(self, index: Index) -> bool:
        return self._sought is not None and self.target(index) == self._sought

    def _text(self, row: _Row, column: int, sought: bool) -> str:
        if column == 0:
            return f"{row.torque:g}" + (f"  #{row.repeat}" if row.repeat > 1 else "")
        if column == 3:
            spreads = [point.spread for point in row.points.values()]
            return fixed(1e3 * max(spreads), 1) if spreads else ""
        point = row.points.get(SIDE_OF_COLUMN[column])
        digits = 2 if self._unit.per_radian > 1.5 else 4
        if point is None:
            return SOUGHT if sought else FIGURE_DASH
        angle = self._direction * (point.angle + point.bench.angle_offset)
        return fixed(angle * self._unit.per_radian, digits)

    def _redraw(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, 3))
