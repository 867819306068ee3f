"""Computation of the learning tab: an arm learns to follow a reference, iteration by iteration.

Jobs and results contain only plain data, so that unpickling them does not load the compiler into the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.studies.compliant.arm import CompliantArm
from core.studies.compliant.learning import LearningLaw, Reference, learn

if TYPE_CHECKING:
    from bench_gui.work.process import Line


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningJob:
    """Arm, reference and law of a learning."""

    arm: CompliantArm
    reference: Reference
    law: LearningLaw
    title: str
    """One-line title for exported plots."""


def learn_by_iterations(job: LearningJob, line: Line) -> None:
    """Learn, and report each `core.studies.compliant.learning.Iteration` as soon as it is finished."""
    learn(job.arm, job.reference, job.law, line.tell)
