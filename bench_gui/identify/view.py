"""Identification: one click, watched live, a table with its evidence at the end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import (
    QBoxLayout,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QTableView,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.identify.fit.messages import (
    LEAVE_OUT,
    SPLIT,
    FitOverlay,
    FitProgress,
    FitResult,
    FittedModel,
    Remedy,
)
from bench_gui.identify.fit.overlay_plots import OverlayPlots
from bench_gui.identify.fit.overlaying import Overlaying
from bench_gui.identify.fit.problem import ProblemCard, Way
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
    CostHistory,
    ParameterTable,
    ResultTable,
)
from bench_gui.plots.chart import Chart, pen
from bench_gui.state.editing import RunEditing
from bench_gui.state.models import IDENTIFIED
from bench_gui.theme import Theme
from bench_gui.widgets.fields import EmptyState, button, describe, label
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.symbols import SymbolDelegate
from bench_gui.widgets.tables import plain_table
from core.identification.result import step_in_words
from core.model import ServoModel
from core.units import duration, milliradians
from core.words import counted

_BESIDE_COST = (72, 92, 0, 0, 80)
"""Widths of the parameters' columns beside the cost curves; 0 hides."""
_ALONE = (72, 92, 76, 84, 86, 146)
_RESULT = (98, 118, 118, 104, 82, 112, 118)


