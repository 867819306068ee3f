"""Identification: one click, watched live, a table with its evidence at the end."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QTableView,
    QTabWidget,
)

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.identify.fit.messages import (
    FitOverlay,
    FitProgress,
    FitResult,
    FittedModel,
    Remedy,
)
from bench_gui.identify.fit.overlay_plots import OverlayPlots
from bench_gui.identify.fit.overlaying import Overlaying
from bench_gui.identify.fit.problem import ProblemCard
from bench_gui.identify.fit.remedies import way_out
from bench_gui.identify.fit.result_part import ResultPart
from bench_gui.identify.fit.search_tab import SearchTab
from bench_gui.identify.fit.settings import obstacle
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.fit.warning_list import WarningList
from bench_gui.identify.panels import Panels
from bench_gui.identify.tables import (
    BAR_COLUMN,
    INITIAL_COLUMN,
    INTERVAL_COLUMN,
    NOTE_COLUMN,
    BarDelegate,
    ParameterTable,
)
from bench_gui.theme import Theme
from bench_gui.widgets.fields import EmptyState, button, describe, label
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.symbols import SymbolDelegate
from bench_gui.widgets.tables import plain_table
from core.model import ServoModel
from core.units import milliradians
from core.words import counted

_BESIDE_COST = (72, 92, 0, 0, 80)
"""Widths of the parameters' columns beside the cost curves; 0 hides."""
_ALONE = (72, 92, 76, 84, 86, 146)


