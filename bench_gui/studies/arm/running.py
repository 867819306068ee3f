"""Background computation of a comparison on an arm, which yields its cases one by one."""

from __future__ import annotations

from bench_gui.studies.arm.compute import ArmJob, ArmProgress, ArmView, validate
from bench_gui.work.computation import Computation, Computations


class ArmComparison(Computation[ArmJob, ArmProgress, int]):
    """Comparison on an arm; a stop keeps the finished cases."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(
            computations,
            "Comparison on an arm",
            validate,
            stop_tip="Stop the comparison; finished cases are kept",
            lost="the process of the comparison ended unexpectedly; run it again",
            missed="a comparison on an arm; export its table and plots first to keep them",
        )
        self.views: list[ArmView] = []

    def start(self, job: ArmJob) -> None:
        """Discard the previous cases and start a comparison."""
        self.views = []
        super().start(job)

    def take(self, message: ArmProgress) -> None:
        """Store a finished case."""
        if message.view is not None:
            self.views.append(message.view)
        super().take(message)
