"""An identification in the background: started, watched, stopped from the window, computed in its own process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from bench_gui.identify.earlier import newest_result, recommendation_in
from bench_gui.identify.messages import FitFailed, FitJob, FitOverlay, FitProgress, FitResult, FitStarted
from bench_gui.identify.process import run
from bench_gui.work.background import Background
from bench_gui.work.worker import Worker, Workers
from core.identification.request import IdentificationRequest
from sessions.results.folder import FOLDER, new_result_folder
from sessions.results.record import IdentificationRecord, newest_unfinished


class Fitting(QObject):
    """One identification at a time."""

    changed = Signal()
    """It began, is being stopped, or ended."""
    divided = Signal(int, int)
    """Runs trained on and held out."""
    progressed = Signal(object)
    """FitProgress"""
    overlaid = Signal(object)
    """FitOverlay"""
    finished = Signal(object)
    """FitResult"""
    recalled = Signal(object)
    """FitResult of an earlier day, found beside the session that was opened."""
    failed = Signal(object)
    """FitFailed; what is wrong and, where it is known, what would make it possible."""
    unfinished_changed = Signal()
    """Another identification, or none, can be resumed."""
    problem = Signal(str)

    judged = Signal(object)
    """FitResult; the same models, with another recommendation."""

    def __init__(self, workers: Workers, background: Background) -> None:
        super().__init__()
        self._background = background
        self._worker = workers.add(
            Worker(
                "identification",
                run,
                told=self._take,
                ended=self._conclude,
                failed=lambda message: self._fail(FitFailed(message)),
                lost="the identification's process ended unexpectedly; resume it",
                keeps=True,
                missed="an identification; the best models found so far are kept",
            )
        )
        self._results: Path | None = None
        self.result: FitResult | None = None
        self.latest: FitProgress | None = None
        self.overlay: FitOverlay | None = None
        self.unfinished: IdentificationRecord | None = None
        """What can be resumed in the open session."""

    @property
    def active(self) -> bool:
        """Whether one is running."""
        return self._worker.active

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end early."""
        return self._worker.stopping

    def start(self, session: Path, results: Path, runs: tuple[str, ...], request: IdentificationRequest) -> None:
        """Identify from runs of a session; results: the folder that keeps them."""
        self._results = results
        self._begin(FitJob(session=session, runs=runs, request=request, folder=new_result_folder(results)))

    def resume(self, session: Path) -> None:
        """Go on with what was left unfinished in the session."""
        record = self.unfinished
        if record is None:
            self.problem.emit("no identification of this session was left unfinished; begin a new one")
            return
        self._begin(
            FitJob(session=session, runs=record.runs, request=record.request, folder=record.folder, resume=True)
        )

    def _begin(self, job: FitJob) -> None:
        if self.active:
            self.problem.emit("an identification is running; stop it first")
            return
        self._worker.start(job)
        self.result, self.latest, self.overlay = None, None, None
        self._set_unfinished(None)
        self.changed.emit()

    def look_for_earlier(self, results: Path | None) -> None:
        """Find the newest result among those kept in this folder, and what can be resumed; None: there are none."""
        self._results = results
        if not self.active:
            self.result, self.latest, self.overlay = None, None, None
            self.changed.emit()
        if results is None:
            return

        def found(result: FitResult | None) -> None:
            if results == self._results and result is not None and self.result is None and not self.active:
                self.result = result
                self.recalled.emit(result)

        self._background.submit("session", newest_result, results / FOLDER, done=found)
        self._look_for_unfinished()

    def _look_for_unfinished(self) -> None:
        results = self._results
        self._set_unfinished(None)
        if results is None or self.active:
            return

        def found(record: IdentificationRecord | None) -> None:
            if results == self._results and not self.active:
                self._set_unfinished(record)

        self._background.submit("session", newest_unfinished, results / FOLDER, done=found)

    def judge_again(self, folder: Path) -> None:
        """A cross-validation was written to a folder: take over what it says where the result in sight lies there."""
        shown = self.result
        if shown is None or shown.folder != folder:
            return

        def found(recommended: str, choice: str) -> None:
            if self.result is shown and (recommended, choice) != (shown.recommended, shown.choice):
                self.result = replace(shown, recommended=recommended, choice=choice)
                self.judged.emit(self.result)

        self._background.submit("session", recommendation_in, folder, done=lambda said: found(*said))

    def stop(self) -> None:
        """End it at the next generation; what was found is kept and `finished` follows."""
        if self._worker.stop():
            self.changed.emit()

    def _take(self, message: object) -> None:
        if isinstance(message, FitStarted):
            self.divided.emit(message.train, message.validation)
        elif isinstance(message, FitProgress):
            self.latest = message
            self.progressed.emit(message)
        elif isinstance(message, FitOverlay):
            self.overlay = message
            self.overlaid.emit(message)

    def _conclude(self, word: FitResult | FitFailed) -> None:
        if isinstance(word, FitFailed):
            self._fail(word)
            return
        self.result = word
        self._end()
        self.finished.emit(word)
        if word.problem:
            self.problem.emit(word.problem)

    def _fail(self, failure: FitFailed) -> None:
        self._end()
        self.failed.emit(failure)
        self.problem.emit(failure.message)

    def _set_unfinished(self, record: IdentificationRecord | None) -> None:
        if record != self.unfinished:
            self.unfinished = record
            self.unfinished_changed.emit()

    def _end(self) -> None:
        self.changed.emit()
        self._look_for_unfinished()
