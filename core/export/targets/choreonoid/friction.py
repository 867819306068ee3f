"""Elastoplastic friction of Cisneros et al. for Choreonoid: constants from a fitted servo, and a simulation of the law.

A body customizer computes friction from a joint's velocity alone, as `core.studies.stiction` does, with Stribeck's
function of α = 1. Constants are named as in public code for Choreonoid. With Z = 1/(Kf·dt + Bf) and D = 1 + Z·Tv they
are sound only if

    u = Z·(Ts − Tc)/(w·D) ≤ 1,

see `core.contact.bristle`. `ChoreonoidFriction` refuses anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache

import numpy as np
from numba import njit

from core.base.arrays import Array
from core.base.errors import ExportError
from core.contact.bristle import Bristle, examine
from core.contact.implicit import elastoplastic_step
from core.contact.laws import Stribeck

Triple = tuple[float, float, float]

SOFTNESS = 0.2
"""Phase advance per step of the undamped oscillation of bristle and joint inertia [rad]."""
MARGIN = 1.05
"""Factor by which 1/Z exceeds the value required for u = 1."""


@dataclass(frozen=True, kw_only=True)
class ChoreonoidFriction:
    """Constants of a joint's friction, named as in public code for Choreonoid."""

    Ts: float
    """Static friction F_S [N·m]."""
    Tc: float
    """Coulomb friction F_C [N·m]."""
    Tv: float
    """Viscous friction D [N·m·s/rad]."""
    w_brk: float
    """Breakaway speed v_S [rad/s]."""
    Kf: float
    """Bristle stiffness K [N·m/rad]."""
    Bf: float
    """Bristle damping B [N·m·s/rad]."""
    dt: float
    """Time step of the constants [s]."""

    def __post_init__(self) -> None:
        values = astuple(self)
        positive = (self.w_brk, self.Kf, self.Bf, self.dt)
        if not all(math.isfinite(v) and v >= 0.0 for v in values) or min(positive) <= 0.0 or self.Ts < self.Tc:
            raise ExportError(f"friction needs Ts ≥ Tc ≥ 0 and positive w_brk, Kf, Bf, dt: {self}")
        if not examine(self.law, self.bristle).sound:
            raise ExportError(
                f"friction with u = {self.u:.3g} > 1 jumps where it begins to slip; raise Kf·dt + Bf or w_brk"
            )

    @property
    def law(self) -> Stribeck:
        """Stribeck function Φ, eq. (21)."""
        return Stribeck(static=self.Ts, coulomb=self.Tc, breakaway_speed=self.w_brk, viscous=self.Tv)

    @property
    def bristle(self) -> Bristle:
        """Bristle: spring, damper and time step."""
        return Bristle(stiffness=self.Kf, damping=self.Bf, step=self.dt)

    @property
    def u(self) -> float:
        """Soundness number Z·(Ts − Tc)/(w·D), at most 1."""
        z = self.bristle.Z
        return z * (self.Ts - self.Tc) / (self.w_brk * (1.0 + z * self.Tv))


def friction_constants(
    static: float, coulomb: float, viscous: float, breakaway_speed: float, inertia: float, step: float
) -> ChoreonoidFriction:
    """Choose constants for a joint that turns an inertia [kg·m²] at a time step [s].

    Kf = (SOFTNESS/dt)²·inertia and Bf = 2·√(Kf·inertia): a bristle nearly as stiff as the time step allows, critically
    damped. If u requires more, Bf is raised, up to a bristle that stops the joint in one step (1/Z = inertia/dt).
    Beyond that, w_brk is raised to the smallest possible speed.
    """
    stiffness = (SOFTNESS / step) ** 2 * inertia
    damping = 2.0 * math.sqrt(stiffness * inertia)
    stribeck = static - coulomb
    stiffest = inertia / step
    speed = max(breakaway_speed, MARGIN * stribeck / (stiffest + viscous))
    damping = max(damping, MARGIN * stribeck / speed - viscous - stiffness * step)
    return ChoreonoidFriction(Ts=static, Tc=coulomb, Tv=viscous, w_brk=speed, Kf=stiffness, Bf=damping, dt=step)


def can_follow(law: Stribeck, bristle: Bristle, inertia: float) -> bool:
    """True if a customizer, which gets the velocity at the beginning of a step, can simulate a bristle on a joint.

    The friction must be a function (Cisneros et al., eq. 14), and its oscillation with the joint's total `inertia`
    [kg·m²] must not grow: K·h² + 2·B·h < 4·J.
    """
    step = bristle.step
    growing = bristle.stiffness * step * step + 2.0 * bristle.damping * step >= 4.0 * inertia
    return examine(law, bristle).sound and not growing


def simulate_choreonoid(
    friction: ChoreonoidFriction, gains: tuple[float, float, float], pendulum: tuple[float, float, float],
    goal: Array, enable: Array,
) -> Array:  # fmt: skip
    """Simulate from rest at 0. Torques are held for a step, over which the integration is exact.

    Args:
        friction: Constants of the friction.
        gains: kp [N·m/rad], kd [N·m·s/rad], torque limit [N·m].
        pendulum: Inertia [kg·m²], gravity torque [N·m], angle offset [rad].
        goal: Goals [rad], shape (n,).
        enable: 1 drives, 0 releases, shape (n,).

    Returns:
        Positions before each time step [rad], shape (n,).
    """
    out = np.empty(len(goal))
    driven = np.asarray(enable, dtype=np.float64)
    _simulation()(friction.law.row, friction.bristle.row, gains, pendulum, goal, driven, out)
    return out


@cache
def _simulation() -> Callable[..., None]:
    @njit(nogil=True, error_model="numpy")
    def run(
        law: tuple[float, ...], bristle: Triple, gains: Triple, pendulum: Triple, goal: Array, enable: Array, out: Array
    ) -> None:
        kp, kd, limit = gains
        inertia, gravity_torque, offset = pendulum
        step = bristle[2]
        position = velocity = deflection = 0.0
        for k in range(len(goal)):
            out[k] = position
            drive = min(max(kp * (goal[k] - position) - kd * velocity, -limit), limit) * enable[k]
            friction, deflection = elastoplastic_step(law, bristle, deflection, velocity)
            acceleration = (drive - gravity_torque * math.sin(position + offset) - friction) / inertia
            position += step * velocity + 0.5 * step * step * acceleration
            velocity += step * acceleration

    return run
