"""Computation of the learning tab: an arm learns to follow a reference, iteration by iteration.

Neither job nor answers hold anything whose unpickling would load the compiler into the window's process.
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
    """Motion to learn, and the arm that learns it."""

    arm: CompliantArm
    reference: Reference
    law: LearningLaw
    title: str
    """In one line, for exported plots"""


def learn_by_iterations(job: LearningJob, line: Line) -> None:
    """Learn, telling each `core.studies.compliant.learning.Iteration` as soon as it is known."""
    learn(job.arm, job.reference, job.law, line.tell)
