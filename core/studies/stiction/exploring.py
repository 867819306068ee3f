"""Experiments with one joint to explore: elastoplastic friction, and other friction.

Results contain only plain data, so that unpickling them does not load the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from core.base.arrays import Array
from core.base.words import counted
from core.contact.laws import FrictionLaw

if TYPE_CHECKING:
    from core.studies.stiction.experiments import StepResponse
    from core.studies.stiction.joint import JointMotion

STEP, INTEGRAL, HOLD, PULL = "step", "integral", "hold", "pull"
EXPERIMENTS = {
    STEP: "Step to 90°",
    INTEGRAL: "Step with integral term",
    HOLD: "Held under a torque",
    PULL: "Pulled by a spring",
}
HOLD_DURATION, PULL_DURATION = 1.0, 12.0
"""Durations of these experiments [s]."""
HELD_SHARE = 0.36
"""Torque on the held joint, as a share of F_S: 0.9 of 2.5 N·m."""
MOST_POINTS = 12_000
"""Most points of a motion; longer ones are thinned out."""
TORQUE, VELOCITY = "torque", "velocity"


@dataclass(frozen=True, kw_only=True)
class StictionJob:
    """Joint, friction and experiment to simulate."""

    law: FrictionLaw
    stiffness: float
    """Bristle stiffness K [N·m/rad]."""
    damping: float
    """Bristle damping B [N·m·s/rad]."""
    step: float
    """Time step T [s]."""
    inertia: float
    """Inertia M of the joint [kg·m²]."""
    experiment: str
    """Key of `EXPERIMENTS`."""

    @property
    def title(self) -> str:
        """One-line title for plots."""
        numbers = " ".join(f"{field.name} {getattr(self.law, field.name):g}" for field in fields(self.law))
        return f"{EXPERIMENTS[self.experiment]}, {self.law.title} {numbers}"


@dataclass(frozen=True, kw_only=True, eq=False)
class StictionTrace:
    """Motion of the joint with one kind of friction; arrays (n,)."""

    name: str
    """Name of the friction in `core.studies.stiction.joint`."""
    time: Array
    """Time [s]."""
    position: Array
    """Joint angle [rad]."""
    below: Array
    """Drive torque [N·m] or velocity [rad/s], see `StictionView.below`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StictionView:
    """Result of an experiment."""

    job: StictionJob
    below: str
    """Quantity of the second chart: TORQUE or VELOCITY."""
    goal: Array | None
    """Goal of the drive, or the pulled end of the spring: (2,) rad, at the first and last sample."""
    traces: tuple[StictionTrace, ...]
    text: str
    """Result in one line."""


def experiment(job: StictionJob, _line: object = None) -> StictionView:
    """Run an experiment, in a process of the window or not.

    Raises:
        ModelError: The constants contradict each other.
    """
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
        return f"Still moving at {angle}: it approaches the goal slowly, without stiction to stop it."
    return f"Rests at {angle} after {found.stop_time:.2f} s; stiction holds {found.held_torque:.2f} N·m."


def _sawtooth_text(found: StepResponse) -> str:
    torques = found.breakaway_torques
    if len(torques) < 2:
        return f"Reaches {np.degrees(found.rest):.1f}° without repeated slips."
    return (
        f"Slips {counted(len(torques), 'time')}, each time at a torque of "
        f"{min(torques):.2f} … {max(torques):.2f} N·m; static friction is {found.law.static:g} N·m."
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
            f"{torque:.2g} N·m: sign() reverses {naive.reversals:.0f} times a second and drifts by "
            f"{1e3 * naive.drift:.1f} mrad/s; elastoplastic friction: {ours.reversals:.0f} and "
            f"{1e3 * abs(ours.drift):.1g}."
        ),
    )


def _pull(job: StictionJob) -> StictionView:
    from core.studies.stiction.experiments import PULL_SPEED, alternatives, pulled

    runs = [
        pulled(friction, duration=PULL_DURATION, inertia=job.inertia, step=job.step)
        for friction in alternatives(job.law, job.stiffness, job.damping)[:2]
    ]
    ours, naive = runs[0][0], runs[1][0]
    slips = "no slip" if np.isnan(ours.frequency) else f"{ours.frequency:.2f} slips a second"
    return StictionView(
        job=job,
        below=VELOCITY,
        goal=np.array([0.0, PULL_SPEED * PULL_DURATION]),
        traces=tuple(_trace(found.friction.name, motion, motion.velocity) for found, motion in runs),
        text=(
            f"Elastoplastic: {slips}, {ours.reversals:.1f} velocity reversals a second; "
            f"sign(): {naive.reversals:.0f} reversals a second."
        ),
    )


def _trace(name: str, motion: JointMotion, below: Array) -> StictionTrace:
    every = slice(None, None, -(-len(motion.time) // MOST_POINTS))
    return StictionTrace(name=name, time=motion.time[every], position=motion.position[every], below=below[every])
