"""Sorting and filtering of the table's runs; hidden runs stay selected.

Rows are arranged as a whole and signalled as one change. Qt's own sort-filter model signals each contiguous range, so
that a filter that matches every third of ten thousand runs would block the window for seconds.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt

from bench_gui.session.runs.filter import RunFilter
from bench_gui.session.runs.table import COLUMNS, RUN, SKETCH_ROLE, RunTable
from bench_gui.state.library import Library
from bench_gui.widgets.text_table import ROOT, Index


class RunOrder(QAbstractTableModel):
    """Runs that match the filter, sorted by a column."""

    def __init__(self, library: Library, table: RunTable) -> None:
        super().__init__()
        self._library = library
        self._table = table
        self._filter = RunFilter()
        self._column, self._direction = RUN, Qt.SortOrder.AscendingOrder
        self._shown: list[int] = []
        """Rows of the table in display order."""
        self._places: dict[int, int] = {}
        """Row of the table → displayed row."""
        table.modelReset.connect(self._begin_again)
        table.rowsInserted.connect(self._take_in)
        table.dataChanged.connect(self._changed)
        self._keep(self._arranged())

    def set_filter(self, wanted: RunFilter) -> None:
        """Show only runs that match a filter."""
        self._filter = wanted
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; equal runs are ordered by their numbers."""
        self._column, self._direction = column, order
        self._arrange()

    def run_id(self, row: int) -> str:
        """Return the id of the run in a row."""
        return self._table.run_id(self._shown[row])

    def row_of(self, identity: str) -> int:
        """Return the row of a run, −1 if it is not shown."""
        return self._places.get(self._table.row_of(identity), -1)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return self._table.headerData(section, orientation, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        # Flags depend only on the column.
        return self._table.flags(index)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return self._table.data(self._inside(index), role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Forward an edited value to the table."""
        return self._table.setData(self._inside(index), value, role)

    # Internals.

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
        """Add new runs, which have the highest numbers."""
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
