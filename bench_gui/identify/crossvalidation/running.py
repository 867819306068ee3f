"""Cross-validation in the background, and the one stored in the session."""

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
    """Computation whose finished searches are stored and reused when the same question is asked again."""

    def __init__(self, computations: Computations, background: Background) -> None:
        super().__init__(
            computations,
            "Cross-validation",
            crossvalidate,
            lost="the cross-validation's process ended unexpectedly; start it again to continue",
            keeps=True,
            stop_tip="Pause; finished searches are kept, and Continue runs the rest",
            missed="a cross-validation; finished searches are kept; start it again to continue",
        )
        self._background = background
        self._results: Path | None = None
        """Results folder of the open session."""
        self.kept: CrossValidated | None = None
        """Newest stored result of the open session, or None."""
        self.planned = Planned(variants=(), folds=())
        """Searches planned by the last one."""
        self.errors: dict[tuple[str, str], float] = {}
        """Error of each finished search by variant and held-out condition [rad]."""

    @property
    def total(self) -> int:
        """Number of planned searches."""
        return len(self.planned.variants) * len(self.planned.folds)

    @property
    def paused(self) -> bool:
        """True if the last one was stopped and can be continued."""
        return self.stopped and not self.active and len(self.errors) < self.total

    @property
    def outcome(self) -> str:
        """Progress at which it was stopped, or "done"."""
        return f"paused at {len(self.errors)} of {self.total}" if self.paused else "done"

    def start(self, job: CrossValidateJob) -> None:
        """Start, or continue with the stored searches."""
        self.planned, self.errors = Planned(variants=(), folds=()), {}
        super().start(job)

    def take(self, message: Share | Planned) -> None:
        """Store a plan or the error of a finished search."""
        if isinstance(message, Planned):
            self.planned = message
            self.changed.emit()
            return
        if isinstance(message, Judged):
            self.errors[message.cell.variant, message.cell.fold] = message.cell.error
            self.changed.emit()
        super().take(replace(message, text=f"{len(self.errors)} of {self.total} searches, {message.text}"))

    def look_for_earlier(self, results: Path | None) -> None:
        """Show the newest result stored in the session's results folder, or None."""
        self._results = results
        self.kept, self.problem, self.stopped = None, "", False
        self.changed.emit()
        if results is not None:
            self._ask(results, newest_crossvalidation, results)

    def end(self, result: Path) -> None:
        """Read the result."""
        if self.job is not None:
            self._ask(self.job.results, read_crossvalidation, result)
        super().end(result)

    def _ask(self, results: Path, read: Callable[[Path], CrossValidated | None], place: Path) -> None:
        def take(result: CrossValidated | None) -> None:
            if results == self._results:
                self.kept = result
                self.changed.emit()

        self._background.submit("session", read, place, done=take, failed=self.fail)
