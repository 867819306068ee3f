"""The motor of a compliant actuator and its position controller (seed 003, eqs 7–11): their numbers.

    J·θ̈ = −D·θ̇ + τ_m − τ_f + τ_springs                      (2), (7); τ_springs is what the springs put on the motor
    τ_f = K·(θ − w),  w follows θ so that |θ − w| ≤ τ̂_f/K      (8), a play operator: Dahl's model without exponent
    τ_m = k_p·e + k_i·∫e dt − k_d·θ̇,  within ±tau_max          (11), with the derivative of the measured angle

`core.studies.compliant.compiled` advances them. The text of the seed at hand has lost its minus signs: eq. (8) reads as
if friction pushed. With them, w = θ + τ̂_f/K if θ − w < −τ̂_f/K and w = θ − τ̂_f/K if θ − w > τ̂_f/K. The seed's
toolbox takes a velocity limit and never enforces it; here it is enforced, as are the position limits, at which the
motor stops dead. This module loads no compiler.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

from core.arrays import Array
from core.errors import ModelError


@dataclass(frozen=True, kw_only=True)
class Motor:
    """A motor with its gear, all numbers at the output (seed 003, section 3.1.1; defaults of its toolbox)."""

    inertia: float = 0.0233
    """J [kg·m²]"""
    damping: float = 0.2698
    """D [N·m·s/rad]; the toolbox's URDF templates say 0.0019"""
    max_torque: float = 6.0
    """tauMax [N·m]"""
    max_velocity: float = 6.0
    """maxVel [rad/s]"""
    min_position: float = -math.inf
    """minPos [rad]"""
    max_position: float = math.inf
    """maxPos [rad]"""
    friction: float = 0.02
    """τ̂_f, tauFric [N·m]; the URDF templates say 0.5"""
    friction_stiffness: float = 1e3
    """K of eq. (8) [N·m/rad]"""

    def __post_init__(self) -> None:
        for name in ("inertia", "max_torque", "max_velocity", "friction_stiffness"):
            _require(name, getattr(self, name), getattr(self, name) > 0.0, "positive")
        for name in ("damping", "friction"):
            _require(name, getattr(self, name), getattr(self, name) >= 0.0, "0 or more")
        for name in ("inertia", "damping", "friction", "friction_stiffness"):
            _require(name, getattr(self, name), math.isfinite(getattr(self, name)), "a finite number")
        within = self.min_position < self.max_position
        _require("min_position", self.min_position, within, f"below max_position, which is {self.max_position:g}")


@dataclass(frozen=True, kw_only=True)
class Pid:
    """Position controller of a motor, or of the link in operation mode 1 (seed 003, eq. 11).

    There is no guard against windup, as the seed has none: keep ki at 0 where the torque may saturate for long.
    """

    kp: float = 125.0
    """[N·m/rad]"""
    ki: float = 0.0
    """[N·m/(rad·s)]"""
    kd: float = 4.5
    """[N·m·s/rad], on the measured velocity"""

    def __post_init__(self) -> None:
        for name, value in (("kp", self.kp), ("ki", self.ki), ("kd", self.kd)):
            _require(name, value, math.isfinite(value) and value >= 0.0, "a finite number of 0 or more")


def motor_constants(motor: Motor) -> Array:
    """Numbers of a motor for `core.studies.compliant.compiled`, in the order of the fields, (8,)."""
    return np.array(astuple(motor))


def pid_constants(pid: Pid) -> Array:
    """Numbers of a controller for `core.studies.compliant.compiled`: kp, ki, kd, (3,)."""
    return np.array(astuple(pid))


def _require(name: str, value: float, holds: bool, what: str) -> None:
    if not holds:
        raise ModelError(f"compliant actuator: {name} = {value!r} must be {what}")


LINK_PID = Pid(kp=0.8, ki=0.0, kd=0.2)
"""Of the link itself in operation mode 1, defaults of the seed's toolbox."""
