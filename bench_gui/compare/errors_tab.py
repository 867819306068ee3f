"""Errors tab: a table by runs or conditions, and a heat map of one model over two conditions."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QLabel, QSplitter, QTableView, QWidget

from bench_gui.compare.comparison import Comparison
from bench_gui.compare.error_table import RUNS, ErrorTable
from bench_gui.compare.heat_map import HeatMap
from bench_gui.headless.comparison_tables import Judged, conditions_of, heat_panel
from bench_gui.state.models import ModelEntry
from bench_gui.widgets.fields import Section, choice, hbox, label, vbox
from bench_gui.widgets.tables import plain_table
from core.document.plot import HeatPanel, Plot
from core.document.table import Table
from core.identification.runs.grouping import grid_of

ROWS: list[tuple[str, tuple[str, ...]]] = [
    ("runs", RUNS),
    ("trajectory", ("trajectory",)),
    ("load", ("mass",)),
    ("length", ("length",)),
    ("gain kp", ("kp",)),
    ("load and gain", ("mass", "kp")),
    ("supply", ("supply_voltage",)),
]
GRIDS: list[tuple[str, tuple[str, str]]] = [
    ("load × gain", ("mass", "kp")),
    ("load × trajectory", ("mass", "trajectory")),
    ("trajectory × gain", ("trajectory", "kp")),
    ("length × gain", ("length", "kp")),
    ("load × length", ("mass", "length")),
]
ROOM = 24
"""Width of a scroll bar and the frame [px]."""


class ErrorsTab(QWidget):
    """Shows the errors that the comparison knows; requests nothing."""

    run_wanted = Signal(str)
    """Emitted with the id of a run to show."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self._comparison = comparison
        self.table = ErrorTable(comparison.book)
        self.table_view: QTableView = plain_table(
            "Errors", "Mean absolute error of each model; press Enter or double-click to show a run's motion"
        )
        self.table_view.setModel(self.table)
        self.table_view.horizontalHeader().setStretchLastSection(False)
        self.table_view.activated.connect(self._open)
        self.heat = HeatMap()
        self.heat_title: QLabel = label("", "heading")
        self._splitter = splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(10)
        splitter.addWidget(_titled(label("MEAN ABSOLUTE ERRORS [mrad]", "heading"), self.table_view))
        splitter.addWidget(_titled(self.heat_title, self.heat))
        splitter.setStretchFactor(1, 1)
        row = hbox(self)
        row.addWidget(splitter)
        self.rows: QComboBox = choice("Rows of the table", "Condition that the runs of a row share")
        self.rows.addItems([text for text, _ in ROWS])
        self.model: QComboBox = choice("Model of the heat map", "Model whose errors the heat map shows")
        self.over: QComboBox = choice("Heat map over", "Conditions of the heat map's rows and columns")
        self.over.addItems([text for text, _ in GRIDS])
        self.settings = Section("Errors")
        self.settings.row("Table by", self.rows)
        self.settings.row("Heat map of", self.model)
        self.settings.row("over", self.over)
        self.rows.currentIndexChanged.connect(self.show_runs)
        self.model.currentIndexChanged.connect(self.show_errors)
        self.over.currentIndexChanged.connect(self.show_errors)

    def show_runs(self) -> None:
        """Build the table for other runs, models or rows."""
        comparison = self._comparison
        by = ROWS[self.rows.currentIndex()][1]
        self.table.show_runs(comparison.runs, comparison.entries, by)
        view = self.table_view
        view.setColumnWidth(0, 150 if by else 64)
        view.setColumnWidth(1, 64 if by else max(224, view.sizeHintForColumn(1)))
        header = view.horizontalHeader()
        for column in range(2, self.table.columnCount()):
            view.setColumnWidth(column, max(84, header.sectionSizeHint(column) + 8))
        # The table gets the width it needs, the heat map the rest.
        needed = min(header.length() + ROOM, self.width() * 6 // 10)
        self._splitter.setSizes([needed, self.width() - needed])
        self._offer()

    def show_errors(self) -> None:
        """Show errors that have become known, or another heat map."""
        self.table.refresh()
        panel = self._heat_panel()
        if panel is not None:
            self.heat.show_panel(panel)
            entry = self._entry()
            self.heat_title.setText(f"HEAT MAP OF {entry.title.upper()}" if entry is not None else "")

    def heat_contents(self) -> Plot:
        """Heat map for an exported file."""
        panel = self._heat_panel()
        return Plot(self._comparison.title(), (panel,) if panel is not None else ())

    def table_contents(self) -> Plot:
        """Table for an exported file."""
        panel: Table = self.table.contents()
        return Plot(self._comparison.title(), (panel,) if panel.rows else ())

    def _entry(self) -> ModelEntry | None:
        wanted = self.model.currentData()
        return next((entry for entry in self._comparison.entries if entry.key == wanted), None)

    def _heat_panel(self) -> HeatPanel | None:
        entry, runs = self._entry(), self._comparison.runs
        if entry is None or not runs:
            return None
        row, column = GRIDS[self.over.currentIndex()][1]
        grid = grid_of({run.id: conditions_of(run) for run in runs}, row, column)
        return heat_panel(grid, Judged(entry.title, "", self._comparison.book.of(entry)))

    def _offer(self) -> None:
        """Offer the chosen models for the heat map; keep the current one, otherwise select the last, richest one."""
        before, entries = self.model.currentData(), self._comparison.entries
        with QSignalBlocker(self.model):
            self.model.clear()
            for entry in entries:
                self.model.addItem(entry.title, entry.key)
            place = self.model.findData(before)
            self.model.setCurrentIndex(place if place >= 0 else self.model.count() - 1)
        self.heat.setVisible(bool(entries))
        self.heat_title.setVisible(bool(entries))
        self.show_errors()

    def _open(self, index: QModelIndex) -> None:
        run = self.table.run_id(index.row())
        if run:
            self.run_wanted.emit(run)


def _titled(title: QLabel, body: QWidget) -> QWidget:
    whole = QWidget()
    column = vbox(whole, spacing=4)
    column.addWidget(title)
    column.addWidget(body, 1)
    return whole
