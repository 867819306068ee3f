"""Computation of the stiction tab: a joint with elastoplastic friction, and with other friction."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.contact.laws import FrictionLaw
from core.words import counted

if TYPE_CHECKING:
    from bench_gui.work.process import Line
    from core.studies.stiction.experiments import StepResponse
    from core.studies.stiction.joint import JointMotion

Array = NDArray[np.float64]

STEP, INTEGRAL, HOLD, PULL = "step", "integral", "hold", "pull"
EXPERIMENTS = {
    STEP: "Step to 90°",
    INTEGRAL: "Step with integral term",
    HOLD: "Held under a torque",
    PULL: "Pulled by a spring",
}
HOLD_DURATION, PULL_DURATION = 1.0, 12.0
"""[s]"""
HELD_SHARE = 0.36
"""Torque over F_S of a joint that is held: 0.9 of 2.5 N·m."""
MOST_POINTS = 12_000
"""Of a curve that is shown."""
TORQUE, VELOCITY = "torque", "velocity"


@dataclass(frozen=True, kw_only=True)
class StictionJob:
    """A joint and what is done to it."""

    law: FrictionLaw
    stiffness: float
    """K [N·m/rad]"""
    damping: float
    """B [N·m·s/rad]"""
    step: float
    """T [s]"""
    inertia: float
    """M [kg·m²]"""
    experiment: str
    """Of EXPERIMENTS."""

    @property
    def title(self) -> str:
        """In one line, for exported plots."""
        numbers = " ".join(f"{field.name} {getattr(self.law, field.name):g}" for field in fields(self.law))
        return f"{EXPERIMENTS[self.experiment]}, {self.law.title} {numbers}"


@dataclass(frozen=True, kw_only=True, eq=False)
class StictionTrace:
    """The joint with one kind of friction, all (n,)."""

    name: str
    """As `core.studies.stiction.joint` names the friction."""
    time: Array
    """[s]"""
    position: Array
    """[rad]"""
    below: Array
    """Torque of the drive [N·m] or velocity [rad/s]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StictionView:
    """Result of an experiment."""

    job: StictionJob
    below: str
    """TORQUE or VELOCITY."""
    goal: Array | None
    """Where the drive or the spring's end wants the joint, (2,) rad at the first and last time."""
    traces: tuple[StictionTrace, ...]
    text: str
    """In one line."""


def experiment(job: StictionJob, line: Line) -> StictionView:
    """Do what is asked; raises ModelError for constants that do not go together."""
    if job.experiment in (STEP, INTEGRAL):
        return _step(job)
    return _hold(job) if job.experiment == HOLD else _pull(job)


def _step(job: StictionJob) -> StictionView:
    from core.studies.stiction.experiments import (
        INTEGRAL as INTEGRAL_DRIVE,
    )
    from core.studies.stiction.experiments import (
        INTEGRAL_DURATION,
        PLAIN,
        PLAIN_DURATION,
        elastoplastic,
        step_response,
    )

    integral = job.experiment == INTEGRAL
    drive, duration = (INTEGRAL_DRIVE, INTEGRAL_DURATION) if integral else (PLAIN, PLAIN_DURATION)
    friction = elastoplastic(job.law, job.stiffness, job.damping)
    found = step_response(friction, drive, duration, inertia=job.inertia, step=job.step)
    return StictionView(
        job=job,
        below=TORQUE,
        goal=np.full(2, drive.goal),
        traces=(_trace(friction.name, found.motion, found.motion.torque),),
        text=_sawtooth_text(found) if integral else _rest_text(found),
    )


def _rest_text(found: StepResponse) -> str:
    angle = f"{np.degrees(found.rest):.1f}°"
    if found.stop_time is None:
        return f"Still moving at {angle}: nothing stops it, it approaches slowly."
    return f"Rests at {angle} after {found.stop_time:.2f} s; stiction holds {found.held_torque:.2f} N·m."


def _sawtooth_text(found: StepResponse) -> str:
    torques = found.breakaway_torques
    if len(torques) < 2:
        return f"Comes to {np.degrees(found.rest):.1f}° without slipping again and again."
    return (
        f"Slips {counted(len(torques), 'time')}, each time the torque has risen to "
        f"{min(torques):.2f} … {max(torques):.2f} N·m: static friction is {found.law.static:g} N·m."
    )


def _hold(job: StictionJob) -> StictionView:
    from core.studies.stiction.experiments import alternatives, holding

    torque = HELD_SHARE * job.law.static
    runs = [
        holding(friction, torque, duration=HOLD_DURATION, inertia=job.inertia, step=job.step)
        for friction in alternatives(job.law, job.stiffness, job.damping)
    ]
    ours, naive = runs[0][0], runs[1][0]
    return StictionView(
        job=job,
        below=VELOCITY,
        goal=None,
        traces=tuple(_trace(found.friction.name, motion, motion.velocity) for found, motion in runs),
        text=(
            f"{torque:.2g} N·m: sign() turns {naive.reversals:.0f} times a second and drifts {1e3 * naive.drift:.1f} "
            f"mrad/s; elastoplastic friction {ours.reversals:.0f} and {1e3 * abs(ours.drift):.1g}."
        ),
    )


def _pull(job: StictionJob) -> StictionView:
    from core.studies.stiction.experiments import PULL_SPEED, alternatives, pulled

    runs = [
        pulled(friction, duration=PULL_DURATION, inertia=job.inertia, step=job.step)
        for friction in alternatives(job.law, job.stiffness, job.damping)[:2]
    ]
    ours, naive = runs[0][0], runs[1][0]
    slips = "it does not slip" if np.isnan(ours.frequency) else f"{ours.frequency:.2f} slips a second"
    return StictionView(
        job=job,
        below=VELOCITY,
        goal=np.array([0.0, PULL_SPEED * PULL_DURATION]),
        traces=tuple(_trace(found.friction.name, motion, motion.velocity) for found, motion in runs),
        text=(
            f"Elastoplastic: {slips}, {ours.reversals:.1f} reversals of velocity a second; "
            f"sign(): {naive.reversals:.0f} reversals a second."
        ),
    )


def _trace(name: str, motion: JointMotion, below: Array) -> StictionTrace:
    every = slice(None, None, -(-len(motion.time) // MOST_POINTS))
    return StictionTrace(name=name, time=motion.time[every], position=motion.position[every], below=below[every])
