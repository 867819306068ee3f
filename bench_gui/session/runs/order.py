"""Which runs the table shows and in which order; what is chosen stays chosen while it is out of sight.

The rows are put in order as a whole and told as one change: told stretch by stretch, as Qt's own sorting and filtering
model does, a filter that lets every third of ten thousand runs pass would hold up the window for seconds.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt

from bench_gui.session.runs.filter import RunFilter
from bench_gui.session.runs.table import COLUMNS, RUN, SKETCH_ROLE, RunTable
from bench_gui.state.library import Library
from bench_gui.widgets.text_table import ROOT, Index


class RunOrder(QAbstractTableModel):
    """The runs that pass the filter, sorted by a column."""

    def __init__(self, library: Library, table: RunTable) -> None:
        super().__init__()
        self._library = library
        self._table = table
        self._filter = RunFilter()
        self._column, self._direction = RUN, Qt.SortOrder.AscendingOrder
        self._shown: list[int] = []
        """Rows of the table, in the order they are shown."""
        self._places: dict[int, int] = {}
        """Row of the table to the row it is shown in."""
        table.modelReset.connect(self._begin_again)
        table.rowsInserted.connect(self._take_in)
        table.dataChanged.connect(self._changed)
        self._keep(self._arranged())

    def set_filter(self, wanted: RunFilter) -> None:
        """Show only runs that meet a filter."""
        self._filter = wanted
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; equal ones stay in the order of their numbers."""
        self._column, self._direction = column, order
        self._arrange()

    def run_id(self, row: int) -> str:
        """Id of the run in a row."""
        return self._table.run_id(self._shown[row])

    def row_of(self, identity: str) -> int:
        """Row of a run; −1 if it is not shown."""
        return self._places.get(self._table.row_of(identity), -1)

    def rowCount(self, parent: Index = ROOT) -> int:
        """Number of runs shown."""
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        return self._table.headerData(section, orientation, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """As in the table."""
        # They depend on the column alone.
        return self._table.flags(index)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        return self._table.data(self._inside(index), role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Hand on what a person entered."""
        return self._table.setData(self._inside(index), value, role)

    # Behind the scenes.

    def _inside(self, index: Index) -> QModelIndex:
        return self._table.index(self._shown[index.row()], index.column()) if index.isValid() else ROOT

    def _accepts(self, row: int) -> bool:
        run = self._table.run(row)
        return self._filter.accepts(run, self._library.annotation(run.id))

    def _arranged(self) -> list[int]:
        rows = range(self._table.rowCount())
        shown = [row for row in rows if self._accepts(row)] if self._filter.tests else list(rows)
        keys = self._table.sort_keys(self._column)
        shown.sort(key=keys.__getitem__, reverse=self._direction is Qt.SortOrder.DescendingOrder)
        return shown

    def _arrange(self) -> None:
        shown = self._arranged()
        if shown != self._shown:
            self.beginResetModel()
            self._keep(shown)
            self.endResetModel()

    def _keep(self, shown: list[int]) -> None:
        self._shown = shown
        self._places = {row: place for place, row in enumerate(shown)}

    def _begin_again(self) -> None:
        self.beginResetModel()
        self._keep(self._arranged())
        self.endResetModel()

    def _take_in(self, _: Index, first: int, last: int) -> None:
        """Runs came, with the highest numbers."""
        known, shown = len(self._shown), self._arranged()
        if shown[:known] != self._shown:
            self._arrange()
        elif len(shown) > known:
            self.beginInsertRows(ROOT, known, len(shown) - 1)
            self._keep(shown)
            self.endInsertRows()

    def _changed(self, first: Index, last: Index, roles: list[int]) -> None:
        if list(roles) != [SKETCH_ROLE]:
            self._arrange()
        places = [p for row in range(first.row(), last.row() + 1) if (p := self._places.get(row)) is not None]
        if places:
            self.dataChanged.emit(
                self.index(min(places), first.column()), self.index(max(places), last.column()), roles
            )