class IdentifyView(TaskPage):
    """Starts, shows, stops, resumes."""

    help_page = "identification"

    def __init__(self, controller: Controller, record_four: QPushButton, example: QPushButton) -> None:
        """record_four, example: what the empty state offers."""
        super().__init__()
        self._controller = controller
        self._candidates: dict[str, FittedModel] = {}
        self._suspects: tuple[str, ...] = ()
        """Runs that made an identification fail."""
        self._overlaying = Overlaying(controller.library, controller.background, controller.compute)
        self.form = SettingsForm(controller.undo, controller.model_list)
        # In a low window it scrolls rather than being squeezed.
        self.form.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.settings.addWidget(self.form)
        self.settings.addStretch(1)
        self._build_actions()
        self._build_picture()
        self.propose_button: QPushButton = button(
            "Propose recordings",
            "Which recordings would tell most, by the catalogue's model of the servo",
            lambda: self.panels.show("proposals"),
        )
        self.set_empty_state(
            EmptyState(
                "No recordings to identify from",
                "Record the four trajectories (24 s), look at the example recorded with a real XL330, or have the "
                "recordings chosen that tell most about this servo.",
                record_four,
                example,
                self.propose_button,
            )
        )
        fitting, library = controller.fitting, controller.library
        fitting.changed.connect(self._enable)
        fitting.divided.connect(
            lambda train, held_out: self._say(f"{counted(train, 'run')} to fit, {held_out} to judge")
        )
        fitting.progressed.connect(self._take)
        fitting.overlaid.connect(self._take_overlay)
        fitting.finished.connect(self._show_result)
        fitting.recalled.connect(self._show_result)
        fitting.judged.connect(self._result.show_result)
        fitting.failed.connect(lambda problem: self._show_failure(problem, fitting.remedy))
        fitting.unfinished_changed.connect(self._enable)
        self.panels.crossvalidating.changed.connect(self._enable)
        self.panels.certifying.changed.connect(self._enable)
        library.runs_changed.connect(self._offer)
        library.selection_changed.connect(self._offer)
        library.opened.connect(self._forget)
        controller.placing.points_changed.connect(self._offer)
        controller.reported.connect(lambda path: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))))
        controller.angle_unit_changed.connect(lambda: self.overlay.set_unit(controller.angle_unit))
        self.form.changed.connect(self._enable)
        self._overlaying.changed.connect(lambda: self.overlay.show_overlay(self._overlaying.shown))
        self._overlaying.problem.connect(lambda text: controller.message.emit("error", text))
        self._offer()
        if fitting.result is not None:
            self._show_result(fitting.result)

    # What there is to see.

    def _build_actions(self) -> None:
        self.summary: QLabel = label("", "muted")
        self.summary.setWordWrap(True)
        self.summary.hide()
        self.selection_note: QLabel = label("", "muted")
        self.selection_note.setWordWrap(True)
        self.selection_note.setToolTip("Select a run in the session to use it though it did not end well")
        self.obstacle = ProblemCard(QBoxLayout.Direction.TopToBottom)
        self.resume_note: QLabel = label("", "muted")
        self.resume_note.setWordWrap(True)
        self.resume_button: QPushButton = button(
            "Resume", "Go on with the identification that was stopped or cut short, as if it had not been", self._resume
        )
        self.start_button: QPushButton = button(
            "Identify", "Search for the parameters of the checked models", self._start, "primary"
        )
        self.start_button.setMinimumHeight(26)
        self.stop_button: QPushButton = button(
            "Stop", "End the search and keep the best models found so far", self._controller.fitting.stop
        )
        self.stop_button.setMinimumHeight(26)
        self.check_button: QPushButton = button(
            "Check coverage",
            "What the chosen runs can tell, before they are fitted",
            lambda: self.panels.check_coverage(),
        )
        row = QHBoxLayout()
        row.addWidget(self.start_button, 2)
        row.addWidget(self.stop_button, 1)
        resume = QHBoxLayout()
        resume.addWidget(self.resume_note, 1)
        resume.addWidget(self.resume_button)
        self.actions_column.addWidget(self.summary)
        self.actions_column.addWidget(self.obstacle)
        self.actions_column.addLayout(resume)
        self.actions_column.addWidget(self.selection_note)
        self.actions_column.addWidget(self.check_button)
        self.actions_column.addLayout(row)

    def _build_picture(self) -> None:
        self.problem = ProblemCard()
        self.centre.addWidget(self.problem)
        self._symbols, self._bars = SymbolDelegate(), BarDelegate()
        self.parameters = ParameterTable()
        self.tabs = describe(QTabWidget(), "What is shown of the identification", "Progress, motion, values, warnings")
        self.tabs.setDocumentMode(True)
        shown = (self.parameters, self._symbols, self._bars)
        self.parameter_view = _parameter_view(
            self.parameters, self._symbols, self._bars, "Best parameters", _BESIDE_COST
        )
        self.parameter_view.setColumnHidden(NOTE_COLUMN, True)
        self._search = SearchTab(self.parameter_view)
        self.cost = self._search.cost
        self.tabs.addTab(self._search, "Search")
        self.overlay = OverlayPlots()
        self.overlay.set_unit(self._controller.angle_unit)
        self.tabs.addTab(self.overlay, "Overlay")
        self.value_view = _parameter_view(*shown, "Parameters", _ALONE)
        self.tabs.addTab(self.value_view, "Parameters")
        self.warnings = WarningList()
        self.tabs.addTab(self.warnings, "Warnings")
        self.panels = Panels(self._controller, self.form, self.tabs)
        self.tabs.currentChanged.connect(lambda _: self._turn())
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(6)
        splitter.addWidget(self.tabs)
        self._result = ResultPart(self._controller)
        self._result.row_changed.connect(self._show_row)
        self.results, self.result_view, self.choice = self._result.table, self._result.view, self._result.choice
        self.use_button, self.report_button = self._result.use_button, self._result.report_button
        self.step_note = self._result.step_note
        splitter.addWidget(self._result)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([212, 208])
        self.centre.addWidget(splitter, 1)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        parts = (self.form, self._search, self.overlay, self.parameters, self._bars, self._result, self.panels)
        for part in parts:
            part.set_theme(theme)

    def entered(self) -> None:
        """Draw what came while the page was out of sight."""
        self._search.draw()
        self._choose_overlay()

    def actions_offered(self) -> list[ActionSpec]:
        """What a person can ask of an identification."""
        fitting = self._controller.fitting
        return [
            ActionSpec("Identify", self._start, tip=self.start_button.toolTip(), enabled=self.start_button.isEnabled),
            ActionSpec(
                "Stop the identification", fitting.stop, enabled=lambda: fitting.active and not fitting.stopping
            ),
            ActionSpec("Resume the identification", self._resume, enabled=self.resume_button.isEnabled),
            ActionSpec("Use the selected model", self._result.use, enabled=self.use_button.isEnabled),
            ActionSpec(
                "Bounds and frozen parameters…", self.form.ask_parameters, enabled=self.form.parameters_button.isEnabled
            ),
            ActionSpec("Write a report…", self._result.ask_report, enabled=self.report_button.isEnabled),
            ActionSpec("Identify with the default settings", self.form.back_to_defaults),
            *self.panels.actions_offered(),
        ]

    # What a person does.

    def _turn(self) -> None:
        """Another tab: those that have nothing to do with the result fill the page."""
        self._result.setVisible(not self.panels.in_sight)
        self._show_what_there_is()
        self.entered()

    def _start(self) -> None:
        self._begin("Loading the recordings…")
        self._controller.identifying.identify(self.form.settings())

    def _resume(self) -> None:
        self._begin("Loading the recordings and what was found before…")
        self._controller.identifying.resume()

    def _begin(self, text: str) -> None:
        self._forget()
        self._say(text)
        self.tabs.setCurrentWidget(self._search)

    def _try_again(self) -> None:
        if self.start_button.isEnabled():
            self._start()

    # What happens.

    def _forget(self) -> None:
        self._candidates = {}
        self._search.forget()
        self._suspects = ()
        self.results.set_rows((), "")
        self.parameters.set_parameters([])
        self._say("")
        self.choice.setText("")
        self.problem.clear()
        self._overlaying.forget()
        self._show_row()

    def _say(self, text: str) -> None:
        self.summary.setText(text)
        self.summary.setVisible(bool(text))

    def _take(self, progress: FitProgress) -> None:
        self._search.add(progress)
        if progress.candidate is not None:
            self._show_parameters(progress.candidate)
            if not progress.trial:
                self._note_candidate(progress, progress.candidate)
        if progress.points:
            evaluations, error = progress.points[-1]
            self._say(
                f"{progress.model.upper()} {progress.trial}".rstrip()
                + f": {milliradians(error)} mrad after {evaluations} evaluations"
            )
        if self.isVisible():
            self._search.draw()

    def _take_overlay(self, overlay: FitOverlay) -> None:
        if self._overlay_in_sight():
            self._overlaying.show_live(overlay)

    def _note_candidate(self, progress: FitProgress, candidate: ServoModel) -> None:
        """Show the best so far where the result will stand."""
        evaluations, error = progress.points[-1]
        before = self._candidates.get(progress.model)
        if before is None or error <= before.train_mae:
            self._candidates[progress.model] = FittedModel(
                candidate, error, None, None, evaluations, math.nan, None
            )  # fmt: skip
            self.results.set_rows(tuple(self._candidates.values()), "")

    def _show_parameters(self, model: ServoModel, row: FittedModel | None = None) -> None:
        self._search.parameters_title.setText(f"BEST PARAMETERS OF {model.friction.upper()}")
        evidence = None if row is None else row.evidence
        self.parameters.set_parameters(list(model.parameters.values()), evidence, _torque_off(row))

    def _show_result(self, result: FitResult) -> None:
        self._search.draw()
        self.problem.clear()
        self._result.show_result(result)
        self.result_view.selectRow(self.results.recommended_row)
        self._show_row()
        self._say("Stopped early, the best found so far is kept." if result.stopped else "")
        self._result.mark_current()

    def _show_failure(self, problem: str, remedy: Remedy | None) -> None:
        """Say what is wrong beside the measured motion, with what would help."""
        self._suspects = remedy.runs if remedy is not None else ()
        self._say("")
        self.problem.show_problem(problem, way_out(remedy, self._controller, self.form, self._try_again))
        self.tabs.setCurrentWidget(self.overlay)
        self._choose_overlay()

    def _show_row(self) -> None:
        row = self._result.selected
        count = self.warnings.show_evidence(None if row is None else row.evidence, _torque_off(row))
        self.tabs.setTabText(self.tabs.indexOf(self.warnings), f"Warnings ({count})" if count else "Warnings")
        if row is not None:
            self._show_parameters(row.model, row)
        self._result.show_row()
        self._choose_overlay()

    def _overlay_in_sight(self) -> bool:
        return self.isVisible() and self.tabs.currentWidget() is self.overlay

    def _choose_overlay(self) -> None:
        """Ask for the overlay that belongs to what is selected; nothing while it is out of sight."""
        if not self._overlay_in_sight():
            return
        fitting, row = self._controller.fitting, self._result.selected
        if fitting.active and fitting.overlay is not None:
            self._overlaying.show_live(fitting.overlay)
        elif row is not None and row.evidence is not None and fitting.result is not None:
            self._overlaying.show_fitted(row, fitting.result)
        else:
            chosen = [run.id for run in self._controller.library.for_fit() if run.id not in self._suspects]
            self._overlaying.show_measured((*self._suspects, *chosen)[:2])

    def _offer(self) -> None:
        library = self._controller.library
        servo = self._controller.library.main_servo()
        self.form.offer(library.for_fit(), servo)
        self.form.offer_points(sum(point.servo == servo for point in self._controller.placing.points))
        self._show_what_there_is()
        self._enable()
        self._choose_overlay()

    def _show_what_there_is(self) -> None:
        self.show_empty(not self._controller.library.runs and not self.panels.proposals_in_sight)

    def _enable(self) -> None:
        fitting, runs = self._controller.fitting, self._controller.library.for_fit()
        servo, count = self._controller.library.main_servo(), len(runs)
        wrong = obstacle(self.form.settings(), servo, runs) if runs and not fitting.active else None
        if wrong is None:
            self.obstacle.clear()
        else:
            self.obstacle.show_problem(wrong.message, way_out(wrong.remedy, self._controller, self.form))
        beside = self.panels.under_way
        self.start_button.setEnabled(not fitting.active and not beside and count > 0 and wrong is None)
        self.start_button.setText("Identify" if count == 0 else f"Identify from {counted(count, 'run')}")
        left_out = self._controller.library.left_out(runs)
        self.selection_note.setText(left_out)
        self.selection_note.setVisible(bool(left_out))
        tip = "Search for the parameters of the checked models" if wrong is None else f"Not possible: {wrong.message}"
        self.start_button.setToolTip(f"Not possible: {beside}" if beside else tip)
        self.check_button.setEnabled(count > 0)
        self.stop_button.setEnabled(fitting.active and not fitting.stopping)
        self.stop_button.setText("Stopping…" if fitting.stopping else "Stop")
        record = fitting.unfinished
        self.resume_note.setText("" if record is None else f"Unfinished: {record.in_words()}")
        self.resume_note.setVisible(record is not None)
        self.resume_button.setVisible(record is not None)
        self.resume_button.setEnabled(record is not None and not fitting.active and not beside)
        if not fitting.active and fitting.result is None and self.summary.text().startswith("Loading"):
            self._say("")


def _torque_off(row: FittedModel | None) -> str:
    """Behaviour of a released motor, in words; empty while that is not known."""
    if row is None or row.evidence is None:
        return ""
    return row.evidence.torque_off(row.model.control).text


def _parameter_view(
    parameters: ParameterTable, symbols: SymbolDelegate, bars: BarDelegate, name: str, widths: tuple[int, ...]
) -> QTableView:
    view = plain_table(name, "The best parameters found and where they lie in their bounds")
    view.setModel(parameters)
    view.setItemDelegateForColumn(0, symbols)
    view.setItemDelegateForColumn(BAR_COLUMN, bars)
    view.setItemDelegateForColumn(NOTE_COLUMN, symbols)
    for place, width in enumerate(widths):
        if width:
            view.setColumnWidth(place, width)
    for column in (INTERVAL_COLUMN, INITIAL_COLUMN):
        view.setColumnHidden(column, not widths[column])
    return view
