"""A comparison on an arm in the background: its cases as they come."""

from __future__ import annotations

from bench_gui.studies.arm.compute import ArmJob, ArmProgress, ArmView, validate
from bench_gui.work.computation import Computation, Computations


class ArmComparison(Computation[ArmJob, ArmProgress, int]):
    """Cases that are complete stay when it is stopped."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(
            computations,
            "Comparison on an arm",
            validate,
            stop_tip="End it; cases that are complete stay",
            lost="the arm's process ended unexpectedly; run it again",
            missed="a comparison on an arm; export its table and plots first to keep them",
        )
        self.views: list[ArmView] = []

    def start(self, job: ArmJob) -> None:
        """Forget the results."""
        self.views = []
        super().start(job)

    def take(self, message: ArmProgress) -> None:
        """Keep another case."""
        if message.view is not None:
            self.views.append(message.view)
        super().take(message)
