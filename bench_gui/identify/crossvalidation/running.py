"""A cross-validation in the background, and the one a session keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench_gui.identify.crossvalidation.compute import CrossValidateJob, crossvalidate
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from sessions.results.crossvalidating import CrossValidated, newest_crossvalidation, read_crossvalidation


class CrossValidating(Computation[CrossValidateJob, Share, Path]):
    """What it has searched stays on record and is gone on with when the same is asked again."""

    def __init__(self, computations: Computations, background: Background) -> None:
        super().__init__(
            computations,
            "cross-validation",
            crossvalidate,
            lost="the cross-validation's process ended unexpectedly; start it again to go on",
            keeps=True,
            missed="a cross-validation; its searches stay on record, it goes on when it is asked for again",
        )
        self._background = background
        self._results: Path | None = None
        """Of the open session."""
        self.kept: CrossValidated | None = None
        """The newest of the open session."""

    def look_for_earlier(self, results: Path | None) -> None:
        """Show the newest that is kept under the open session's place for results; None: there is none."""
        self._results = results
        self.kept, self.problem = None, ""
        self.changed.emit()
        if results is not None:
            self._ask(results, newest_crossvalidation, results)

    def end(self, result: Path) -> None:
        """Read what was found."""
        if self.job is not None:
            self._ask(self.job.results, read_crossvalidation, result)
        super().end(result)

    def _ask(self, results: Path, read: Callable[[Path], CrossValidated | None], place: Path) -> None:
        def take(result: CrossValidated | None) -> None:
            if results == self._results:
                self.kept = result
                self.changed.emit()

        self._background.submit("session", read, place, done=take, failed=self.fail)
