"""Cross-validation panel: which model to use and whether it transfers; stored in the session."""

from __future__ import annotations

import os

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from bench_gui.controller import Controller
from bench_gui.identify.chosen import chosen_count, chosen_runs
from bench_gui.identify.crossvalidation import tables
from bench_gui.identify.crossvalidation.compute import CrossValidateJob
from bench_gui.identify.crossvalidation.form import CrossValidationForm
from bench_gui.identify.crossvalidation.running import CrossValidating
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.widgets.fields import allow, button, choice, describe, label, preset_row, restyle, vbox
from bench_gui.widgets.page import Placeholder, SideBySide
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tables import TablesInTurn
from bench_gui.work.progress_row import ProgressRow
from core.base.errors import ServoBenchError
from core.base.units import about
from core.base.words import counted
from sessions.results.crossvalidating import CrossValidated, Question

EMPTY = (
    "Which model is best on conditions it was not fitted to? Each load, gain … is held out in turn; all models are "
    "fitted to the other runs and judged on it. Finished searches are stored, so you can stop and continue."
)
MODELS, FOLDS, TERMS, TRANSFER, REPETITIONS = range(5)
_PARTS = (
    ("Models", "Errors on held-out runs, by model and command path", ()),
    ("Conditions", "Errors on each held-out condition", ()),
    ("Terms", "Benefit of each term of the chosen model", ()),
    ("Transfer", "Fitted to one value, judged on the others", ()),
    ("Repetitions", "Repeatability of the servo: the lowest error that a model can reach", ()),
)


