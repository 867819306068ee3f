"""The fit of a Webots Servo in the background: one at a time."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from bench_gui.studies.webots.work import LossJob, LossProgress, LossView, find_loss
from bench_gui.work.worker import Worker, Workers


class WebotsFitting(QObject):
    """Owns what was found; a stop ends the process at once."""

    changed = Signal()
    """It began or ended."""
    progressed = Signal()

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._worker = workers.add(
            Worker(
                "webots",
                find_loss,
                told=self._tell,
                ended=self._end,
                failed=self._fail,
                lost="the process of the Webots fit ended unexpectedly; run it again",
                missed="the fit of a Webots Servo",
            )
        )
        self.job: LossJob | None = None
        """What `view` is of, or will be."""
        self.view: LossView | None = None
        self.latest: LossProgress | None = None
        self.problem = ""

    @property
    def active(self) -> bool:
        """Whether one is running."""
        return self._worker.active

    def start(self, job: LossJob) -> None:
        """Begin anew."""
        self.job, self.view, self.latest, self.problem = job, None, None, ""
        self._worker.start(job)
        self.changed.emit()

    def stop(self) -> None:
        """End it now."""
        if self._worker.active:
            self._worker.drop()
            self.changed.emit()

    def _tell(self, progress: LossProgress) -> None:
        self.latest = progress
        self.progressed.emit()

    def _end(self, view: LossView) -> None:
        self.view = view
        self.changed.emit()

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()
