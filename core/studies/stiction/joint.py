"""A joint that turns an inertia against friction, used by every experiment with stiction.

It is driven by the torque of Cisneros et al., eqs (50), (51), towards a goal that may move at a constant velocity,
q̈_d = 0,

    q̈_r = k_p·(q_d − q) + k_v·(q̇_d − q̇),   τ = τ_0 + M·q̈_r + λ·M·(∫q̈_r dt − q̇),   |τ| ≤ τ_max,

which includes a spring of k_p·M pulled at a constant velocity (k_v = λ = 0) and a constant torque (k_p = 0). Torques
are held for a step, over which the motion is exact. Friction is elastoplastic or one of three common alternatives.
"""

# pyright: basic

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from core.base.arrays import Array
from core.base.errors import ModelError
from core.contact.bristle import Bristle, require_sound
from core.contact.implicit import elastoplastic_step, friction_function, kept
from core.contact.laws import FrictionLaw

_ELASTOPLASTIC, _SIGN, _TANH, _KARNOPP = range(4)
_UNUSED = (1.0, 1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Elastoplastic:
    """Friction of Cisneros et al.: sticking is a spring and a damper."""

    name: ClassVar[str] = "elastoplastic"

    law: FrictionLaw
    stiffness: float
    """K [N·m/rad]."""
    damping: float
    """B [N·m·s/rad]."""

    def bristle(self, step: float) -> Bristle:
        """Return the bristle for a time step [s]; raise ModelError for numbers that are not positive."""
        return Bristle(stiffness=self.stiffness, damping=self.damping, step=step)


@dataclass(frozen=True, kw_only=True)
class NaiveSign:
    """Φ at the current velocity, with sgn 0 = 0."""

    name: ClassVar[str] = "sign"

    law: FrictionLaw


@dataclass(frozen=True, kw_only=True)
class SmoothSign:
    """Φ with its sign replaced by tanh(v/width): no static friction remains."""

    name: ClassVar[str] = "tanh"

    law: FrictionLaw
    width: float
    """Width [rad/s]."""


@dataclass(frozen=True, kw_only=True)
class Karnopp:
    """Φ above a threshold; below, the joint stops unless more than F_S drives it (Cisneros et al., [15])."""

    name: ClassVar[str] = "Karnopp"

    law: FrictionLaw
    threshold: float
    """Threshold speed [rad/s]."""


JointFriction = Elastoplastic | NaiveSign | SmoothSign | Karnopp


@dataclass(frozen=True, kw_only=True)
class JointDrive:
    """Drive of the joint; see the module."""

    torque: float = 0.0
    """τ_0 [N·m]."""
    kp: float = 0.0
    """k_p [1/s²]."""
    kv: float = 0.0
    """k_v [1/s]."""
    integral: float = 0.0
    """λ [1/s]."""
    goal: float = 0.0
    """Initial q_d [rad]."""
    goal_velocity: float = 0.0
    """q̇_d [rad/s]."""
    limit: float = math.inf
    """τ_max [N·m]; above 0."""

    def __post_init__(self) -> None:
        if not self.limit > 0.0:
            raise ModelError(f"a torque limit of {self.limit:g} N·m is not possible: use a value above 0")


@dataclass(frozen=True, kw_only=True, eq=False)
class JointMotion:
    """Motion of the joint before each step; all arrays have shape (n,)."""

    time: Array
    """Time [s]."""
    position: Array
    """Position [rad]."""
    velocity: Array
    """Velocity [rad/s]."""
    torque: Array
    """Torque of the drive [N·m]."""
    integral_torque: Array
    """Part of the integral term (51) [N·m]."""
    friction: Array
    """Friction torque [N·m]."""
    step: float
    """Time step [s]."""


def simulate_joint(
    friction: JointFriction, drive: JointDrive, *, inertia: float, duration: float, step: float
) -> JointMotion:
    """Simulate the joint from rest at 0 for a duration [s], with inertia M [kg·m²] and a time step [s].

    Raises ModelError for friction that is not sound at this time step, and for an inertia too small for the bristle.
    """
    law, compiled = _compiled_friction(friction, inertia, step)
    out = np.empty((max(2, round(duration / step)), 5))
    _record(compiled, law, _compiled_drive(drive, inertia), inertia, step, out)
    position, velocity, torque, integral, found = np.ascontiguousarray(out.T)
    return JointMotion(
        time=np.arange(len(out), dtype=np.float64) * step,
        position=position,
        velocity=velocity,
        torque=torque,
        integral_torque=integral,
        friction=found,
        step=step,
    )


def excursion(
    friction: JointFriction, drive: JointDrive, *, inertia: float, settling: float, duration: float, step: float
) -> tuple[float, float]:
    """Return the smallest and largest position [rad] over a duration [s], after a settling time [s].

    Nothing else is stored. Raises ModelError as `simulate_joint`.
    """
    law, compiled = _compiled_friction(friction, inertia, step)
    steps = (round(settling / step), round(duration / step))
    return _extremes(compiled, law, _compiled_drive(drive, inertia), inertia, step, steps)


def _compiled_friction(friction: JointFriction, inertia: float, step: float):
    if not (math.isfinite(inertia) and inertia > 0.0 and math.isfinite(step) and step > 0.0):
        raise ModelError(f"a joint needs a positive inertia and time step, not {inertia:g} kg·m² and {step:g} s")
    if isinstance(friction, Elastoplastic):
        bristle = friction.bristle(step)
        require_sound(friction.law, bristle)
        if inertia <= bristle.least_inertia:
            raise ModelError(
                f"the bristle makes an inertia of {inertia:g} kg·m² oscillate: at this time step it must exceed "
                f"(K·T² + 2·B·T)/4 = {bristle.least_inertia:.4g} kg·m²; lower T, B or K"
            )
        return friction.law.row, (_ELASTOPLASTIC, 0.0, bristle.row)
    if isinstance(friction, NaiveSign):
        return friction.law.row, (_SIGN, 0.0, _UNUSED)
    if isinstance(friction, SmoothSign):
        return friction.law.row, (_TANH, friction.width, _UNUSED)
    return friction.law.row, (_KARNOPP, friction.threshold, _UNUSED)


def _compiled_drive(drive: JointDrive, inertia: float) -> tuple[float, ...]:
    return (
        drive.torque,
        drive.kp,
        drive.kv,
        drive.integral * inertia,
        drive.goal,
        drive.goal_velocity,
        drive.limit,
    )


@njit(error_model="numpy")
def _friction(compiled, law, inertia, step, deflection, velocity, applied):
    """Return friction [N·m] and the bristle's next deflection; `applied` is the driving torque [N·m]."""
    kind, width, bristle = compiled
    if kind == _ELASTOPLASTIC:
        return elastoplastic_step(law, bristle, deflection, velocity)
    sliding = friction_function(law, velocity)
    if kind == _TANH:
        viscous = law[4] * velocity
        return (abs(sliding) - abs(viscous)) * math.tanh(velocity / width) + viscous, 0.0
    if kind == _KARNOPP and abs(velocity) < width:
        if abs(applied) <= law[1]:
            # The torque that stops the joint by the end of the step.
            return applied + inertia * velocity / step, 0.0
        return math.copysign(law[1], applied), 0.0
    return sliding, 0.0


@njit(error_model="numpy")
def _advance(compiled, law, drive, inertia, step, time, state):
    """Advance (position, velocity, deflection, ∫q̈_r dt) by a step; also return its torques and friction."""
    torque, kp, kv, integral, goal, goal_velocity, limit = drive
    position, velocity, deflection, wanted = state
    reference = kp * (goal + goal_velocity * time - position) + kv * (goal_velocity - velocity)
    added = integral * (wanted - velocity)
    torque = min(max(torque + inertia * reference + added, -limit), limit)
    friction, deflection = _friction(compiled, law, inertia, step, deflection, velocity, torque)
    acceleration = (torque - friction) / inertia
    position += step * velocity + 0.5 * step * step * acceleration
    velocity += step * acceleration
    return (position, velocity, deflection, wanted + step * reference), torque, added, friction


@kept
def _record(compiled, law, drive, inertia, step, out):
    state = (0.0, 0.0, 0.0, 0.0)
    for k in range(len(out)):
        out[k, 0], out[k, 1] = state[0], state[1]
        state, out[k, 2], out[k, 3], out[k, 4] = _advance(compiled, law, drive, inertia, step, k * step, state)


@kept
def _extremes(compiled, law, drive, inertia, step, steps):
    state = (0.0, 0.0, 0.0, 0.0)
    low, high = math.inf, -math.inf
    for k in range(steps[0] + steps[1]):
        if k >= steps[0]:
            low, high = min(low, state[0]), max(high, state[0])
        state, _, _, _ = _advance(compiled, law, drive, inertia, step, k * step, state)
    return low, high