class IdentifyView(TaskPage):
    """Starts, shows, stops, resumes."""

    help_page = "identification"

    def __init__(self, controller: Controller, record_four: QPushButton, example: QPushButton) -> None:
        """record_four, example: what the empty state offers."""
        super().__init__()
        self._controller = controller
        self._theme: Theme | None = None
        self._history = CostHistory()
        self._curves: dict[tuple[str, int], Any] = {}
        self._candidates: dict[str, FittedModel] = {}
        self._fresh = False
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
        fitting.judged.connect(self._show_recommendation)
        fitting.failed.connect(lambda problem: self._show_failure(problem, fitting.remedy))
        fitting.unfinished_changed.connect(self._enable)
        self.panels.crossvalidating.changed.connect(self._enable)
        self.panels.certifying.changed.connect(self._enable)
        library.runs_changed.connect(self._offer)
        library.selection_changed.connect(self._offer)
        library.opened.connect(self._forget)
        controller.placing.points_changed.connect(self._offer)
        controller.reported.connect(lambda path: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))))
        controller.model_list.changed.connect(self._mark_current)
        controller.model_list.current_changed.connect(self._mark_current)
        controller.angle_unit_changed.connect(lambda: self.overlay.set_unit(controller.angle_unit))
        self.form.changed.connect(self._enable)
        self._overlaying.changed.connect(self._draw_overlay)
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
        self._search = self._search_tab()
        self.tabs.addTab(self._search, "Search")
        self.overlay = OverlayPlots()
        self.overlay.set_unit(self._controller.angle_unit)
        self.tabs.addTab(self.overlay, "Overlay")
        self.value_view = self._parameter_view("Parameters", _ALONE)
        self.tabs.addTab(self.value_view, "Parameters")
        self.warnings = WarningList()
        self.tabs.addTab(self.warnings, "Warnings")
        self.panels = Panels(self._controller, self.form, self.tabs)
        self.tabs.currentChanged.connect(lambda _: self._turn())
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(6)
        splitter.addWidget(self.tabs)
        self._result = self._result_part()
        splitter.addWidget(self._result)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([212, 208])
        self.centre.addWidget(splitter, 1)

    def _search_tab(self) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 4, 0, 0)
        row.setSpacing(10)
        self.cost = Chart("Cost of each model", "Best error", "mrad", bottom="Evaluations", log=True)
        row.addWidget(self.cost, 10)
        right = QVBoxLayout()
        right.setSpacing(3)
        self.parameters_title: QLabel = label("BEST PARAMETERS", "heading")
        right.addWidget(self.parameters_title)
        self.parameter_view = self._parameter_view("Best parameters", _BESIDE_COST)
        self.parameter_view.setColumnHidden(NOTE_COLUMN, True)
        right.addWidget(self.parameter_view, 1)
        row.addLayout(right, 9)
        return holder

    def _parameter_view(self, name: str, widths: tuple[int, ...]) -> QTableView:
        view = plain_table(name, "The best parameters found and where they lie in their bounds")
        view.setModel(self.parameters)
        view.setItemDelegateForColumn(0, self._symbols)
        view.setItemDelegateForColumn(BAR_COLUMN, self._bars)
        view.setItemDelegateForColumn(NOTE_COLUMN, self._symbols)
        for place, width in enumerate(widths):
            if width:
                view.setColumnWidth(place, width)
        for column in (INTERVAL_COLUMN, INITIAL_COLUMN):
            view.setColumnHidden(column, not widths[column])
        return view

    def _result_part(self) -> QWidget:
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 2, 0, 0)
        column.setSpacing(4)
        heading = QHBoxLayout()
        self.choice: QLabel = label("")
        self.choice.setWordWrap(True)
        describe(self.choice, "Evidence for the choice", "Which model is recommended, and why")
        heading.addWidget(self.choice, 1)
        self.use_button: QPushButton = button(
            "Use this model", "Make the selected model the bench's: twin, placing and export begin with it", self._use
        )
        self.report_button: QPushButton = button(
            "Report…", "Write everything about this result into one HTML file that can be sent", self.ask_report
        )
        heading.addWidget(self.report_button)
        heading.addWidget(self.use_button)
        column.addLayout(heading)
        self.results = ResultTable()
        self.result_view = plain_table("Result", "What was found for each model; select one to see what it is made of")
        self.result_view.setModel(self.results)
        for place, width in enumerate(_RESULT):
            self.result_view.setColumnWidth(place, width)
        self.result_view.selectionModel().currentRowChanged.connect(lambda *_: self._show_row())
        self._use_action = QAction("Use this model", self.result_view)
        self._use_action.triggered.connect(lambda _=False: self._use())
        self.result_view.addAction(self._use_action)
        self.result_view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        column.addWidget(self.result_view, 1)
        self.step_note: QLabel = label("", "muted")
        self.step_note.setWordWrap(True)
        describe(self.step_note, "Simulation step", "Step of the selected model, and what it costs")
        column.addWidget(self.step_note)
        return holder

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.form.set_theme(theme)
        self.cost.set_theme(theme)
        self.overlay.set_theme(theme)
        self.parameters.set_theme(theme)
        self._bars.set_theme(theme)
        self.results.set_theme(theme)
        self.panels.set_theme(theme)
        for (model, repeat), curve in self._curves.items():
            curve.setPen(self._pen(model, repeat))

    def entered(self) -> None:
        """Draw what came while the page was out of sight."""
        self._draw()
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
            ActionSpec("Use the selected model", self._use, enabled=self.use_button.isEnabled),
            ActionSpec(
                "Bounds and frozen parameters…", self.form.ask_parameters, enabled=self.form.parameters_button.isEnabled
            ),
            ActionSpec("Write a report…", self.ask_report, enabled=self.report_button.isEnabled),
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
        self._controller.identify(self.form.settings())

    def _resume(self) -> None:
        self._begin("Loading the recordings and what was found before…")
        self._controller.resume_identification()

    def _begin(self, text: str) -> None:
        self._forget()
        self._say(text)
        self.tabs.setCurrentWidget(self._search)

    def _use(self) -> None:
        row = self._selected()
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

    def _way(self, remedy: Remedy | None, again: bool) -> Way | None:
        """A button for a remedy; again: and start once more."""
        if remedy is None:
            return None
        then = " and try again" if again else ""

        def leave_out() -> None:
            library = self._controller.library
            if library.read_only:
                library.select(run.id for run in library.for_fit() if run.id not in remedy.runs)
            else:
                RunEditing(library, self._controller.undo).exclude(remedy.runs, remedy.reason)

        def divide() -> None:
            self.form.hold_out(remedy.rule)

        if remedy.kind == LEAVE_OUT:
            numbers = ", ".join(run.split("_")[0] for run in remedy.runs[:3])
            many = f" and {len(remedy.runs) - 3} more" if len(remedy.runs) > 3 else ""
            text, tip, act = f"Exclude run {numbers}{many}", "Leave it out of fits; its data stay", leave_out
        elif remedy.kind == SPLIT:
            what = "none" if remedy.rule == "none" else remedy.rule.replace("%", " %")
            text, tip, act = f"Hold out {what}", "Divide the runs so", divide
        else:
            text, tip, act = "Back to defaults", self.form.defaults_button.toolTip(), self.form.back_to_defaults

        def change_and_start() -> None:
            act()
            if again and self.start_button.isEnabled():
                self._start()

        return Way(text + then, change_and_start, tip + then)

    # What happens.

    def _forget(self) -> None:
        self._history = CostHistory()
        self._candidates = {}
        for curve in self._curves.values():
            self.cost.removeItem(curve)
        self._curves = {}
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
        if not progress.trial:
            self._history.add(progress.model, progress.repeat, progress.points)
        if progress.candidate is not None:
            self._show_parameters(progress.candidate)
            if not progress.trial:
                self._note_candidate(progress, progress.candidate)
        if progress.points:
            evaluations, error = progress.points[-1]
            self._say(
                f"{progress.model.upper()} {progress.trial}".rstrip()
                + f": {milliradians(error)} mrad after {evaluations} evaluations; "
                f"{100 * progress.done:.0f} % done, at most {duration(progress.remaining)} left"
            )
        self._fresh = True
        if self.isVisible():
            self._draw()

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

    def _draw(self) -> None:
        if not self._fresh:
            return
        self._fresh = False
        for (model, repeat), (x, y) in self._history.curves.items():
            if (model, repeat) not in self._curves:
                name = model.upper() if repeat == 0 else f"{model.upper()}, repeat {repeat + 1}"
                curve = self.cost.add_curve(title=name)
                curve.setPen(self._pen(model, repeat))
                self._curves[model, repeat] = curve
            self._curves[model, repeat].setData(x, y)

    def _pen(self, model: str, repeat: int) -> Any:
        colour = self._theme.model(model) if self._theme is not None else "#888888"
        return pen(colour, 2.0 if repeat == 0 else 1.0)

    def _show_parameters(self, model: ServoModel, row: FittedModel | None = None) -> None:
        self.parameters_title.setText(f"BEST PARAMETERS OF {model.friction.upper()}")
        evidence = None if row is None else row.evidence
        self.parameters.set_parameters(list(model.parameters.values()), evidence, self._torque_off(row))

    def _torque_off(self, row: FittedModel | None) -> str:
        """What a released motor does, in words; empty while that is not known."""
        if row is None or row.evidence is None:
            return ""
        return row.evidence.torque_off(row.model.control).text

    def _show_result(self, result: FitResult) -> None:
        self._draw()
        self.problem.clear()
        self._show_recommendation(result)
        self.result_view.selectRow(self.results.recommended_row)
        self._show_row()
        self._say("Stopped early, the best found so far is kept." if result.stopped else "")
        self._mark_current()

    def _show_recommendation(self, result: FitResult) -> None:
        self.results.set_rows(result.models, result.recommended)
        self.choice.setText(result.choice)

    def _show_failure(self, problem: str, remedy: Remedy | None) -> None:
        """Say what is wrong beside the measured motion, with what would help."""
        self._suspects = remedy.runs if remedy is not None else ()
        self._say("")
        self.problem.show_problem(problem, self._way(remedy, again=True))
        self.tabs.setCurrentWidget(self.overlay)
        self._choose_overlay()

    def _selected(self) -> FittedModel | None:
        index = self.result_view.currentIndex()
        return self.results.row(index.row()) if index.isValid() else None

    def _show_row(self) -> None:
        row = self._selected()
        count = self.warnings.show_evidence(None if row is None else row.evidence, self._torque_off(row))
        self.tabs.setTabText(self.tabs.indexOf(self.warnings), f"Warnings ({count})" if count else "Warnings")
        # While a search is under way, its step can still change.
        step = step_in_words(row.model, row.train_mae) if row is not None and row.evidence is not None else ""
        self.step_note.setText(step)
        self.step_note.setVisible(bool(step))
        if row is not None:
            self._show_parameters(row.model, row)
        self._offer_use()
        self._choose_overlay()

    def _overlay_in_sight(self) -> bool:
        return self.isVisible() and self.tabs.currentWidget() is self.overlay

    def _choose_overlay(self) -> None:
        """Ask for the overlay that belongs to what is selected; nothing while it is out of sight."""
        if not self._overlay_in_sight():
            return
        fitting, row = self._controller.fitting, self._selected()
        if fitting.active and fitting.overlay is not None:
            self._overlaying.show_live(fitting.overlay)
        elif row is not None and row.evidence is not None and fitting.result is not None:
            self._overlaying.show_fitted(row, fitting.result)
        else:
            chosen = [run.id for run in self._controller.library.for_fit() if run.id not in self._suspects]
            self._overlaying.show_measured((*self._suspects, *chosen)[:2])

    def _draw_overlay(self) -> None:
        self.overlay.show_overlay(self._overlaying.shown)

    def _listed(self, row: FittedModel) -> bool:
        entry = self._controller.model_list.entry(f"{IDENTIFIED}:{row.model.friction}")
        return entry is not None and entry.model is row.model

    def _mark_current(self) -> None:
        current = self._controller.model_list.current
        rows = [self.results.row(place) for place in range(self.results.rowCount())]
        mine = [row.model.friction for row in rows if current is not None and row.model is current.model]
        self.results.set_current(mine[0] if mine else "")
        self._offer_use()

    def _offer_use(self) -> None:
        row, current = self._selected(), self._controller.model_list.current
        used = row is not None and current is not None and current.model is row.model
        offered = row is not None and self._listed(row) and not used
        self.use_button.setEnabled(offered)
        self._use_action.setEnabled(offered)
        self.use_button.setText("In use" if used else "Use this model")
        result = self._controller.fitting.result
        self.report_button.setEnabled(result is not None and result.folder is not None)

    def _offer(self) -> None:
        library = self._controller.library
        servo = self._controller.main_servo()
        self.form.offer(library.for_fit(), servo)
        self.form.offer_points(sum(point.servo == servo for point in self._controller.placing.points))
        self._show_what_there_is()
        self._enable()
        self._choose_overlay()

    def _show_what_there_is(self) -> None:
        self.show_empty(not self._controller.library.runs and not self.panels.proposals_in_sight)

    def _enable(self) -> None:
        fitting, runs = self._controller.fitting, self._controller.library.for_fit()
        servo, count = self._controller.main_servo(), len(runs)
        wrong = obstacle(self.form.settings(), servo, runs) if runs and not fitting.active else None
        if wrong is None:
            self.obstacle.clear()
        else:
            self.obstacle.show_problem(wrong.message, self._way(wrong.remedy, again=False))
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
