"""Elastoplastic friction of seed 001 for Choreonoid: its constants from a fitted servo, and the law as a simulation.

A body customizer computes friction from a joint's velocity alone. Seed 001 gives it as a bristle, Kf·e + Bf·ė, that
slips at the Stribeck curve Φ(ω) = Tv·ω + (Tc + (Ts − Tc)·exp(−|ω|/w))·sgn ω, in closed form by Lambert's W (eqs 17, 18,
27, 28, 30). With Z = 1/(Kf·dt + Bf) and D = 1 + Z·Tv the two branches of eq. (30) meet only if

    u = Z·(Ts − Tc)/(w·D) ≤ 1,

which is eq. (14) at ω → 0, solved for Z: `ElastoplasticFriction` refuses anything else.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from core.errors import ExportError

Array = NDArray[np.float64]

SOFTNESS = 0.2
"""Angle by which the bristle's oscillation with the joint's inertia would advance in a step, undamped [rad]."""
MARGIN = 1.05
"""By which 1/Z exceeds what u = 1 asks for."""


@dataclass(frozen=True, kw_only=True)
class ElastoplasticFriction:
    """Constants of a joint's friction, under seed 001's names."""

    Ts: float
    """Static friction F_S [N·m]"""
    Tc: float
    """Coulomb friction F_C [N·m]"""
    Tv: float
    """Viscous friction D [N·m·s/rad]"""
    w_brk: float
    """Breakaway speed v_S [rad/s]"""
    Kf: float
    """Bristle stiffness K [N·m/rad]"""
    Bf: float
    """Bristle damping B [N·m·s/rad]"""
    dt: float
    """Step they are for [s]"""

    def __post_init__(self) -> None:
        values = astuple(self)
        positive = (self.w_brk, self.Kf, self.Bf, self.dt)
        if not all(math.isfinite(v) and v >= 0.0 for v in values) or min(positive) <= 0.0 or self.Ts < self.Tc:
            raise ExportError(f"friction needs Ts ≥ Tc ≥ 0 and positive w_brk, Kf, Bf, dt: {self}")
        if self.u > 1.0:
            raise ExportError(
                f"friction with u = {self.u:.3g} > 1 jumps where it begins to slip; raise Kf·dt + Bf or w_brk"
            )

    @property
    def Z(self) -> float:
        """1/(Kf·dt + Bf), eq. (12) [rad/s per N·m]"""
        return 1.0 / (self.Kf * self.dt + self.Bf)

    @property
    def u(self) -> float:
        """Z·(Ts − Tc)/(w·D), at most 1."""
        return self.Z * (self.Ts - self.Tc) / (self.w_brk * (1.0 + self.Z * self.Tv))


def friction_constants(
    static: float, coulomb: float, viscous: float, breakaway_speed: float, inertia: float, step: float
) -> ElastoplasticFriction:
    """Constants for a joint that turns an inertia [kg·m²] at a step [s].

    Kf = (SOFTNESS/dt)²·inertia and Bf = 2·√(Kf·inertia): a bristle as stiff as the step allows with room, critically
    damped. Where u asks for more, Bf is raised, up to a bristle that stops the joint in one step (1/Z = inertia/dt);
    beyond that w_brk is raised to the smallest speed that is possible.
    """
    stiffness = (SOFTNESS / step) ** 2 * inertia
    damping = 2.0 * math.sqrt(stiffness * inertia)
    stribeck = static - coulomb
    stiffest = inertia / step
    speed = max(breakaway_speed, MARGIN * stribeck / (stiffest + viscous))
    damping = max(damping, MARGIN * stribeck / speed - viscous - stiffness * step)
    return ElastoplasticFriction(Ts=static, Tc=coulomb, Tv=viscous, w_brk=speed, Kf=stiffness, Bf=damping, dt=step)


@njit(error_model="numpy")
def lambert_w0(x):
    """Principal branch of Lambert's W for −1/e ≤ x ≤ 0; less is taken for −1/e, which rounding may ask for."""
    root = math.sqrt(max(2.0 * (1.0 + math.e * x), 0.0))
    if root < 1e-7:
        return root - 1.0
    w = root * (1.0 + root * (-1.0 / 3.0 + root * 11.0 / 72.0)) - 1.0 if x < -0.2 else x * (1.0 - x * (1.0 - 1.5 * x))
    for _ in range(6):
        # Halley's step on w·exp(w) − x.
        exponential = math.exp(w)
        difference = w * exponential - x
        w -= difference / (exponential * (w + 1.0) - (w + 2.0) * difference / (2.0 * w + 2.0))
    return w


@njit(error_model="numpy")
def friction_torque(constants, wished):
    """Friction torque [N·m] at the hypothetical velocity ω* [rad/s], eq. (30); constants: Ts, Tc, Tv, w, Kf, Bf, dt."""
    static, coulomb, viscous, speed, stiffness, damping, step = constants
    z = 1.0 / (stiffness * step + damping)
    magnitude = abs(wished)
    if magnitude <= z * static:
        return wished / z
    d = 1.0 + z * viscous
    psi = -z * (static - coulomb) / (speed * d) * math.exp((z * coulomb - magnitude) / (speed * d))
    torque = -speed / z * lambert_w0(psi) + (coulomb + viscous * magnitude) / d
    return math.copysign(torque, wished)


def simulate_choreonoid(
    friction: ElastoplasticFriction, gains: tuple[float, float, float], pendulum: tuple[float, float, float],
    goal: Array, enable: Array,
) -> Array:  # fmt: skip
    """Positions before each step, from rest at 0, (n,) rad.

    gains: kp [N·m/rad], kd [N·m·s/rad], torque limit [N·m]; pendulum: inertia [kg·m²], gravity torque [N·m], angle
    offset [rad]; goal, enable (n,). Torques are held for a step, over which the simulator's integration is exact.
    """
    out = np.empty(len(goal))
    _simulation()(np.array(astuple(friction)), gains, pendulum, goal, np.asarray(enable, dtype=np.float64), out)
    return out


@cache
def _simulation():
    @njit(nogil=True, error_model="numpy")
    def run(constants, gains, pendulum, goal, enable, out):
        kp, kd, limit = gains
        inertia, gravity_torque, offset = pendulum
        stiffness, damping, step = constants[4], constants[5], constants[6]
        z = 1.0 / (stiffness * step + damping)
        position = velocity = deflection = 0.0
        for k in range(len(goal)):
            out[k] = position
            drive = min(max(kp * (goal[k] - position) - kd * velocity, -limit), limit) * enable[k]
            friction = friction_torque(constants, velocity + z * stiffness * deflection)
            deflection = z * (damping * deflection + friction * step)
            acceleration = (drive - gravity_torque * math.sin(position + offset) - friction) / inertia
            position += step * velocity + 0.5 * step * step * acceleration
            velocity += step * acceleration

    return run
