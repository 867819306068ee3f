"""Identification in the background: started and stopped from the window, computed in its own process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from PySide6.QtCore import Signal

from bench_gui.identify.fit.compute import run
from bench_gui.identify.fit.messages import FitJob, FitOverlay, FitProgress, FitResult, FitStarted, Remedy
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from core.base.errors import ServoBenchError
from core.base.words import counted
from core.identification.request import IdentificationRequest
from sessions.results.folder import FOLDER, new_result_folder, result_folders
from sessions.results.identification import load_identification
from sessions.results.record import IdentificationRecord, newest_unfinished, read_record


class Fitting(Computation[FitJob, FitProgress, FitResult]):
    """One identification at a time; a stop ends it at the next generation and keeps the best models found."""

    divided = Signal(int, int)
    """Number of training runs and of held-out runs."""
    overlaid = Signal(object)
    """FitOverlay"""
    restored = Signal(object)
    """FitResult that was shown before a search that failed; `failed` follows."""
    recalled = Signal(object)
    """FitResult stored in the opened session, or selected from its results."""
    kept_changed = Signal()
    """Emitted when the stored results change."""
    unfinished_changed = Signal()
    """Emitted when the identification that can be resumed changes."""
    refused = Signal(str)
    """Message for the user: a request cannot be met, or only in part."""
    judged = Signal(object)
    """FitResult with the same models and another recommendation."""

    def __init__(self, computations: Computations, background: Background) -> None:
        super().__init__(
            computations,
            "Identification",
            run,
            lost="the identification's process ended unexpectedly; resume it",
            keeps=True,
            stop_tip="End the search and keep the best models found so far",
            missed="an identification; the best models found so far are kept",
        )
        self._background = background
        self._results: Path | None = None
        self.kept: tuple[FitResult, ...] = ()
        """Results of the open session, newest first, including the shown one."""
        self.overlay: FitOverlay | None = None
        self.remedy: Remedy | None = None
        """Suggested fix of the last failure, or None."""
        self._before: FitResult | None = None
        """Result shown when the search began."""
        self.unfinished: IdentificationRecord | None = None
        """Interrupted identification of the open session, or None."""

    def identify(self, session: Path, results: Path, runs: tuple[str, ...], request: IdentificationRequest) -> None:
        """Identify from runs of a session; results: folder for the result."""
        self._results = results
        self._begin(FitJob(session=session, runs=runs, request=request, folder=new_result_folder(results)))

    def resume(self, session: Path, folder: Path | None = None) -> None:
        """Continue the session's interrupted identification; folder: that of an earlier one instead."""
        try:
            record = self.unfinished if folder is None else read_record(folder)
        except ServoBenchError as error:
            self.refused.emit(str(error))
            return
        if record is None:
            self.refused.emit("this session has no interrupted identification; start a new one")
            return
        self._begin(
            FitJob(session=session, runs=record.runs, request=record.request, folder=record.folder, resume=True)
        )

    def _begin(self, job: FitJob) -> None:
        if self.active:
            self.refused.emit("an identification is running; stop it first")
            return
        self._before, self.result, self.overlay, self.remedy = self.result, None, None, None
        self._set_unfinished(None)
        self.start(job)

    def look_for_earlier(self, results: Path | None) -> None:
        """Load the newest result in a results folder, and what can be resumed; None: no folder."""
        self._results, self._before = results, None
        if not self.active:
            self.result, self.latest, self.overlay = None, None, None
            self.changed.emit()
        self._keep(())
        if results is None:
            return

        def newest(found: tuple[FitResult, ...]) -> None:
            if results == self._results and found and self.result is None and not self.active:
                self.show(found[0])

        def every(found: tuple[FitResult, ...]) -> None:
            if results == self._results:
                shown = self.result
                self._keep(tuple(shown if shown and shown.folder == one.folder else one for one in found))

        self._background.submit("session", earlier_results, results / FOLDER, 1, done=newest)
        self._background.submit("session", earlier_results, results / FOLDER, done=every)
        self._look_for_unfinished()

    def show(self, result: FitResult) -> None:
        """Show a stored result of the session."""
        if not self.active and result is not self.result:
            self.result = result
            self.recalled.emit(result)

    def _look_for_unfinished(self) -> None:
        results = self._results
        self._set_unfinished(None)
        if results is None or self.active:
            return

        def found(record: IdentificationRecord | None) -> None:
            if results == self._results and not self.active:
                self._set_unfinished(record)

        self._background.submit("session", newest_unfinished, results / FOLDER, done=found)

    def look_again(self) -> None:
        """Show what a report found out about a result without a diagnosis, such as a stopped one."""
        if self.result is not None and self.result.folder is not None:
            self.judge_again(self.result.folder)

    def judge_again(self, folder: Path) -> None:
        """Update the shown result after a cross-validation or a diagnosis was written to its folder."""
        shown = self.result
        if shown is None or shown.folder != folder:
            return

        def found(stored: FitResult) -> None:
            new = {name: getattr(stored, name) for name in ("recommended", "choice", "by", "answers")}
            if self.result is shown and replace(shown, **new) != shown:
                self.result = judged = replace(shown, **new)
                self._keep(tuple(judged if one is shown else one for one in self.kept))
                self.judged.emit(judged)

        self._background.submit("session", result_in, folder, done=found)

    def take(self, message: FitStarted | Share | FitOverlay | Remedy) -> None:
        """Emit the signal for a message of the process."""
        if isinstance(message, FitStarted):
            self.divided.emit(message.train, message.validation)
        elif isinstance(message, FitOverlay):
            self.overlay = message
            self.overlaid.emit(message)
        elif isinstance(message, Remedy):
            self.remedy = message
        elif isinstance(message, FitProgress):
            super().take(message)
        else:
            self._activities.tell(self.activity, message)
            self.noted.emit(message.text)

    @property
    def outcome(self) -> str:
        """Number of models found."""
        found = "" if self.result is None else counted(len(self.result.models), "model")
        return f"{found}, stopped early" if self.stopped else found

    def end(self, result: FitResult) -> None:
        """Store the result."""
        self._keep((result, *(one for one in self.kept if one.folder != result.folder)))
        super().end(result)
        self._look_for_unfinished()
        if result.problem:
            self.refused.emit(result.problem)

    def fail(self, problem: str) -> None:
        """Store the reason of the failure, and show the earlier result again; a session may have become read-only."""
        before, self._before = self._before, None
        if before is not None:
            self.result = before
            self.restored.emit(before)
            problem = f"{problem.rstrip('.')}. No new result was saved; the one below is the earlier one."
        super().fail(problem)
        self._look_for_unfinished()

    def _keep(self, results: tuple[FitResult, ...]) -> None:
        self.kept = results
        self.kept_changed.emit()

    def _set_unfinished(self, record: IdentificationRecord | None) -> None:
        if record != self.unfinished:
            self.unfinished = record
            self.unfinished_changed.emit()


MOST = 30
"""Number of earlier results offered: reading one takes about 10 ms, and each stays in memory."""


def earlier_results(results: Path, most: int = MOST) -> tuple[FitResult, ...]:
    """Read the results in a results folder, newest first; unreadable ones are skipped."""
    return tuple(islice(_readable(results), most))


def result_in(folder: Path) -> FitResult:
    """Read the result in a folder.

    Raises:
        IdentificationError: if it cannot be read.
    """
    return FitResult.of(load_identification(folder), folder)


def _readable(results: Path) -> Iterator[FitResult]:
    for folder in result_folders(results):
        try:
            yield FitResult.of(load_identification(folder), folder)
        except ServoBenchError:
            continue
