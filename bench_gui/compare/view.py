"""Comparing: any runs against any models."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QModelIndex, QSize, Qt
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLabel, QPushButton, QSplitter, QTableView

from bench_gui.compare.error_table import ErrorTable
from bench_gui.compare.models import CATALOGUE, FILE, IDENTIFIED, ModelEntry
from bench_gui.compare.plots import ComparePlots
from bench_gui.controller import Controller
from bench_gui.icons import line_icon
from bench_gui.theme import Theme
from bench_gui.widgets.fields import EmptyState, Section, button, describe, label
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.tables import plain_table
from core.friction import FRICTION_TITLES

_ORIGINS = ((IDENTIFIED, "Identified"), (FILE, "Opened files"), (CATALOGUE, "Catalogue"))


class CompareView(TaskPage):
    """Overlay, residual and errors of what is chosen."""

    def __init__(self, controller: Controller, record_four: QPushButton, example: QPushButton) -> None:
        """record_four, example: what the empty state offers."""
        super().__init__()
        self._controller = controller
        self._theme: Theme | None = None
        self._stale = True
        self.plots = ComparePlots()
        self.plots.set_unit(controller.angle_unit)
        self.errors = ErrorTable()
        self.error_view: QTableView = plain_table(
            "Errors", "Mean absolute error of each model on each run; select a run to zoom to it"
        )
        self.error_view.setModel(self.errors)
        self.error_view.horizontalHeader().setStretchLastSection(False)
        self.error_view.selectionModel().currentRowChanged.connect(self._zoom)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(8)
        splitter.addWidget(self.plots)
        splitter.addWidget(self.error_view)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([360, 118])
        self.error_view.setMinimumHeight(72)
        self.centre.addWidget(splitter, 1)
        self._sections: dict[str, Section] = {}
        self.boxes: dict[str, QCheckBox] = {}
        for origin, title in _ORIGINS:
            section = Section(title)
            self._sections[origin] = section
            self.settings.addWidget(section)
        self._hint: QLabel = label("Identify models to compare them here.", "muted")
        self._hint.setWordWrap(True)
        self.settings.insertWidget(0, self._hint)
        self.settings.addStretch(1)
        self.fit_button: QPushButton = button("Show all", "Fit the plots to all chosen runs", lambda: self._fit())
        self.file_button: QPushButton = button("Open model file…", "Compare a model from a file too", self.ask_model)
        self.actions_column.addWidget(self.file_button)
        self.actions_column.addWidget(self.fit_button)
        self.set_empty_state(
            EmptyState(
                "No recordings to compare",
                "Record the four trajectories (24 s), or look at the example recorded with a real XL330.",
                record_four,
                example,
            )
        )
        controller.shelf.changed.connect(self._offer)
        controller.comparison.choice_changed.connect(self._mark)
        controller.comparison.changed.connect(self._show)
        controller.library.runs_changed.connect(self._runs_changed)
        controller.library.selection_changed.connect(self._runs_changed)
        controller.angle_unit_changed.connect(lambda: self.plots.set_unit(controller.angle_unit))
        self._offer()
        self._runs_changed()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.plots.set_theme(theme)
        self.errors.set_theme(theme)
        self._colour_boxes()

    def entered(self) -> None:
        """Simulate what changed while the page was out of sight."""
        if self._stale:
            self._stale = False
            self._controller.comparison.enter()

    def ask_model(self) -> None:
        """Ask for a model file and compare it."""
        file, _ = QFileDialog.getOpenFileName(self.window(), "Open a model file", "", "Models (*.json);;All files (*)")
        if file:
            self._controller.open_model(Path(file))

    def _fit(self) -> None:
        self.error_view.clearSelection()
        self.plots.overlay.fit()
        self.plots.residual.fit()

    def _runs_changed(self) -> None:
        self.show_empty(not self._controller.library.runs)
        self._stale = True
        if self.isVisible():
            self.entered()

    def _offer(self) -> None:
        for section in self._sections.values():
            section.clear()
        self.boxes = {}
        entries = self._controller.shelf.entries
        for entry in entries:
            box = QCheckBox(self._title(entry))
            box.setChecked(entry.key in self._controller.comparison.chosen)
            box.setIconSize(QSize(22, 10))
            describe(box, f"Compare {entry.title}", f"Simulate the chosen runs by {entry.model.title}")
            box.toggled.connect(lambda _: self._choose())
            self._sections[entry.origin].wide(box)
            self.boxes[entry.key] = box
        for origin, section in self._sections.items():
            section.setVisible(any(entry.origin == origin for entry in entries))
        self._hint.setVisible(not any(entry.origin == IDENTIFIED for entry in entries))
        self._colour_boxes()

    def _title(self, entry: ModelEntry) -> str:
        name = f"{entry.model.friction.upper()}  {FRICTION_TITLES[entry.model.friction]}"
        if entry.origin == FILE:
            return f"{entry.model.friction.upper()}  {Path(entry.key).name}"
        best = entry.origin == IDENTIFIED and entry.key == self._controller.shelf.recommended
        return f"{name}  ★" if best else name

    def _colour_boxes(self) -> None:
        if self._theme is None:
            return
        for key, box in self.boxes.items():
            entry = self._controller.shelf.entry(key)
            if entry is not None:
                box.setIcon(line_icon(self._theme.model(entry.model.friction), entry.dash))

    def _choose(self) -> None:
        self._controller.comparison.choose(tuple(key for key, box in self.boxes.items() if box.isChecked()))

    def _mark(self) -> None:
        for key, box in self.boxes.items():
            box.blockSignals(True)
            box.setChecked(key in self._controller.comparison.chosen)
            box.blockSignals(False)

    def _show(self) -> None:
        comparison = self._controller.comparison
        self.plots.show_picture(comparison.picture)
        self.errors.set_picture(comparison.picture)
        self.error_view.setColumnWidth(0, 64)
        self.error_view.setColumnWidth(1, 190)
        header = self.error_view.horizontalHeader()
        for column in range(2, self.errors.columnCount()):
            self.error_view.setColumnWidth(column, max(110, header.sectionSizeHint(column) + 8))

    def _zoom(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid():
            self.plots.show_run(self.errors.run_id(current.row()))
