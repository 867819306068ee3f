"""View of the run table: its selection is that of the library, and thumbnails load while scrolling."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from bench_gui.session.runs.cells import MotionCell, NoteCell, TagCell
from bench_gui.session.runs.filter import RunFilter
from bench_gui.session.runs.order import RunOrder
from bench_gui.session.runs.sketches import WIDTH, Sketches
from bench_gui.session.runs.table import COLUMNS, MOTION, NOTE, RUN, TAGS, RunTable
from bench_gui.state.library import Library
from bench_gui.widgets.fields import describe
from bench_gui.widgets.tables import Header

ROW = 24
"""Height of a row, enough for a thumbnail [px]."""
LOOK_AFTER = 30
"""Time without scrolling after which thumbnails are requested [ms]."""
_WIDTHS = (62, WIDTH + 12, 160, 76, 46, 84, 94, 106, 76, 124, 70, 100)


class RunView(QTableView):
    """Filtered and sorted runs; requests no thumbnails while it is hidden."""

    def __init__(self, library: Library, edit: Callable[[str, int, str], None]) -> None:
        """Create the view; edit: called with run id, column and entered text."""
        super().__init__()
        self._library = library
        self._quiet = False
        self.sketches = Sketches(library)
        self.runs = RunTable(library, self.sketches, edit)
        self.order = RunOrder(library, self.runs)
        # Connect before the view's own selection model: hidden rows must stay selected.
        self.order.modelAboutToBeReset.connect(lambda: self._hush(True))
        self.setModel(self.order)
        self.order.modelReset.connect(self._arranged)
        self.order.rowsInserted.connect(self._rows_came)
        self._motion = MotionCell(self)
        self._cells = (TagCell(self, library.known_tags), NoteCell(self))
        describe(
            self,
            "Runs of the session",
            "Select runs to compare or identify; without a selection, all complete ones are used",
        )
        self._shape()
        self._look = QTimer(self)
        self._look.setSingleShot(True)
        self._look.setInterval(LOOK_AFTER)
        self._look.timeout.connect(self._ask_for_stamps)
        self.verticalScrollBar().valueChanged.connect(lambda _: self._look.start())
        self.selectionModel().selectionChanged.connect(lambda *_: self._selected())
        library.selection_changed.connect(self.show_selection)

    def show_runs(self) -> None:
        """Show the library's runs."""
        self.runs.set_runs(self._library.runs)
        self.show_selection()
        self._look.start()

    def set_filter(self, wanted: RunFilter) -> None:
        """Show only runs that match a filter."""
        self.order.set_filter(wanted)
        self._look.start()

    def show_selection(self) -> None:
        """Select the visible ones of the selected runs in the view."""
        rows = sorted(row for identity in self._library.selected if (row := self.order.row_of(identity)) >= 0)
        self._hush(True)
        if rows != self._selected_rows():
            selection = QItemSelection()
            for first, last in _stretches(rows):
                selection.select(self.order.index(first, 0), self.order.index(last, len(COLUMNS) - 1))
            self.selectionModel().select(selection, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self._hush(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Request thumbnails of newly visible runs."""
        super().resizeEvent(event)
        self._look.start()

    def showEvent(self, event: QShowEvent) -> None:
        """Request thumbnails of the visible runs."""
        super().showEvent(event)
        self._look.start()

    def _shape(self) -> None:
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.setCornerButtonEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        header = Header()
        self.setHorizontalHeader(header)
        # A header queries the selection of every cell before it paints; this one shows no selection.
        header.setSelectionModel(QItemSelectionModel(self.order, header))
        for place, width in enumerate(_WIDTHS):
            self.setColumnWidth(place, width)
        header.setSectionResizeMode(MOTION, QHeaderView.ResizeMode.Fixed)
        self.setItemDelegateForColumn(MOTION, self._motion)
        for column, cell in zip((TAGS, NOTE), self._cells, strict=True):
            self.setItemDelegateForColumn(column, cell)
        self.setSortingEnabled(True)
        self.sortByColumn(RUN, Qt.SortOrder.AscendingOrder)

    def _hush(self, quiet: bool) -> None:
        self._quiet = quiet

    def _selected(self) -> None:
        if not self._quiet:
            self._library.select([self.order.run_id(row) for row in self._selected_rows()])

    def _selected_rows(self) -> list[int]:
        # `selectedRows` would query every cell.
        parts = self.selectionModel().selection().toList()
        return sorted({row for part in parts for row in range(part.top(), part.bottom() + 1)})

    def _arranged(self) -> None:
        """Update selection and thumbnails after a change of rows."""
        self.show_selection()
        self._look.start()

    def _rows_came(self, parent: QModelIndex, first: int, last: int) -> None:
        """Select rows whose runs are selected in the library, and scroll to a run that was just recorded."""
        self.show_selection()
        self._look.start()
        header = self.horizontalHeader()
        in_order = header.sortIndicatorSection() == RUN
        if first > 0 and in_order and header.sortIndicatorOrder() is Qt.SortOrder.AscendingOrder:
            self.scrollToBottom()

    def _ask_for_stamps(self) -> None:
        if not self.isVisible() or not self.order.rowCount():
            return
        first = max(self.rowAt(0), 0)
        # There is no row below the last run, and none at all in a view without height.
        beyond = min(self.order.rowCount(), first + self.viewport().height() // ROW + 2)
        self.sketches.ask(self.order.run_id(row) for row in range(first, beyond))


def _stretches(rows: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each consecutive range in a sorted list."""
    first = last = -1
    for row in rows:
        if row != last + 1 or first < 0:
            if first >= 0:
                yield first, last
            first = row
        last = row
    if first >= 0:
        yield first, last
