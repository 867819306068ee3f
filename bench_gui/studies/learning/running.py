"""A learning in the background: one at a time, its iterations as they come."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from bench_gui.studies.learning.work import LearningJob, learn_by_iterations
from bench_gui.work.worker import Worker, Workers
from core.studies.compliant.learning import Iteration, warning_of


class LearningRunning(QObject):
    """Owns what was learned; a stop ends the process at once and keeps the iterations that are there."""

    changed = Signal()
    """It began, ended, or there is another iteration."""

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._worker = workers.add(
            Worker(
                "learning",
                learn_by_iterations,
                told=self._tell,
                ended=lambda _: self.changed.emit(),
                failed=self._fail,
                lost="the process that learns ended unexpectedly; learn again",
            )
        )
        self.job: LearningJob | None = None
        """What `iterations` are of."""
        self.iterations: list[Iteration] = []
        self.stopped = False
        self.problem = ""

    @property
    def active(self) -> bool:
        """Whether it is learning."""
        return self._worker.active

    @property
    def warning(self) -> str:
        """What a learning that has ended by itself lacks, with the remedy; empty for nothing."""
        if self.job is None or not self.iterations or self.active or self.stopped:
            return ""
        return warning_of([float(each.worst.max()) for each in self.iterations], self.job.law)

    def start(self, job: LearningJob) -> None:
        """Begin anew."""
        self.job, self.iterations, self.problem, self.stopped = job, [], "", False
        self._worker.start(job)
        self.changed.emit()

    def stop(self) -> None:
        """End it now."""
        self._worker.tick()
        if self._worker.active:
            self._worker.drop()
            self.stopped = True
            self.changed.emit()

    def _tell(self, iteration: Iteration) -> None:
        self.iterations.append(iteration)
        self.changed.emit()

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()