class CrossValidationPanel(QWidget):
    """Starts cross-validations and shows their results."""

    def __init__(self, controller: Controller, form: SettingsForm, crossvalidating: CrossValidating) -> None:
        super().__init__()
        self._controller, self._settings, self._crossvalidating = controller, form, crossvalidating
        self._shown: CrossValidated | None = None
        column = vbox(self, spacing=6, margins=(0, 6, 0, 0))
        column.addWidget(self._head())
        self.progress = ProgressRow("cross-validation", "Share of the work that is done")
        column.addLayout(self.progress)
        self.text: QLabel = label(EMPTY, "muted")
        self.text.setWordWrap(True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignTop)
        describe(self.text, "Choice", "Which model to use, and why")
        column.addWidget(self.text)
        self.parts = TablesInTurn("Cross-validation", _PARTS)
        self.parts.view.horizontalHeader().setStretchLastSection(False)
        self.parts.turned.connect(lambda _: self._show_condition())
        self.condition: QComboBox = choice("Condition", "Condition whose transfer is shown")
        self.condition.currentIndexChanged.connect(lambda _: self._show_transfer())
        self.parts.head.addWidget(self.condition)
        self.parts.head.addStretch(1)
        self.condition.hide()
        column.addWidget(Placeholder(self.parts), 1)
        crossvalidating.progressed.connect(lambda _: self._show_progress())
        library = controller.library
        library.opened.connect(lambda: crossvalidating.look_for_earlier(library.results_place))
        library.runs_changed.connect(self._offer)
        library.locked_changed.connect(self.refresh)
        library.fit_changed.connect(self._offer)
        controller.settings.keep("cross-validation", self.form.state, self.form.restore, self.form.changed)
        self.form.changed.connect(self.refresh)
        controller.identifying.changed.connect(self.refresh)
        if library.path is not None:
            crossvalidating.look_for_earlier(library.results_place)
        self._offer()

    def _head(self) -> SideBySide:
        left, buttons = vbox(), vbox(spacing=6)
        self.form = CrossValidationForm()
        self.form.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        left.addWidget(self.form)
        buttons.addLayout(preset_row(self.form.quick_button, self.form.full_button))
        self.start_button = StartButton("Cross-validate", "", self.start, self.form, self._settings, kind="")
        self.stop_button: QPushButton = button(
            "Stop",
            self._crossvalidating.activity.cancel_tip,
            self._crossvalidating.stop,
        )
        buttons.addWidget(self.start_button)
        buttons.addWidget(self.stop_button)
        buttons.addStretch(1)
        return SideBySide(left, buttons)

    # User actions.

    def start(self) -> None:
        """Cross-validate the chosen runs, or continue."""
        controller, library = self._controller, self._controller.library
        session, results, fitted = library.path, library.results_place, controller.fitting.result
        if held_by(self.form, self._settings) or session is None or results is None:
            return
        try:
            question = self._question()
        except ServoBenchError as error:
            controller.message.emit("error", str(error))
            return
        self._crossvalidating.start(
            CrossValidateJob(
                session=session,
                runs=chosen_runs(controller, self._settings.settings()),
                question=question,
                results=results,
                beside=None if fitted is None else fitted.folder,
            )
        )

    # Events.

    def _offer(self) -> None:
        servo = self._controller.library.main_servo()
        self.form.offer([run for run in self._controller.library.for_fit() if run.servo == servo])
        self.refresh()

    def refresh(self) -> None:
        """Show the results and enable what is possible."""
        running = self._crossvalidating
        why = self._obstacle()
        self.form.setEnabled(not running.active)
        searches = counted(self.form.searches, "search", "searches")
        allow(self.start_button, why, f"{searches}, one for each model and held-out value")
        self.stop_button.setEnabled(running.active and not running.stopping)
        self.stop_button.setText("Stopping…" if running.stopping else "Stop")
        self.start_button.setText("Continue" if self._goes_on else "Cross-validate")
        self._show_progress()
        if running.active or running.kept is not self._shown or running.kept is None:
            self._shown = None if running.active else running.kept
            self._show(self._shown)
        if running.total and (running.active or self._shown is None):
            self._show_so_far()

    @property
    def _goes_on(self) -> bool:
        """True if a start continues the one that was stopped."""
        running = self._crossvalidating
        if not running.paused or running.job is None:
            return False
        try:
            return self._question() == running.job.question
        except ServoBenchError:
            return False

    def _question(self) -> Question:
        return self.form.question(self._settings.settings(), self._controller.library.main_servo())

    def _obstacle(self) -> str:
        """Reason why it cannot be started; empty if it can."""
        if self._crossvalidating.active:
            return "it is already running"
        if waits := self._controller.identifying.beside(self._crossvalidating):
            return waits
        if obstacle := self._controller.library.results_obstacle:
            return obstacle
        if not chosen_count(self._controller, self._settings.settings()):
            return "there are no recordings; record or import some"
        if not self.form.models.checked:
            return "no model is checked; check at least one"
        if not self.form.by.checked:
            return "no condition can be held out: record another load, gain or trajectory, or check one"
        return ""

    def _show_progress(self) -> None:
        idle = ""
        if self.start_button.isEnabled() and self.form.searches:
            count = chosen_count(self._controller, self._settings.settings())
            idle = f"{counted(self.form.searches, 'search', 'searches')} for {counted(count, 'run')}"
            seconds = self.form.seconds(self._seconds_of_a_search(count))
            if self._goes_on:
                idle = f"Paused at {len(self._crossvalidating.errors)} of {self._crossvalidating.total} searches"
            elif seconds:
                cores = self._settings.settings().threads or os.cpu_count()
                idle += f", {about(seconds)} on {counted(cores or 1, 'core')}"
        self.progress.show(self._crossvalidating, idle, starting="Loading the program and the recordings…")

    def _seconds_of_a_search(self, count: int) -> dict[str, float]:
        """Duration of a search by model with this many runs, from the shown identification [s]."""
        fitted = self._controller.fitting.result
        if fitted is None or not fitted.train:
            return {}
        return {row.model.friction: row.wall_seconds * count / len(fitted.train) for row in fitted.models}

    def _show_so_far(self) -> None:
        """Show the matrix while it fills."""
        running = self._crossvalidating
        self.parts.setVisible(True)
        self.parts.segments.choose(FOLDS)
        self._fill(FOLDS, tables.so_far(running.planned, running.errors), "")

    def _show(self, kept: CrossValidated | None) -> None:
        self.parts.setVisible(kept is not None)
        restyle(self.text, "role", "muted" if kept is None else "")
        if kept is None:
            self.text.setText(EMPTY)
            return
        found = kept.found
        skipped = "".join(f" {name.capitalize()} was not held out: {reason}." for name, reason in found.skipped)
        stopped = " Stopped before the end; the conditions below were complete." if found.stopped else ""
        self.text.setText(f"{found.choice.text}{stopped}{skipped}")
        count = len(found.runs)
        place = f", kept in {kept.folder.name}" if kept.folder is not None else ""
        basis = f"Based on {counted(count, 'run')}{place}."
        self._fill(MODELS, tables.by_model(kept), basis)
        self._fill(FOLDS, tables.by_fold(kept), "")
        self._fill(
            TERMS, tables.by_term(kept), kept.terms.text if kept.terms else "Check “Terms” and cross-validate again."
        )
        self._fill(REPETITIONS, tables.by_repetition(kept), kept.floors_text)
        with QSignalBlocker(self.condition):
            self.condition.clear()
            for table in kept.transfers:
                self.condition.addItem(table.condition)
        self._show_transfer()

    def _show_transfer(self) -> None:
        kept, place = self._shown, self.condition.currentIndex()
        self._show_condition()
        if kept is None or place < 0:
            self._fill(TRANSFER, ((), []), "Check “Transfer” and cross-validate again.")
            return
        table = kept.transfers[place]
        self._fill(TRANSFER, tables.by_value(table), table.text)

    def _show_condition(self) -> None:
        self.condition.setVisible(self.parts.segments.current == TRANSFER and self.condition.count() > 1)

    def _fill(self, place: int, table: tables.Table, words: str) -> None:
        columns, rows = table
        self.parts.fill(place, rows, columns if rows else (), words)
