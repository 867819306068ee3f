"""Identify page: the answer with its next step first, and the evidence in tabs below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.identify.answer.answer import AnswerPart
from bench_gui.identify.answer.sentences import objective, plan_in_words
from bench_gui.identify.earlier_choice import EarlierChoice
from bench_gui.identify.evidence_tab import EvidenceTab
from bench_gui.identify.fit.messages import FitOverlay, FitProgress, FitResult, Remedy
from bench_gui.identify.fit.overlay_plots import OverlayPlots
from bench_gui.identify.fit.overlaying import Overlaying
from bench_gui.identify.fit.parameters_tab import ParametersTab, torque_off
from bench_gui.identify.fit.problem import ProblemCard
from bench_gui.identify.fit.remedies import way_out
from bench_gui.identify.fit.search_tab import SearchTab
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.fit.start_part import StartPart
from bench_gui.identify.robot.panel import RobotPanel
from bench_gui.widgets.fields import EmptyState, button, restyle
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.start_button import held_by
from bench_gui.widgets.tabs import Tabs
from core.base.words import capitalised, counted
from core.identification.coverage.findings import (
    BOUNDS,
    CROSS_VALIDATE,
    EXPORT,
    FREEZE,
    HOLD_OUT,
    IDENTIFY,
    POINTS,
    RECORD,
    RESUME,
    SEARCH,
)
from core.identification.overlay import JudgedRun
from core.identification.verdict import Step

LOWEST_TABS = 225
"""Smallest height of the tabs [px]."""
LOW = 600
"""A lower window has no room for the models above curves [px]."""
READ_AFTER = 30
"""Time for drawing the page before runs are read for its overlay [ms]."""


class _Tabs(Tabs):
    """Ask for no more than the smallest height: the answer keeps its own, and the tabs get the remaining space."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), LOWEST_TABS)


