"""Which recordings would help most, found in a process of its own.

Answers hold nothing whose unpickling would load the compiler or scipy into the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_gui.headless.next_recordings import NextRecordings
from bench_gui.identify.material import Material, judging
from bench_gui.work.process import Share
from core.plan import GridPlan

if TYPE_CHECKING:
    from bench_gui.work.process import Line
    from core.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class ProposeJob:
    """Choose from a plan."""

    material: Material
    servo: str
    model: ServoModel | None
    """None for the catalogue's."""
    plan: GridPlan
    count: int
    objective: str


def propose(job: ProposeJob, line: Line) -> NextRecordings:
    """Which recordings would help most."""
    from bench_gui.headless.next_recordings import next_recordings

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
        on_run=lambda done: line.tell(Share(done, "simulating every recording the plan offers")),
    )
