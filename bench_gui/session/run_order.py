"""Which runs the table shows and in which order; what is chosen stays chosen while it is out of sight."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSortFilterProxyModel

from bench_gui.session.filter import RunFilter
from bench_gui.session.library import Library
from bench_gui.session.run_table import RunTable


class RunOrder(QSortFilterProxyModel):
    """The runs that pass the filter, sorted by a column."""

    def __init__(self, library: Library, table: RunTable) -> None:
        super().__init__()
        self._library = library
        self._table = table
        self._filter = RunFilter()
        self.setSourceModel(table)

    def set_filter(self, wanted: RunFilter) -> None:
        """Show only runs that meet a filter."""
        if not hasattr(self, "endFilterChange"):
            # Before Qt 6.10.
            self._filter = wanted
            self.invalidateRowsFilter()
            return
        self.beginFilterChange()
        self._filter = wanted
        self.endFilterChange(QSortFilterProxyModel.Direction.Rows)

    def filterAcceptsRow(self, source_row: int, source_parent: QModelIndex | QPersistentModelIndex) -> bool:
        """Whether a run is shown."""
        run = self._table.run(source_row)
        return self._filter.accepts(run, self._library.annotation(run.id))

    def lessThan(
        self, source_left: QModelIndex | QPersistentModelIndex, source_right: QModelIndex | QPersistentModelIndex
    ) -> bool:
        """Whether one run comes before another."""
        keys = self._table.sort_keys(source_left.column())
        return keys[source_left.row()] < keys[source_right.row()]

    def run_id(self, row: int) -> str:
        """Id of the run in a row."""
        return self._table.run_id(self.mapToSource(self.index(row, 0)).row())

    def row_of(self, identity: str) -> int:
        """Row of a run; −1 if it is not shown."""
        row = self._table.row_of(identity)
        return -1 if row < 0 else self.mapFromSource(self._table.index(row, 0)).row()
