"""Answer part: the verdict with the next step, and the ladder of models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from bench_gui import file_dialogs
from bench_gui.controller import Controller
from bench_gui.identify.answer.ladder import BAR_COLUMN, Ladder, LadderDelegate
from bench_gui.identify.answer.sentences import search_in_words, timed
from bench_gui.identify.answer.verdict import VerdictCard
from bench_gui.identify.fit.messages import FitProgress, FitResult, FittedModel
from bench_gui.state.models import IDENTIFIED
from bench_gui.widgets.fields import vbox
from bench_gui.widgets.tables import fit_columns, plain_table
from core.identification.verdict import Answer, Step

ROW_HEIGHT = 18
"""Height of a row of the ladder [px]."""
ALL_COLUMNS, REPEATED = 700, (3, 4)
"""Smallest width of this part with all columns of the ladder [px]; columns that repeat the dots and the card."""


class AnswerPart(QWidget):
    """One row per model, also during a search; the selected model can be used, exported and reported."""

    row_changed = Signal()
    """Emitted when another row is selected."""
    export_wanted = Signal()
    """Emitted when the bench's model shall be exported."""

    def __init__(self, controller: Controller, show_warnings: Callable[[], object]) -> None:
        super().__init__()
        self._controller = controller
        self._candidates: dict[str, FittedModel] = {}
        """Best model so far of each friction model during a search."""
        self._small = False
        self._rows: tuple[FittedModel, ...] = ()
        self.card = VerdictCard(self.use, self.export, self.ask_report, show_warnings)
        self.ladder = Ladder()
        self._delegate = LadderDelegate()
        self.view = plain_table("Models", "Result of each model; select one to show it in the tabs below")
        self.view.setModel(self.ladder)
        self.view.setItemDelegateForColumn(BAR_COLUMN, self._delegate)
        header = self.view.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(BAR_COLUMN, QHeaderView.ResizeMode.Stretch)
        fit_columns(self.view, set(range(self.ladder.columnCount())) - {BAR_COLUMN})
        self.view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self.view.hide()
        self.view.selectionModel().currentRowChanged.connect(lambda *_: self.row_changed.emit())
        self._use_action = QAction("Use this model", self.view)
        self._use_action.triggered.connect(lambda _=False: self.use())
        self.view.addAction(self._use_action)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        column = vbox(self, spacing=8)
        column.addWidget(self.card)
        column.addWidget(self.view, 1)
        column.addStretch(0)
        controller.model_list.changed.connect(self.mark_current)
        controller.model_list.current_changed.connect(self.mark_current)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns of a narrow ladder whose content is shown elsewhere; its rows have the height of the style."""
        super().resizeEvent(event)
        for column in REPEATED:
            self.view.setColumnHidden(column, self.width() < ALL_COLUMNS)
        self._fit_height()

    @property
    def selected(self) -> FittedModel | None:
        """Model of the selected row, or None."""
        index = self.view.currentIndex()
        return self.ladder.row(index.row()) if index.isValid() else None

    @property
    def _time(self) -> str:
        return self._controller.fitting.activity.time

    def forget(self) -> None:
        """Clear everything: another session or another search."""
        self._candidates = {}
        self._show_rows((), "")

    def begin(self, text: str) -> None:
        """Show that a search begins; text: what it does before it reports a cost."""
        self.card.show_search("Identifying…", text, 0.0)

    def note(self, text: str, done: float | None) -> None:
        """Show a stage of a search that has no cost; done: share of the whole, None while unknown."""
        self.card.show_search(self.card.title.text(), timed(text, self._time), done or 0.0)

    def take(self, progress: FitProgress) -> None:
        """Show the progress of a search and the best models so far in place of the result."""
        if not progress.points:
            return
        evaluations, error = progress.points[-1]
        known = self._candidates.get(progress.model)
        if progress.candidate and not progress.trial and (known is None or error <= known.train_mae):
            found = FittedModel(progress.candidate, error, None, None, evaluations, math.nan, None)
            self._candidates[progress.model] = found
            self._show_rows(tuple(self._candidates.values()), "")
        self.card.show_search(*search_in_words(progress, list(self._candidates.values()), self._time), progress.done)

    def show_result(self, result: FitResult) -> None:
        """Show the models of a result and select the recommended one, unless the user picked another one of them."""
        row, place = self.selected, self.view.currentIndex().row()
        picked = row if result.models is self._rows and place != self.ladder.recommended_row else None
        self._candidates = {}
        self._show_rows(result.models, result.recommended, result.answers)
        self.card.choice.setToolTip(result.choice)
        self.view.selectRow(self.ladder.place_of(result.recommended if picked is None else picked.model.friction))
        self.mark_current()

    def _show_rows(
        self, rows: tuple[FittedModel, ...], recommended: str, answers: Mapping[str, Answer] | None = None
    ) -> None:
        self._rows = rows
        self.ladder.set_rows(rows, recommended, answers)
        self.view.setVisible(bool(rows) and not self._small)
        self._fit_height()

    def _fit_height(self) -> None:
        head, row = (
            self.view.horizontalHeader().sizeHint().height() + 2 * self.view.frameWidth(),
            self.view.rowHeight(0),
        )
        self.view.setMinimumHeight(head + row * min(len(self._rows), 3))
        self.view.setMaximumHeight(head + row * max(len(self._rows), 1))

    def show_answer(self, answer: Answer, step: Step, why_not: str) -> None:
        """Show the answer about the selected model, see `VerdictCard.show_answer`."""
        self.card.show_answer(answer, step, why_not)
        self._offer()

    def shrink(self, small: bool) -> None:
        """Show the verdict only, or the whole answer."""
        self._small = small
        self.view.setHidden(small or not self._rows)

    def mark_current(self) -> None:
        """Mark the model that the bench uses."""
        current = self._controller.model_list.current
        rows = [self.ladder.row(place) for place in range(self.ladder.rowCount())]
        mine = [row.model.friction for row in rows if current is not None and row.model is current.model]
        self.ladder.set_current(mine[0] if mine else "")
        self._offer()

    def use(self) -> None:
        """Make the selected model the bench's model."""
        row = self.selected
        if row is not None and self._listed(row):
            self._controller.model_list.set_current(f"{IDENTIFIED}:{row.model.friction}")

    def export(self) -> None:
        """Make the selected model the bench's model and open its export."""
        self.use()
        self.export_wanted.emit()

    def ask_report(self) -> None:
        """Ask for the report's file and write it."""
        result = self._controller.fitting.result
        if result is None or result.folder is None:
            return
        file, _ = file_dialogs.ask_new(self, "Write a report", "report.html", "Web page (*.html)", result.folder)
        if file:
            self._controller.write_report(Path(file))

    def _listed(self, row: FittedModel) -> bool:
        entry = self._controller.model_list.entry(f"{IDENTIFIED}:{row.model.friction}")
        return entry is not None and entry.model is row.model

    def _offer(self) -> None:
        row, current = self.selected, self._controller.model_list.current
        used = row is not None and current is not None and current.model is row.model
        usable = row is not None and self._listed(row)
        result = self._controller.fitting.result
        self.card.offer(
            usable=usable,
            used=used,
            model="" if row is None else row.model.friction.upper(),
            reportable=result is not None and result.folder is not None,
        )
        self._use_action.setEnabled(usable and not used)
