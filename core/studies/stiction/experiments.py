"""Experiments with stiction: the joint of seed 001's section V, and what other friction does in its place.

Constants are the seed's (`core.studies.stiction.published`), gains (20, 2) without and (50, 14) with the integral term,
λ = 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.contact.laws import FrictionLaw, Stribeck
from core.errors import ModelError
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
"""[rad]"""
PLAIN = JointDrive(kp=20.0, kv=2.0, goal=GOAL)
INTEGRAL = JointDrive(kp=50.0, kv=14.0, goal=GOAL, integral=1.0)
PLAIN_DURATION, INTEGRAL_DURATION = 6.0, 60.0
"""[s]"""
RESTING_SPEED = 1e-3
"""Below it the joint counts as resting [rad/s]."""
SLIP = 0.01
"""A motion counts as a slip from this distance on, which the bristle alone does not reach [rad]."""
PULL = 0.9
"""Below F_S, for holding and chattering: the torque that the seed's joint held in its experiment [N·m]."""
SPRING, PULL_SPEED = 20.0, 0.1
"""Of the pulled joint [N·m/rad, rad/s]."""
PULLED = Stribeck(static=2.5, coulomb=0.4, breakaway_speed=0.06, viscous=0.5)
"""Of the pulled joint: Fig. 3 with less viscous friction, in which it would barely slip."""
STEPS = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3)
"""Of the pulled joint's comparison [s]."""
SETTLING, HOUR = 10.0, 3600.0
"""[s]"""


@dataclass(frozen=True, kw_only=True, eq=False)
class StepResponse:
    """The joint's step to 90° and what is read off it."""

    law: FrictionLaw
    drive: JointDrive
    motion: JointMotion

    @property
    def rest(self) -> float:
        """Last position [rad]."""
        return float(self.motion.position[-1])

    @property
    def stop_time(self) -> float | None:
        """When it came to rest for good [s]; None where it still moves or creeps, with more torque than F_S."""
        moving = np.flatnonzero(np.abs(self.motion.velocity) > RESTING_SPEED)
        last = int(moving[-1]) if len(moving) else 0
        creeps = abs(self.held_torque) > self.law.static
        return None if creeps or last >= len(self.motion.time) - 2 else float(self.motion.time[last])

    @property
    def held_torque(self) -> float:
        """The drive's last torque [N·m]; below F_S where stiction holds the joint."""
        return float(self.motion.torque[-1])

    @property
    def slips(self) -> tuple[int, ...]:
        """Samples at which the joint breaks away from rest, the first step from rest left out."""
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
        """Magnitudes of the drive's torque where the joint breaks away [N·m]: the tips of the sawtooth."""
        return tuple(float(abs(self.motion.torque[k])) for k in self.slips)


@dataclass(frozen=True, kw_only=True)
class Holding:
    """What a constant torque below F_S does to a joint at rest."""

    friction: JointFriction
    reversals: float
    """Changes of the velocity's sign per second."""
    drift: float
    """Mean velocity [rad/s]"""
    ripple: float
    """Largest speed [rad/s]"""


@dataclass(frozen=True, kw_only=True)
class StickSlip:
    """A joint pulled by a spring, at one step."""

    friction: JointFriction
    step: float
    """[s]"""
    frequency: float
    """Of slips [1/s]; NaN where there were fewer than three."""
    reversals: float
    """Changes of the velocity's sign per second; a slip has two at most."""


def elastoplastic(law: FrictionLaw, stiffness: float = STIFFNESS, damping: float = DAMPING) -> Elastoplastic:
    """A law on the seed's bristle."""
    return Elastoplastic(law=law, stiffness=stiffness, damping=damping)


def alternatives(
    law: FrictionLaw, stiffness: float = STIFFNESS, damping: float = DAMPING
) -> tuple[Elastoplastic, NaiveSign, SmoothSign, Karnopp]:
    """Elastoplastic friction and what people use instead, with thresholds of a sixth of the seed's v_S."""
    return (
        elastoplastic(law, stiffness, damping),
        NaiveSign(law=law),
        SmoothSign(law=law, width=0.01),
        Karnopp(law=law, threshold=0.01),
    )


def step_response(
    friction: JointFriction, drive: JointDrive, duration: float, *, inertia: float = INERTIA, step: float = STEP
) -> StepResponse:
    """Section V-B: the joint from 0 towards its goal. Raises ModelError as `simulate_joint`."""
    motion = simulate_joint(friction, drive, inertia=inertia, duration=duration, step=step)
    return StepResponse(law=friction.law, drive=drive, motion=motion)


def holding(
    friction: JointFriction, torque: float, *, duration: float = 10.0, inertia: float = INERTIA, step: float = STEP
) -> tuple[Holding, JointMotion]:
    """A torque [N·m] that begins at once; measured over the second half. Raises ModelError as `simulate_joint`."""
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
    """Displacement [rad] under a torque below F_S, and how much it changes in a duration [s], after SETTLING seconds.

    Raises ModelError for a torque of F_S or more, which nothing holds, and as `simulate_joint`.
    """
    if abs(torque) >= friction.law.static:
        raise ModelError(f"{torque:g} N·m is not held by F_S = {friction.law.static:g} N·m: ask for a smaller torque")
    drive = JointDrive(torque=torque)
    low, high = excursion(friction, drive, inertia=inertia, settling=SETTLING, duration=duration, step=step)
    return 0.5 * (low + high), high - low


def pulled(
    friction: JointFriction, *, step: float, duration: float = 60.0, inertia: float = INERTIA
) -> tuple[StickSlip, JointMotion]:
    """A joint on a spring of SPRING N·m/rad whose other end moves at PULL_SPEED: it sticks and slips.

    A slip begins where the joint overtakes the spring's end; the first quarter of the time is left out. K and B are
    those of the seed at every step: B alone is more than (F_S − F_C)/v_S − D, so that (14) holds however small T is,
    and K·T² + 2·B·T < 4·M up to 2 ms. Raises ModelError as `simulate_joint`.
    """
    drive = JointDrive(kp=SPRING / inertia, goal_velocity=PULL_SPEED)
    motion = simulate_joint(friction, drive, inertia=inertia, duration=duration, step=step)
    late = motion.velocity[len(motion.velocity) // 4 :]
    faster = late > PULL_SPEED
    slips = np.flatnonzero(faster[1:] & ~faster[:-1])
    frequency = (len(slips) - 1) / (float(slips[-1] - slips[0]) * step) if len(slips) > 2 else math.nan
    reversals = _reversals(late) / (len(late) * step)
    return StickSlip(friction=friction, step=step, frequency=frequency, reversals=reversals), motion


def stick_slip(frictions: Sequence[JointFriction], steps: Sequence[float] = STEPS) -> list[StickSlip]:
    """`pulled` with each friction at each step [s]."""
    return [pulled(friction, step=step)[0] for friction in frictions for step in steps]


def spread(found: Sequence[StickSlip]) -> float:
    """Largest difference of the frequencies over their mean."""
    frequencies = [each.frequency for each in found]
    return (max(frequencies) - min(frequencies)) / float(np.mean(frequencies))


def _reversals(velocity: np.ndarray) -> int:
    """Changes of sign; sinking to 0 and going on is none."""
    signs = np.sign(velocity)
    signs = signs[signs != 0.0]
    return int(np.count_nonzero(signs[1:] != signs[:-1]))
