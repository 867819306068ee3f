"""Identification of the open session: selects the runs and adds the models to the model list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from bench_gui.identify.fit.messages import FitResult
from bench_gui.identify.fit.running import Fitting
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.identify.robot.running import RobotWork
from bench_gui.state.choice import choice_of
from bench_gui.state.journal import Journal
from bench_gui.state.library import Library
from bench_gui.state.models import ModelList
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from core.base.errors import ServoBenchError
from core.base.words import counted
from core.practice.placement import PlacedPoint
from sessions.sampling import sample_of


class Identifying(QObject):
    """Identifies from the library's runs; models of earlier identifications are listed when their session is opened."""

    changed = Signal()
    """Emitted when a search has changed."""

    def __init__(
        self,
        computations: Computations,
        background: Background,
        library: Library,
        model_list: ModelList,
        placed: Callable[[], tuple[PlacedPoint, ...]],
        journal: Journal,
    ) -> None:
        """Connect the parts; placed: returns the points placed by hand; journal: receives the messages."""
        super().__init__()
        self._library, self._model_list, self._placed, self._log = library, model_list, placed, journal.add
        self.fitting = fitting = Fitting(computations, background)
        fitting.failed.connect(lambda text: journal.add("error", text))
        fitting.refused.connect(lambda text: journal.say("error", text, task="Identify"))
        for result in (fitting.finished, fitting.recalled, fitting.judged):
            result.connect(self._list_models)
        library.models_found.connect(model_list.set_identified)
        library.opened.connect(lambda: fitting.look_for_earlier(library.results_place))
        self.robot = robot = RobotWork(computations, background)
        robot.models_found.connect(model_list.set_joints)
        library.opened.connect(lambda: robot.look_for_earlier(library.path, library.results_place))
        self._searches: dict[Computation[Any, Any, Any], str] = {}
        self.add_search(fitting, "an identification is running; wait for it or stop it")
        self.add_search(robot, "work on the joints of a robot is under way; wait for it or stop it")

    def add_search(self, search: Computation[Any, Any, Any], words: str) -> None:
        """Add a computation of which only one runs at a time; words: why others wait, with the remedy."""
        self._searches[search] = words
        search.changed.connect(self.changed)

    def beside(self, search: Computation[Any, Any, Any]) -> str:
        """Return why a search has to wait for another one; empty if none is running."""
        return next((words for each, words in self._searches.items() if each.active and each is not search), "")

    def identify(self, settings: FitSettings) -> None:
        """Identify from the chosen runs of their most frequent servo."""
        library = self._library
        path, results = library.path, library.results_place
        chosen = library.for_fit()
        left_out = library.left_out(chosen)
        if path is None or results is None or not chosen:
            self.fitting.refused.emit(f"no recordings to identify from; {left_out or 'record or import some'}")
            return
        if left_out:
            self._log("info", left_out)
        servo = library.main_servo()
        own = [run for run in chosen if run.servo == servo]
        if len(own) < len(chosen):
            left = len(chosen) - len(own)
            self._log(
                "warning", f"{left} of {counted(len(chosen), 'run')} left out: recorded on a servo other than {servo}"
            )
        sample = sample_of(own, settings.sample)
        if len(sample) < len(own):
            self._log("info", f"a sample of {len(sample)} of {len(own)} runs is used; it contains every condition")
        runs = tuple(run.id for run in sample)
        try:
            self.fitting.identify(path, results, runs, settings.request(servo, self._placed()))
        except ServoBenchError as error:
            self.fitting.refused.emit(str(error))

    def other_runs(self, result: FitResult) -> bool:
        """Return True if a fit would use other data than a result; a selection, made to look at runs, is no change."""
        library, wanted = self._library, result.request.data_hash
        used = library.for_fit(), choice_of(library.runs, library.annotations, ()).for_fit
        samples = [sample_of(runs, len(result.train) + result.held_out) for runs in used]
        return bool(wanted) and all(library.data_hash(runs) != wanted for runs in samples)

    def resume(self, folder: Path | None = None) -> None:
        """Continue the open session's interrupted identification, or the one in a folder."""
        if self._library.path is not None:
            self.fitting.resume(self._library.path, folder)

    def _list_models(self, result: FitResult) -> None:
        self._model_list.set_identified([row.model for row in result.models], result.recommended)
