"""Profiles and a bootstrap in the background, and those that lie beside the identification in sight."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from bench_gui.identify.computing import CertaintyJob, Share, certify
from bench_gui.identify.messages import FitResult, FittedModel
from bench_gui.work.background import Background
from bench_gui.work.worker import Worker, Workers
from core.identification.evidence.certainty import Certainty
from core.model import ServoModel
from sessions.results.certifying import read_certainty
from sessions.results.folder import CERTAINTY


class Certifying(QObject):
    """One at a time, about the recommended model."""

    changed = Signal()
    """It began, is being stopped, ended, or another certainty is known."""
    progressed = Signal(object)
    """Share"""

    def __init__(self, workers: Workers, background: Background) -> None:
        super().__init__()
        self._background = background
        self._worker = workers.add(
            Worker(
                "certainty",
                certify,
                told=self._tell,
                ended=self._end,
                failed=self._fail,
                lost="the process of the profiles and the bootstrap ended unexpectedly; start them again",
                keeps=True,
                missed="profiles and a bootstrap; stop them first to keep what is complete",
            )
        )
        self._in_sight: FitResult | None = None
        self.latest: Share | None = None
        self.result: Certainty | None = None
        self.problem = ""

    @property
    def active(self) -> bool:
        """Whether one is running."""
        return self._worker.active

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end early."""
        return self._worker.stopping

    @property
    def recommended(self) -> FittedModel | None:
        """The model it would be about; None without an identification in sight."""
        shown = self._in_sight
        return None if shown is None else next(m for m in shown.models if m.model.friction == shown.recommended)

    def start(self, job: CertaintyJob) -> None:
        """Begin."""
        self.latest, self.problem = None, ""
        self._worker.start(job)
        self.changed.emit()

    def stop(self) -> None:
        """End it at the next point or draw; complete profiles and draws are kept."""
        if self._worker.stop():
            self.changed.emit()

    def look_at(self, shown: FitResult | None) -> None:
        """Know what is kept beside this identification; None: there is none in sight."""
        if shown is not self._in_sight:
            self._in_sight = shown
            self.result, self.problem = None, ""
            self._read()
            self.changed.emit()

    def _read(self) -> None:
        shown, best = self._in_sight, self.recommended
        if shown is None or shown.folder is None or best is None:
            return

        def take(result: Certainty | None) -> None:
            if shown is self._in_sight:
                self.result = result
                self.changed.emit()

        def fail(message: str) -> None:
            if shown is self._in_sight:
                self.result = None
                self._fail(f"{message}; profile and bootstrap again")

        self._background.submit("session", _kept, shown.folder, best.model, done=take, failed=fail)

    def _tell(self, share: Share) -> None:
        self.latest = share
        self.progressed.emit(share)

    def _end(self, folder: Path) -> None:
        if self._in_sight is not None and self._in_sight.folder == folder:
            self._read()
        self.changed.emit()

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()


def _kept(folder: Path, model: ServoModel) -> Certainty | None:
    """What a folder keeps about a model; None where nothing was ever written."""
    return read_certainty(folder, model) if (folder / CERTAINTY).is_file() else None