class IdentifyView(TaskPage):
    """Starts, stops and resumes identifications and shows their results."""

    help_page = "identification"

    def __init__(self, controller: Controller, record_four: QPushButton, example: QPushButton) -> None:
        """Create the page; record_four, example: buttons of the empty state."""
        super().__init__()
        self._controller = controller
        self._suspects: tuple[str, ...] = ()
        """Runs that made an identification fail."""
        self._overlaying = Overlaying(controller.library, controller.background, controller.compute)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(READ_AFTER)
        self._soon.timeout.connect(self._choose_overlay)
        self._restored = False
        """True until a result is shown, if the form has the settings of last time."""
        self.form = SettingsForm(controller.undo, controller.model_list)
        controller.settings.keep("identification", self.form.state, self._restore, self.form.changed)
        # In a low window the page scrolls instead of being squeezed.
        self.form.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.robot = RobotPanel(controller)
        self.settings.addWidget(self.form)
        self.settings.addWidget(self.robot.form)
        self.settings.addStretch(1)
        self.start = StartPart(controller, self.form, self._start, self._resume, self._check_coverage)
        self.start_button, self.stop_button = self.start.start_button, self.start.stop_button
        self.actions_column.addWidget(self.start)
        self.actions_column.addWidget(self.robot.buttons)
        self.earlier = EarlierChoice(controller.fitting)
        self.propose_button: QPushButton = button(
            "Propose recordings",
            "Find the most informative recordings, using the catalogue's model of the servo",
            lambda: self.show_evidence("proposals"),
        )
        self.set_empty_state(
            EmptyState(
                "No recordings to identify from",
                "Record the four trajectories (24 s), open the example recorded with a real XL330, or let "
                "ServoBench propose the most informative recordings for this servo.",
                record_four,
                example,
                self.propose_button,
            )
        )
        self._add_results()
        self._connect()
        self._offer()
        if controller.fitting.result is not None:
            self._show_result(controller.fitting.result, recalled=True)

    def _add_results(self) -> None:
        controller, form = self._controller, self.form
        self.problem = ProblemCard()
        self.parameters = ParametersTab(form)
        self.overlay = OverlayPlots()
        self.overlay.set_unit(controller.angle_unit)
        self.search = SearchTab(controller)
        evidence = self.evidence = EvidenceTab(controller, form)
        self._acts: Mapping[str, Callable[[str], object]] = {
            FREEZE: lambda known: form.freeze(known.partition("=")[0], float(known.partition("=")[2])),
            BOUNDS: lambda _: form.ask_parameters(),
            HOLD_OUT: form.hold_out,
            CROSS_VALIDATE: lambda _: self.show_evidence("crossvalidation"),
            SEARCH: lambda trials: form.set_option("trials", int(trials)),
            POINTS: lambda _: form.set_option("points", False),
            RECORD: lambda _: self.task_wanted.emit("Record"),
            RESUME: lambda _: self._resume_shown(),
            IDENTIFY: lambda _: self._start(),
            EXPORT: lambda _: self.answer.export(),
            "": lambda _: self.show_evidence("warnings"),
        }
        self.answer = AnswerPart(controller, lambda: self.show_evidence("warnings"))
        for source in (self.answer.card, evidence.warnings):
            source.step_wanted.connect(lambda action, subject: self._acts[action](subject))
        parts = (
            (self.parameters, "Parameters", "Values with their intervals inside their bounds"),
            (self.overlay, "Overlay", "Measured and simulated motion of a run, the worst one first"),
            (self.search, "Search", "Cost over evaluations, and the figures of each model"),
            (evidence, "Evidence", "Warnings, coverage, cross-validation, certainty, next recording"),
        )
        self.tabs = _Tabs(parts, self.earlier)
        self.tabs.setMinimumHeight(LOWEST_TABS)
        self.tabs.show_part(self.overlay)
        self.centre.addWidget(self.problem)
        self.centre.addWidget(self.answer)
        self.centre.addWidget(self.tabs, 1)
        self.centre.addWidget(self.robot, 1)

    def _connect(self) -> None:
        controller, fitting, library = self._controller, self._controller.fitting, self._controller.library
        fitting.divided.connect(
            lambda train, held_out: self.answer.begin(f"{counted(train, 'run')} to fit, {held_out} to judge")
        )
        fitting.progressed.connect(self._take)
        fitting.noted.connect(lambda text: self.answer.note(f"{capitalised(text)}…", fitting.activity.share))
        fitting.overlaid.connect(self._take_overlay)
        fitting.finished.connect(self._show_result)
        fitting.recalled.connect(lambda result: self._show_result(result, recalled=True))
        fitting.restored.connect(lambda result: self._show_result(result, recalled=True, take=False))
        fitting.judged.connect(self._show_result)
        fitting.failed.connect(lambda problem: self._show_failure(problem, fitting.remedy))
        fitting.unfinished_changed.connect(self._enable)
        for computation in (controller.identifying, self.evidence.proposing):
            computation.changed.connect(self._enable)
        self.answer.row_changed.connect(self._show_row)
        self.answer.export_wanted.connect(lambda: self.task_wanted.emit("Export"))
        self.tabs.current_changed.connect(lambda _: self._turn())
        self.earlier.compared.connect(self.parameters.compare_with)
        self.evidence.certifying.changed.connect(self._show_row)
        self.evidence.turned.connect(self._turn)
        library.runs_changed.connect(self._offer)
        library.fit_changed.connect(self._offer)
        library.opened.connect(self._forget)
        library.locked_changed.connect(self._enable)
        controller.placing.points_changed.connect(self._offer)
        controller.reported.connect(lambda _: fitting.look_again())
        controller.reported.connect(lambda path: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))))
        controller.angle_unit_changed.connect(lambda: self.overlay.set_unit(controller.angle_unit))
        self.form.changed.connect(self._enable)
        self.overlay.picked.connect(self._pick_run)
        self._overlaying.changed.connect(lambda: self.overlay.show_overlay(self._overlaying.shown))
        for awaited in (self._overlaying.changed, controller.computing):
            awaited.connect(lambda: self.overlay.await_motion(self._overlaying.sentence, self._overlaying.simulating))
        self._overlaying.problem.connect(lambda text: controller.message.emit("error", text))

    def entered(self) -> None:
        """Draw what arrived while the page was hidden."""
        self.search.draw()
        self._soon.start()
        if self.isVisible() and self.tabs.current() is self.search:
            self.search.recall(self._controller.fitting.result)

    def actions_offered(self) -> list[ActionSpec]:
        fitting, start, card = self._controller.fitting, self.start, self.answer.card
        tip, bounds = start.start_button.toolTip(), self.form.parameters_button
        return [
            ActionSpec("Identify", self._start, tip=tip, enabled=start.start_button.isEnabled),
            ActionSpec(
                "Stop the identification", fitting.stop, enabled=lambda: fitting.active and not fitting.stopping
            ),
            ActionSpec("Resume the identification", self._resume, enabled=start.resume_button.isEnabled),
            ActionSpec("Use the selected model", self.answer.use, enabled=card.use_button.isEnabled),
            ActionSpec("Export the selected model…", self.answer.export, enabled=card.export_button.isEnabled),
            ActionSpec("Bounds and frozen parameters…", self.form.ask_parameters, enabled=bounds.isEnabled),
            ActionSpec("Write a report…", self.answer.ask_report, enabled=card.report_button.isEnabled),
            ActionSpec("Identify with the default settings", self.form.back_to_defaults),
            *self.evidence.actions_offered(),
            *self.robot.actions_offered(),
        ]

    # User actions.

    def show_evidence(self, name: str) -> None:
        """Show a part of the evidence."""
        self.evidence.show_part(name)
        self.tabs.show_part(self.evidence)

    def _restore(self, data: Any) -> None:
        self.form.restore(data)
        self._restored = True

    def _check_coverage(self) -> None:
        if held_by(self.form):
            return
        self.show_evidence("coverage")
        self.evidence.coverage.check()

    def _turn(self) -> None:
        self._leave_room()
        self._show_what_there_is()
        self.entered()

    def _leave_room(self) -> None:
        """Show the verdict only above the evidence, and above the curves of a low window."""
        low = self.window().height() < LOW
        self.answer.shrink(self.tabs.current() in ((self.evidence, self.overlay) if low else (self.evidence,)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Adapt to the height of the window."""
        super().resizeEvent(event)
        self._leave_room()

    def _start(self) -> None:
        if held_by(self.form):
            return
        self._begin(
            "Loading the program and the recordings…",
            lambda: self._controller.identifying.identify(self.form.settings()),
        )

    def _resume(self, folder: Path | None = None) -> None:
        self._begin(
            "Loading the program, the recordings and earlier results…",
            lambda: self._controller.identifying.resume(folder),
        )

    def _resume_shown(self) -> None:
        result = self._controller.fitting.result
        self._resume(None if result is None else result.folder)

    def _begin(self, text: str, begin: Callable[[], object]) -> None:
        begin()
        if self._controller.fitting.active:
            self._forget()
            self.answer.begin(text)
            self.tabs.show_part(self.overlay)

    # Events.

    def _forget(self) -> None:
        self._suspects = ()
        self.search.forget()
        self.answer.forget()
        self.problem.clear()
        self._overlaying.forget()
        self.form.show_settings_of(None, take=False)
        self._show_row()

    def _take(self, progress: FitProgress) -> None:
        self.search.add(progress)
        self.answer.take(progress)
        if progress.candidate is not None:
            self.parameters.show_candidate(progress.candidate)
        if self.isVisible():
            self.search.draw()

    def _take_overlay(self, overlay: FitOverlay) -> None:
        if self._overlay_in_sight():
            self._overlaying.show_live(overlay)

    def _show_result(self, result: FitResult, recalled: bool = False, take: bool = True) -> None:
        """Show a result.

        Args:
            result: The result.
            recalled: True if it is not from the search that was just shown.
            take: Take over the settings of a recalled one.
        """
        library = self._controller.library
        self.search.draw()
        self.problem.clear()
        self.search.name_objective(objective(result.request))
        if recalled:
            self.search.forget("Reading the search…")
        # In the session of last time the settings may be newer than its result.
        self.form.show_settings_of(result, take=take and recalled and not (self._restored and library.reopened))
        self._restored = False
        self.answer.show_result(result)
        self._show_row()
        self.entered()

    def _show_failure(self, problem: str, remedy: Remedy | None) -> None:
        """Show the problem with its remedy above the measured motion."""
        self._suspects = remedy.runs if remedy is not None else ()

        def try_again() -> None:
            if self.start.start_button.isEnabled():
                self._start()

        self.problem.show_problem(problem, way_out(remedy, self._controller, self.form, try_again))
        self.tabs.show_part(self.overlay)
        self._enable()
        self._choose_overlay()

    def _show_row(self) -> None:
        row = self.answer.selected
        found = row is not None and row.evidence is not None
        result = self._controller.fitting.result
        answer = result.answers.get(row.model.friction) if found and row is not None and result is not None else None
        self.evidence.show_row(row if found else None, () if answer is None else answer.warnings, torque_off(row))
        if not self._controller.fitting.active:
            self.parameters.show_row(row if found else None, self.evidence.certifying.kept)
        self.search.show_row(row if found else None)
        self._enable()
        self._choose_overlay()

    def _overlay_in_sight(self) -> bool:
        return self.isVisible() and self.tabs.isVisible() and self.tabs.current() is self.overlay

    def _pick_run(self, run: str) -> None:
        self._overlaying.chosen = run
        self._choose_overlay()

    def _choose_overlay(self) -> None:
        """Request the overlay of the current selection, only while the overlay is visible."""
        if not self._overlay_in_sight():
            return
        fitting, row = self._controller.fitting, self.answer.selected
        if fitting.active and fitting.overlay is not None:
            self._overlaying.show_live(fitting.overlay)
        elif row is not None and row.evidence is not None and fitting.result is not None and not self._suspects:
            self._overlaying.show_fitted(row, fitting.result)
        else:
            library = self._controller.library
            runs = [run for run in library.runs if run.id in self._suspects]
            runs += [run for run in library.for_fit() if run.id not in self._suspects]
            self._overlaying.show_measured(tuple(JudgedRun(run.id, run.trajectory) for run in runs))

    def _offer(self) -> None:
        library = self._controller.library
        servo = library.main_servo()
        self.form.offer_points(sum(point.servo == servo for point in self._controller.placing.points))
        self.form.offer(library.for_fit(), servo)
        self.robot.offer()
        self._show_what_there_is()
        self._choose_overlay()

    def _show_what_there_is(self) -> None:
        proposing = self.tabs.current() is self.evidence and self.evidence.shown == "proposals"
        self.show_empty(not self._controller.library.runs and not proposing)
        of_robot = self.robot.offered
        for part in (self.form, self.start, self.answer, self.tabs):
            part.setVisible(not of_robot)
        for part in (self.robot, self.robot.form, self.robot.buttons):
            part.setVisible(of_robot)
        self._enable()

    def _enable(self) -> None:
        fitting, library, form = self._controller.fitting, self._controller.library, self.form
        result, row = fitting.result, self.answer.selected
        waits = self._controller.identifying.beside(fitting) or self.robot.instead
        shown = None if fitting.active or result is None or row is None else result.answers[row.model.friction]
        step = None if shown is None else shown.step
        if step is not None and result is not None:
            runs = ("Runs",) if self._controller.identifying.other_runs(result) else ()
            if changed := ", ".join((*form.changed_since, *runs)):
                text = f"Identify again, because this has changed since the result: {changed}."
                step = Step(action=IDENTIFY, label="Identify again", text=text)
        resuming = step is not None and step.action == RESUME
        self.start.refresh(waits, primary=shown is None and not self.is_empty, resuming=resuming)
        again = step is None or step.action == IDENTIFY
        restyle(self.start.obstacle.button, "kind", "primary" if again else "small")
        self.search.show_figures(result, self.answer.ladder.current)
        if shown is not None and step is not None:
            locked = "" if step.action in ("", EXPORT) else library.results_obstacle
            why_not = locked or {IDENTIFY: self.start.why_not, RESUME: waits}.get(step.action, "")
            self.answer.show_answer(shown, step, why_not)
        elif not fitting.active:
            self.answer.card.show_plan(plan_in_words(form.settings(), len(library.for_fit()), len(library.runs)))
