"""A comparison on an arm in the background: one at a time, its cases as they come."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from bench_gui.studies.arm.work import ArmJob, ArmProgress, ArmView, validate
from bench_gui.work.worker import Worker, Workers


class ArmValidating(QObject):
    """Owns what was found; a stop ends the process at once and keeps the cases that are there."""

    changed = Signal()
    """It began or ended."""
    progressed = Signal()
    """It is farther, and there may be another case."""

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._worker = workers.add(
            Worker(
                "arm",
                validate,
                told=self._tell,
                ended=lambda _: self.changed.emit(),
                failed=self._fail,
                lost="the arm's process ended unexpectedly; run it again",
                missed="a comparison on an arm; export its table and plots first to keep them",
            )
        )
        self.job: ArmJob | None = None
        """What `views` are of."""
        self.views: list[ArmView] = []
        self.latest: ArmProgress | None = None
        self.stopped = False
        self.problem = ""

    @property
    def active(self) -> bool:
        """Whether one is running."""
        return self._worker.active

    def start(self, job: ArmJob) -> None:
        """Begin anew."""
        self.job, self.views, self.latest, self.problem, self.stopped = job, [], None, "", False
        self._worker.start(job)
        self.changed.emit()

    def stop(self) -> None:
        """End it now."""
        self._worker.tick()
        if self._worker.active:
            self._worker.drop()
            self.stopped = True
            self.changed.emit()

    def _tell(self, progress: ArmProgress) -> None:
        self.latest = progress
        if progress.view is not None:
            self.views.append(progress.view)
        self.progressed.emit()

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()
