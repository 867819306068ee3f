"""The result of an identification: the models, the evidence for the recommended one, and what can be done with them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from bench_gui.controller import Controller
from bench_gui.identify.fit.messages import FitResult, FittedModel
from bench_gui.identify.tables import ResultTable
from bench_gui.state.models import IDENTIFIED
from bench_gui.theme import Theme
from bench_gui.widgets.fields import button, describe, label
from bench_gui.widgets.tables import plain_table
from core.identification.result import step_in_words

_WIDTHS = (98, 118, 118, 104, 82, 112, 118)


class ResultPart(QWidget):
    """One row a model, also while the search goes on; the selected one can be used and reported on."""

    row_changed = Signal()
    """Another row is selected."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 0)
        column.setSpacing(4)
        heading = QHBoxLayout()
        self.choice: QLabel = label("")
        self.choice.setWordWrap(True)
        describe(self.choice, "Evidence for the choice", "Which model is recommended, and why")
        heading.addWidget(self.choice, 1)
        self.use_button: QPushButton = button(
            "Use this model", "Make the selected model the bench's: twin, placing and export begin with it", self.use
        )
        self.report_button: QPushButton = button(
            "Report…", "Write everything about this result into one HTML file that can be sent", self.ask_report
        )
        heading.addWidget(self.report_button)
        heading.addWidget(self.use_button)
        column.addLayout(heading)
        self.table = ResultTable()
        self.view = plain_table("Result", "What was found for each model; select one to see what it is made of")
        self.view.setModel(self.table)
        for place, width in enumerate(_WIDTHS):
            self.view.setColumnWidth(place, width)
        self.view.selectionModel().currentRowChanged.connect(lambda *_: self.row_changed.emit())
        self._use_action = QAction("Use this model", self.view)
        self._use_action.triggered.connect(lambda _=False: self.use())
        self.view.addAction(self._use_action)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        column.addWidget(self.view, 1)
        self.step_note: QLabel = label("", "muted")
        self.step_note.setWordWrap(True)
        describe(self.step_note, "Simulation step", "Step of the selected model, and what it costs")
        column.addWidget(self.step_note)
        controller.model_list.changed.connect(self.mark_current)
        controller.model_list.current_changed.connect(self.mark_current)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.table.set_theme(theme)

    @property
    def selected(self) -> FittedModel | None:
        """The model of the selected row."""
        index = self.view.currentIndex()
        return self.table.row(index.row()) if index.isValid() else None

    def show_result(self, result: FitResult) -> None:
        """Show the models, which of them is recommended, and why."""
        self.table.set_rows(result.models, result.recommended)
        self.choice.setText(result.choice)

    def show_row(self) -> None:
        """Show what belongs to the selected row."""
        row = self.selected
        # While a search is under way, its step can still change.
        step = step_in_words(row.model, row.train_mae) if row is not None and row.evidence is not None else ""
        self.step_note.setText(step)
        self.step_note.setVisible(bool(step))
        self._offer()

    def mark_current(self) -> None:
        """Mark the model that the bench uses."""
        current = self._controller.model_list.current
        rows = [self.table.row(place) for place in range(self.table.rowCount())]
        mine = [row.model.friction for row in rows if current is not None and row.model is current.model]
        self.table.set_current(mine[0] if mine else "")
        self._offer()

    def use(self) -> None:
        """Make the selected model the bench's."""
        row = self.selected
        if row is not None and self._listed(row):
            self._controller.model_list.set_current(f"{IDENTIFIED}:{row.model.friction}")

    def ask_report(self) -> None:
        """Ask where the report goes, and write it."""
        result = self._controller.fitting.result
        if result is None or result.folder is None:
            return
        file, _ = QFileDialog.getSaveFileName(
            self.window(), "Write a report", str(result.folder / "report.html"), "Web page (*.html)"
        )
        if file:
            self._controller.write_report(Path(file))

    def _listed(self, row: FittedModel) -> bool:
        entry = self._controller.model_list.entry(f"{IDENTIFIED}:{row.model.friction}")
        return entry is not None and entry.model is row.model

    def _offer(self) -> None:
        row, current = self.selected, self._controller.model_list.current
        used = row is not None and current is not None and current.model is row.model
        offered = row is not None and self._listed(row) and not used
        self.use_button.setEnabled(offered)
        self._use_action.setEnabled(offered)
        self.use_button.setText("In use" if used else "Use this model")
        result = self._controller.fitting.result
        self.report_button.setEnabled(result is not None and result.folder is not None)
