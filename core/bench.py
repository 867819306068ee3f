"""The test bench: a pendulum on the servo's output shaft (seed 004, section II-A, eq. 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from core.errors import InputError
from core.finite import is_finite

STANDARD_GRAVITY = 9.80665
"""Standard acceleration of gravity [m/s²]."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A point mass at the end of a uniform rod, or a load whose inertia and gravity torque were measured.

    Angle 0 hangs down, counter-clockwise is positive. `angle_offset` is added to the measured angle before
    gravity acts: it is the bench's mounting error as far as it is known; a model may identify more of it.
    """

    mass: float
    """Load at the end of the rod [kg]."""
    length: float
    """Shaft to load [m]."""
    arm_mass: float = 0.0
    """Mass of the uniform rod [kg]."""
    gravity: float = STANDARD_GRAVITY
    """[m/s²]"""
    angle_offset: float = 0.0
    """[rad]"""
    measured_inertia: float | None = None
    """Inertia of the whole load about the shaft [kg·m²]; replaces the point-mass formula when given."""
    measured_gravity_torque: float | None = None
    """Gravity torque at a horizontal arm [N·m]; replaces the point-mass formula when given."""

    def __post_init__(self) -> None:
        for name, low in (
            ("mass", 0.0),
            ("length", 0.0),
            ("arm_mass", 0.0),
            ("gravity", 0.0),
            ("angle_offset", -2.0 * math.pi),
            ("measured_inertia", 0.0),
            ("measured_gravity_torque", 0.0),
        ):
            value = getattr(self, name)
            if value is None and name.startswith("measured_"):
                continue
            if not is_finite(value) or value < low:
                raise InputError(f"bench: {name} = {value!r} must be a finite number of at least {low:g}")

    @property
    def inertia(self) -> float:
        """Inertia of the load about the shaft, the servo's own armature not included [kg·m²]."""
        if self.measured_inertia is not None:
            return self.measured_inertia
        return (self.mass + self.arm_mass / 3.0) * self.length**2

    @property
    def gravity_torque(self) -> float:
        """Torque of gravity at a horizontal arm [N·m]; τ_e = −gravity_torque · sin(θ + angle_offset)."""
        if self.measured_gravity_torque is not None:
            return self.measured_gravity_torque
        return (self.mass + self.arm_mass / 2.0) * self.gravity * self.length

    def external_torque(self, position: float) -> float:
        """Torque of gravity at a shaft angle [N·m]; position in rad."""
        return -self.gravity_torque * math.sin(position + self.angle_offset)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a file; absent measurements are left out."""
        return {name: value for name, value in self.__dict__.items() if value is not None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Bench:
        """Inverse of `to_json`; raises InputError on unknown names or wrong values."""
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"bench: {error}") from None
