"""Mean absolute error of each model: run by run, or of the runs that share a condition, and of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from bench_gui.compare.comparison import ErrorBook
from bench_gui.headless.comparison_tables import MRAD, condition_groups, conditions_of
from bench_gui.icons import swatch
from bench_gui.plots.contents import TablePanel
from bench_gui.state.models import ModelEntry
from bench_gui.theme import Theme
from core.identification.runs.grouping import Group
from core.units import FIGURE_DASH, milliradians
from core.words import counted

if TYPE_CHECKING:
    from sessions import RunSummary

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
RUNS: tuple[str, ...] = ()
"""Group by nothing: one row a run."""
PENDING = "…"


class ErrorTable(QAbstractTableModel):
    """The mean comes first, then one row a run or group; one column a model."""

    def __init__(self, book: ErrorBook) -> None:
        super().__init__()
        self._book = book
        self._runs: list[RunSummary] = []
        self._entries: list[ModelEntry] = []
        self._by = RUNS
        self._rows: list[tuple[tuple[str, str], Group]] = []
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, max(0, self.columnCount() - 1))

    def show(self, runs: Sequence[RunSummary], entries: Sequence[ModelEntry], by: tuple[str, ...]) -> None:
        """Show these runs and models; by: conditions a row's runs share, RUNS for one row a run."""
        self.beginResetModel()
        self._runs, self._entries, self._by = list(runs), list(entries), by
        if by:
            conditions = {run.id: conditions_of(run) for run in self._runs}
            self._rows = [((name, _runs(group)), group) for name, group in condition_groups(conditions, by)]
        else:
            self._rows = [
                ((run.id.split("_")[0], f"{run.trajectory}  kp {run.kp:g}"), Group((), (run.id,))) for run in self._runs
            ]
        if self._rows:
            everything = Group((), tuple(run.id for run in self._runs))
            self._rows.insert(0, (("Mean", _runs(everything)), everything))
        self.endResetModel()

    def refresh(self) -> None:
        """More errors are known."""
        if self._rows and self._entries:
            self.dataChanged.emit(self.index(0, 2), self.index(len(self._rows) - 1, self.columnCount() - 1))

    def run_id(self, row: int) -> str:
        """Id of the run in a row, empty for several."""
        runs = self._rows[row][1].runs
        return runs[0] if not self._by and row > 0 else ""

    def contents(self) -> TablePanel:
        """The whole table as numbers in mrad."""
        first = ("Runs", "Number") if self._by else ("Run", "Trajectory")
        rows: list[tuple[str | float, ...]] = []
        for (name, second), group in self._rows:
            errors = [group.mean(self._book.of(entry)) for entry in self._entries]
            rows.append((name, second, *(math.nan if error is None else error * MRAD for error in errors)))
        return TablePanel((*first, *(f"{entry.title} [mrad]" for entry in self._entries)), tuple(rows))

    def rowCount(self, parent: Index = _ROOT) -> int:
        """The mean and the runs or groups."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Two that say which runs, and the models."""
        return 0 if parent.isValid() else 2 + len(self._entries)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if section < 2 else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if section < 2:
            titles = ("Condition", "Runs") if self._by else ("Run", "Trajectory")
            return titles[section] if role == Qt.ItemDataRole.DisplayRole else None
        if section - 2 >= len(self._entries):
            return None
        entry = self._entries[section - 2]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{entry.title} [mrad]"
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"Mean absolute error of {entry.title}; the lowest of a row is green"
        if role == Qt.ItemDataRole.DecorationRole and self._theme is not None:
            return swatch(self._theme.model(entry.model.friction))
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        row, column = index.row(), index.column()
        names, group = self._rows[row]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if column < 2 else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.FontRole and row == 0:
            font = QFont()
            font.setPixelSize(12)
            font.setBold(True)
            return font
        if role == Qt.ItemDataRole.ForegroundRole and column >= 2 and self._is_best(group, column - 2):
            return QColor(self._theme.good) if self._theme is not None else None
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return names[column] if column < 2 else self._cell(group, self._entries[column - 2])

    def _cell(self, group: Group, entry: ModelEntry) -> str:
        if self._book.missing(entry, list(group.runs)):
            return PENDING
        mean = group.mean(self._book.of(entry))
        return FIGURE_DASH if mean is None else milliradians(mean)

    def _is_best(self, group: Group, place: int) -> bool:
        errors = [group.mean(self._book.of(entry)) for entry in self._entries]
        known = [error for error in errors if error is not None]
        return len(known) > 1 and errors[place] == min(known)


def _runs(group: Group) -> str:
    return counted(len(group.runs), "run")
