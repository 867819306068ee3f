"""Profiles and bootstrap as a background computation, and the stored result of the shown identification."""

from __future__ import annotations

from pathlib import Path

from bench_gui.identify.certainty.compute import CertaintyJob, certify
from bench_gui.identify.fit.messages import FitResult, FittedModel
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from core.identification.evidence.certainty import Certainty
from core.servo.model import ServoModel
from sessions.results.certifying import read_certainty
from sessions.results.folder import CERTAINTY


class Certifying(Computation[CertaintyJob, Share, Path]):
    """Computation about the recommended model; complete profiles and draws are kept when it is stopped."""

    def __init__(self, computations: Computations, background: Background) -> None:
        super().__init__(
            computations,
            "Profiles and bootstrap",
            certify,
            lost="the process of the profiles and the bootstrap ended unexpectedly; start them again",
            keeps=True,
            stop_tip="Stop them; complete profiles and draws are kept",
            missed="profiles and a bootstrap; stop them first to keep what is complete",
        )
        self._background = background
        self._in_sight: FitResult | None = None
        self.kept: Certainty | None = None
        """Stored result of the shown identification, or None."""

    @property
    def recommended(self) -> FittedModel | None:
        """Model to profile and bootstrap; None if no identification is shown."""
        shown = self._in_sight
        return None if shown is None else next(m for m in shown.models if m.model.friction == shown.recommended)

    def look_at(self, shown: FitResult | None) -> None:
        """Load the stored result of the shown identification, or None."""
        if shown is not self._in_sight:
            self._in_sight = shown
            self.kept, self.problem = None, ""
            self._read()
            self.changed.emit()

    def _read(self) -> None:
        shown, best = self._in_sight, self.recommended
        if shown is None or shown.folder is None or best is None:
            return

        def take(result: Certainty | None) -> None:
            if shown is self._in_sight:
                self.kept = result
                self.changed.emit()

        def fail(message: str) -> None:
            if shown is self._in_sight:
                self.kept = None
                self.fail(f"{message}; profile and bootstrap again")

        self._background.submit("session", _kept, shown.folder, best.model, done=take, failed=fail)

    def end(self, result: Path) -> None:
        """Load the result if it belongs to the shown identification."""
        if self._in_sight is not None and self._in_sight.folder == result:
            self._read()
        super().end(result)


def _kept(folder: Path, model: ServoModel) -> Certainty | None:
    """Load a model's result from a folder; None if there is none."""
    return read_certainty(folder, model) if (folder / CERTAINTY).is_file() else None
