"""Experiments with stiction: the joint of Cisneros et al., section V, and other friction laws in its place.

Constants are those of the paper (`core.studies.stiction.published`). Gains are (20, 2) without and (50, 14) with the
integral term, λ = 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.errors import ModelError
from core.contact.laws import FrictionLaw, Stribeck
from core.studies.stiction.joint import (
    Elastoplastic,
    JointDrive,
    JointFriction,
    JointMotion,
    Karnopp,
    NaiveSign,
    SmoothSign,
    excursion,
    simulate_joint,
)
from core.studies.stiction.published import DAMPING, INERTIA, STEP, STIFFNESS

GOAL = math.pi / 2.0
"""Goal of the step [rad]."""
PLAIN = JointDrive(kp=20.0, kv=2.0, goal=GOAL)
INTEGRAL = JointDrive(kp=50.0, kv=14.0, goal=GOAL, integral=1.0)
PLAIN_DURATION, INTEGRAL_DURATION = 6.0, 60.0
"""Durations without and with the integral term [s]."""
RESTING_SPEED = 1e-3
"""Speed below which the joint counts as resting [rad/s]."""
SLIP = 0.01
"""Smallest distance of a slip, more than the bristle's deflection [rad]."""
PULL = 0.9
"""Torque below F_S for the holding experiment, as in the paper [N·m]."""
SPRING, PULL_SPEED = 20.0, 0.1
"""Spring stiffness and speed of its end for the pulled joint [N·m/rad, rad/s]."""
PULLED = Stribeck(static=2.5, coulomb=0.4, breakaway_speed=0.06, viscous=0.5)
"""Law of the pulled joint: Fig. 3 with less viscous friction, with which it would barely slip."""
STEPS = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3)
"""Time steps for the comparison of the pulled joint [s]."""
SETTLING, HOUR = 10.0, 3600.0
"""Settling time and duration of the holding experiment [s]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StepResponse:
    """Step response of the joint to 90°, and the quantities read from it."""

    law: FrictionLaw
    drive: JointDrive
    motion: JointMotion

    @property
    def rest(self) -> float:
        """Final position [rad]."""
        return float(self.motion.position[-1])

    @property
    def stop_time(self) -> float | None:
        """Time at which the joint stops for good [s]; None if it still moves, or creeps at more torque than F_S."""
        moving = np.flatnonzero(np.abs(self.motion.velocity) > RESTING_SPEED)
        last = int(moving[-1]) if len(moving) else 0
        creeps = abs(self.held_torque) > self.law.static
        return None if creeps or last >= len(self.motion.time) - 2 else float(self.motion.time[last])

    @property
    def held_torque(self) -> float:
        """Final torque of the drive [N·m]; below F_S if stiction holds the joint."""
        return float(self.motion.torque[-1])

    @property
    def slips(self) -> tuple[int, ...]:
        """Indices of the samples at which the joint breaks away from rest, without the first start."""
        moving = np.abs(self.motion.velocity) > RESTING_SPEED
        begins = np.flatnonzero(moving[1:] & ~moving[:-1]) + 1
        ends = np.flatnonzero(~moving[1:] & moving[:-1]) + 1
        found: list[int] = []
        for begin in begins[begins > 1]:
            end = ends[ends > begin]
            last = int(end[0]) if len(end) else len(moving) - 1
            if abs(self.motion.position[last] - self.motion.position[begin]) > SLIP:
                found.append(int(begin))
        return tuple(found)

    @property
    def breakaway_torques(self) -> tuple[float, ...]:
        """Magnitudes of the drive's torque at breakaway [N·m]: the peaks of the sawtooth."""
        return tuple(float(abs(self.motion.torque[k])) for k in self.slips)


@dataclass(frozen=True, kw_only=True)
class Holding:
    """Response of a joint at rest to a constant torque below F_S."""

    friction: JointFriction
    reversals: float
    """Sign changes of the velocity per second."""
    drift: float
    """Mean velocity [rad/s]."""
    ripple: float
    """Largest speed [rad/s]."""


@dataclass(frozen=True, kw_only=True)
class StickSlip:
    """Stick-slip of a joint pulled by a spring, at one time step."""

    friction: JointFriction
    step: float
    """Time step [s]."""
    frequency: float
    """Frequency of slips [1/s]; NaN for fewer than three slips."""
    reversals: float
    """Sign changes of the velocity per second; a slip has at most two."""


