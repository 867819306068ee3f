"""Background computation of a learning, which yields its iterations one by one."""

from __future__ import annotations

from bench_gui.studies.learning.compute import LearningJob, learn_by_iterations
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from core.studies.compliant.learning import Iteration, warning_of


class Learning(Computation[LearningJob, Iteration, None]):
    """Learning of a motion in a process of its own; a stop keeps the finished iterations."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(
            computations,
            "Learning",
            learn_by_iterations,
            stop_tip="Stop learning; finished iterations are kept",
            lost="the learning process ended unexpectedly; learn again",
        )
        self.iterations: list[Iteration] = []

    @property
    def warning(self) -> str:
        """Problem of a learning that was not stopped but has ended, with its remedy; empty if none."""
        if self.job is None or not self.iterations or self.active or self.stopped:
            return ""
        return warning_of([float(each.worst.max()) for each in self.iterations], self.job.law)

    def start(self, job: LearningJob) -> None:
        """Discard the previous iterations and start a learning."""
        self.iterations = []
        super().start(job)

    def take(self, message: Iteration) -> None:
        """Store a finished iteration and report the progress."""
        self.iterations.append(message)
        super().take(message)
        done, total = len(self.iterations), self.job.law.iterations if self.job else 1
        self._activities.tell(self.activity, Share(done / total, f"iteration {done} of {total}"))
