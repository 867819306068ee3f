"""A learning in the background: its iterations as they come."""

from __future__ import annotations

from bench_gui.studies.learning.compute import LearningJob, learn_by_iterations
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from core.studies.compliant.learning import Iteration, warning_of


class Learning(Computation[LearningJob, Iteration, None]):
    """Iterations that are complete stay when it is stopped."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(
            computations,
            "Learning",
            learn_by_iterations,
            stop_tip="End it; iterations that are complete stay",
            lost="the process that learns ended unexpectedly; learn again",
        )
        self.iterations: list[Iteration] = []

    @property
    def warning(self) -> str:
        """Problem of a learning that has ended, with its remedy; empty for none."""
        if self.job is None or not self.iterations or self.active or self.stopped:
            return ""
        return warning_of([float(each.worst.max()) for each in self.iterations], self.job.law)

    def start(self, job: LearningJob) -> None:
        """Forget the results."""
        self.iterations = []
        super().start(job)

    def take(self, message: Iteration) -> None:
        """Keep another iteration."""
        self.iterations.append(message)
        super().take(message)
        done, total = len(self.iterations), self.job.law.iterations if self.job else 1
        self._activities.tell(self.activity, Share(done / total, f"iteration {done} of {total}"))