def elastoplastic(law: FrictionLaw, stiffness: float = STIFFNESS, damping: float = DAMPING) -> Elastoplastic:
    """Return elastoplastic friction with the paper's bristle."""
    return Elastoplastic(law=law, stiffness=stiffness, damping=damping)


def alternatives(
    law: FrictionLaw, stiffness: float = STIFFNESS, damping: float = DAMPING
) -> tuple[Elastoplastic, NaiveSign, SmoothSign, Karnopp]:
    """Return elastoplastic friction and its usual alternatives, with thresholds of a sixth of the paper's v_S."""
    return (
        elastoplastic(law, stiffness, damping),
        NaiveSign(law=law),
        SmoothSign(law=law, width=0.01),
        Karnopp(law=law, threshold=0.01),
    )


def step_response(
    friction: JointFriction, drive: JointDrive, duration: float, *, inertia: float = INERTIA, step: float = STEP
) -> StepResponse:
    """Simulate section V-B: the joint moves from 0 towards its goal. Raises ModelError as `simulate_joint`."""
    motion = simulate_joint(friction, drive, inertia=inertia, duration=duration, step=step)
    return StepResponse(law=friction.law, drive=drive, motion=motion)


def holding(
    friction: JointFriction, torque: float, *, duration: float = 10.0, inertia: float = INERTIA, step: float = STEP
) -> tuple[Holding, JointMotion]:
    """Apply a constant torque [N·m]; measure over the second half. Raises ModelError as `simulate_joint`."""
    motion = simulate_joint(friction, JointDrive(torque=torque), inertia=inertia, duration=duration, step=step)
    half = len(motion.time) // 2
    velocity, position = motion.velocity[half:], motion.position[half:]
    lasted = (len(velocity) - 1) * step
    found = Holding(
        friction=friction,
        reversals=_reversals(velocity) / lasted,
        drift=float(position[-1] - position[0]) / lasted,
        ripple=float(np.abs(velocity).max()),
    )
    return found, motion


def hold_for(
    friction: Elastoplastic, torque: float, duration: float = HOUR, *, inertia: float = INERTIA, step: float = STEP
) -> tuple[float, float]:
    """Hold a joint with a torque below F_S for a duration [s], after SETTLING seconds.

    Returns:
        Displacement and its change over the duration [rad].

    Raises:
        ModelError: The torque is F_S or more, which friction does not hold, or as `simulate_joint`.
    """
    if not abs(torque) < friction.law.static:
        raise ModelError(f"{torque:g} N·m is not held by F_S = {friction.law.static:g} N·m: use a smaller torque")
    drive = JointDrive(torque=torque)
    low, high = excursion(friction, drive, inertia=inertia, settling=SETTLING, duration=duration, step=step)
    return 0.5 * (low + high), high - low


def pulled(
    friction: JointFriction, *, step: float, duration: float = 60.0, inertia: float = INERTIA
) -> tuple[StickSlip, JointMotion]:
    """Pull a joint by a spring of SPRING N·m/rad whose other end moves at PULL_SPEED: it sticks and slips.

    A slip begins when the joint overtakes the spring's end. The first quarter of the time is ignored. K and B are those
    of the paper at every time step. B alone exceeds (F_S − F_C)/v_S − D, so (14) holds for any T, and
    K·T² + 2·B·T < 4·M holds up to 2 ms. Raises ModelError as `simulate_joint`.
    """
    drive = JointDrive(kp=SPRING / inertia, goal_velocity=PULL_SPEED)
    motion = simulate_joint(friction, drive, inertia=inertia, duration=duration, step=step)
    late = motion.velocity[len(motion.velocity) // 4 :]
    faster = late > PULL_SPEED
    slips = np.flatnonzero(faster[1:] & ~faster[:-1])
    frequency = (len(slips) - 1) / (float(slips[-1] - slips[0]) * step) if len(slips) > 2 else math.nan
    reversals = _reversals(late) / (len(late) * step)
    return StickSlip(friction=friction, step=step, frequency=frequency, reversals=reversals), motion


def spread(found: Sequence[StickSlip]) -> float:
    """Return the largest difference of the frequencies divided by their mean."""
    frequencies = [each.frequency for each in found]
    return (max(frequencies) - min(frequencies)) / float(np.mean(frequencies))


def _reversals(velocity: np.ndarray) -> int:
    """Count sign changes; reaching 0 and continuing in the same direction is none."""
    signs = np.sign(velocity)
    signs = signs[signs != 0.0]
    return int(np.count_nonzero(signs[1:] != signs[:-1]))
