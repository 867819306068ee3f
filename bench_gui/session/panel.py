"""The session at the foot of the window: its runs, and the buttons that bring in more."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QItemSelectionModel, QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QStackedLayout,
    QTableView,
    QVBoxLayout,
)

from bench_gui.controller import Controller
from bench_gui.icons import icon
from bench_gui.session.run_table import RunTable
from bench_gui.theme import Theme
from bench_gui.widgets.fields import EmptyState, button, describe, label
from bench_gui.widgets.tables import ROW_HEIGHT

IMPORTABLE = "Recordings (*.json *.json.gz *.csv *.csv.gz *.h5);;All files (*)"


class SessionPanel(QFrame):
    """Selecting runs chooses what is compared and identified; none stands for all."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setObjectName("sessionBar")
        self._controller = controller
        self._library = controller.library
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 6, 12, 8)
        column.setSpacing(5)
        self.title = label("No session", "title")
        self.count = label("", "muted")
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self.title)
        head.addWidget(self.count)
        head.addStretch(1)
        self._buttons: list[tuple[QPushButton, str]] = []
        for text, tip, symbol, clicked in (
            ("Open…", "Open a session folder", "open", self.ask_open),
            ("New…", "Create a session in a new folder", "new", self.ask_new),
            ("Import…", "Import recordings of other tools into this session", "import", self.ask_import),
            ("Example", "Open eight recordings of a real XL330", "example", self._library.open_example),
        ):
            made = button(text, tip, clicked, "flat")
            self._buttons.append((made, symbol))
            head.addWidget(made)
        column.addLayout(head)
        self.model = RunTable()
        self.table = QTableView()
        self.table.setModel(self.model)
        describe(
            self.table,
            "Runs of the session",
            "Select runs to compare or identify from; with none selected all are used",
        )
        self._shape_table()
        self._stack = QStackedLayout()
        self._stack.addWidget(self.table)
        self.empty = EmptyState("No runs yet", "Record, import, or open the example.")
        self._stack.addWidget(self.empty)
        column.addLayout(self._stack, 1)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._select())
        self.model.rowsInserted.connect(self._follow)
        self._library.runs_changed.connect(self._show)
        self._library.opened.connect(self.table.clearSelection)
        self._show()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.model.set_theme(theme)
        for made, symbol in self._buttons:
            made.setIcon(icon(symbol, theme.muted, 16))

    def select(self, ids: list[str]) -> None:
        """Select runs by id."""
        selection = self.table.selectionModel()
        selection.clearSelection()
        for row in range(self.model.rowCount()):
            if self.model.run_id(row) in ids:
                flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
                selection.select(self.model.index(row, 0), flags)

    def ask_open(self) -> None:
        """Ask for a session folder and open it."""
        folder = QFileDialog.getExistingDirectory(self.window(), "Open a session folder")
        if folder:
            self._library.open(Path(folder))

    def ask_new(self) -> None:
        """Ask for a new folder and create a session in it."""
        folder, _ = QFileDialog.getSaveFileName(self.window(), "New session: name its folder")
        if folder:
            self._library.create(Path(folder))

    def ask_import(self) -> None:
        """Ask for recordings and import them."""
        files, _ = QFileDialog.getOpenFileNames(self.window(), "Import recordings", "", IMPORTABLE)
        if files:
            self._library.import_files([Path(file) for file in files])

    def _shape_table(self) -> None:
        table = self.table
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setShowGrid(False)
        table.setAlternatingRowColors(True)
        table.setTabKeyNavigation(False)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        table.setCornerButtonEnabled(False)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        for place, width in enumerate((64, 150, 110, 70, 90, 90, 100, 90, 110)):
            table.setColumnWidth(place, width)
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def _select(self) -> None:
        rows = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        self._library.select([self.model.run_id(row) for row in rows])
        self._count()

    def _show(self) -> None:
        library = self._library
        self.title.setText(library.title or "No session")
        self.model.set_runs(library.runs)
        if library.loading:
            self.empty.title.setText("Opening…")
            self.empty.text.setText("")
        else:
            self.empty.title.setText("No runs yet")
            self.empty.text.setText("Record, import, or open the example.")
        self._stack.setCurrentIndex(0 if library.runs else 1)
        self._count()

    def _follow(self, parent: QModelIndex, first: int, last: int) -> None:
        """Keep a new run in sight; a session just opened begins at its first."""
        if first > 0:
            self.table.scrollToBottom()

    def _count(self) -> None:
        library = self._library
        total, chosen = len(library.runs), len(library.selected)
        text = f"{total} run{'s' if total != 1 else ''}" if library.title else ""
        self.count.setText(f"{text}, {chosen} selected" if chosen else text)
