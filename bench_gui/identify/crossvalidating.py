"""A cross-validation in the background, and the one a session keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from bench_gui.identify.computing import CrossValidateJob, Share, crossvalidate
from bench_gui.work.background import Background
from bench_gui.work.worker import Worker, Workers
from sessions.results.crossvalidating import CrossValidated, newest_crossvalidation, read_crossvalidation


class CrossValidating(QObject):
    """One at a time; what it has searched stays on record and is gone on with when the same is asked again."""

    changed = Signal()
    """It began, is being stopped, ended, or another result is known."""
    progressed = Signal(object)
    """Share"""
    written = Signal(Path)
    """It ended, and this folder keeps the result."""

    def __init__(self, workers: Workers, background: Background) -> None:
        super().__init__()
        self._background = background
        self._worker = workers.add(
            Worker(
                "cross-validation",
                crossvalidate,
                told=self._tell,
                ended=self._read,
                failed=self._fail,
                lost="the cross-validation's process ended unexpectedly; start it again to go on",
                keeps=True,
                missed="a cross-validation; its searches stay on record, it goes on when it is asked for again",
            )
        )
        self._results: Path | None = None
        """Of the open session."""
        self._under_way: Path | None = None
        """Of the session it is about."""
        self.latest: Share | None = None
        self.result: CrossValidated | None = None
        self.problem = ""

    @property
    def active(self) -> bool:
        """Whether one is running."""
        return self._worker.active

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end early."""
        return self._worker.stopping

    def start(self, job: CrossValidateJob) -> None:
        """Begin, or go on."""
        self._under_way = job.results
        self.latest, self.problem = None, ""
        self._worker.start(job)
        self.changed.emit()

    def stop(self) -> None:
        """End it at the next generation; complete conditions are kept."""
        if self._worker.stop():
            self.changed.emit()

    def look_for_earlier(self, results: Path | None) -> None:
        """Show the newest that is kept under the open session's place for results; None: there is none."""
        self._results = results
        self.result, self.problem = None, ""
        self.changed.emit()
        if results is not None:
            self._ask(results, newest_crossvalidation, results)

    def _read(self, folder: Path) -> None:
        if self._under_way is not None:
            self._ask(self._under_way, read_crossvalidation, folder)
        self.changed.emit()
        self.written.emit(folder)

    def _ask(self, results: Path, read: Callable[[Path], CrossValidated | None], place: Path) -> None:
        def take(result: CrossValidated | None) -> None:
            if results == self._results:
                self.result = result
                self.changed.emit()

        self._background.submit("session", read, place, done=take, failed=self._fail)

    def _tell(self, share: Share) -> None:
        self.latest = share
        self.progressed.emit(share)

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()
