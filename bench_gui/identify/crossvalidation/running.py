"""A cross-validation in the background, and the one a session keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench_gui.identify.crossvalidation.compute import CrossValidateJob, Judged, Planned, crossvalidate
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from sessions.results.crossvalidating import CrossValidated, newest_crossvalidation, read_crossvalidation


class CrossValidating(Computation[CrossValidateJob, Share, Path]):
    """What it has searched stays on record and is gone on with when the same is asked again."""

    def __init__(self, computations: Computations, background: Background) -> None:
        super().__init__(
            computations,
            "Cross-validation",
            crossvalidate,
            lost="the cross-validation's process ended unexpectedly; start it again to go on",
            keeps=True,
            stop_tip="Pause it; searches that are done are kept, and Continue goes on with the rest",
            missed="a cross-validation; its searches stay on record, it goes on when it is asked for again",
        )
        self._background = background
        self._results: Path | None = None
        """Of the open session."""
        self.kept: CrossValidated | None = None
        """The newest of the open session."""
        self.planned = Planned(variants=(), folds=())
        """What the last one was to search."""
        self.errors: dict[tuple[str, str], float] = {}
        """By variant and what was held out, of the searches of the last one that are done [rad]."""

    @property
    def total(self) -> int:
        """Searches of the last one."""
        return len(self.planned.variants) * len(self.planned.folds)

    @property
    def paused(self) -> bool:
        """Whether the last one was stopped, so that it can go on."""
        return self.stopped and not self.active and len(self.errors) < self.total

    @property
    def outcome(self) -> str:
        """How far it is when it was stopped."""
        return f"paused at {len(self.errors)} of {self.total}" if self.paused else "done"

    def start(self, job: CrossValidateJob) -> None:
        """Begin, or go on with what is on record."""
        self.planned, self.errors = Planned(variants=(), folds=()), {}
        super().start(job)

    def take(self, message: Share | Planned) -> None:
        """Keep another search."""
        if isinstance(message, Planned):
            self.planned = message
            self.changed.emit()
            return
        if isinstance(message, Judged):
            self.errors[message.cell.variant, message.cell.fold] = message.cell.error
            self.changed.emit()
        super().take(replace(message, text=f"{len(self.errors)} of {self.total}, {message.text}"))

    def look_for_earlier(self, results: Path | None) -> None:
        """Show the newest that is kept under the open session's place for results; None: there is none."""
        self._results = results
        self.kept, self.problem, self.stopped = None, "", False
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
