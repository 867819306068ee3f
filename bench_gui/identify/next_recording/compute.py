"""Proposals for the next recordings, computed in a process of their own.

Unpickling the results must not load the compiler or scipy into the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench_gui.identify.material import Material, judging
from bench_gui.work.process import Line, Share
from core.identification.next.proposal import NextRecordings
from core.practice.plan import GridPlan
from core.servo.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class ProposeJob:
    """Choose recordings from a plan."""

    material: Material
    servo: str
    model: ServoModel | None
    """None for the catalogue's model."""
    plan: GridPlan
    count: int
    objective: str


def propose(job: ProposeJob, line: Line) -> NextRecordings:
    """Return the recordings that would reduce the uncertainty most."""
    from core.identification.next.design import next_recordings

    material = job.material
    return next_recordings(
        judging(job.model, job.servo),
        material.load(),
        job.plan,
        count=job.count,
        objective=job.objective,
        dt=material.dt,
        supply=material.supply,
        threads=material.threads,
        on_run=lambda done: line.tell(Share(done, "simulating every recording of the plan")),
    )
