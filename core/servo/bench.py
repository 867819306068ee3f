"""The test bench: a pendulum on the servo's output shaft (seed 004, section II-A, eq. 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from core.base.errors import InputError
from core.base.guards import is_finite

STANDARD_GRAVITY = 9.80665
"""Standard acceleration of gravity [m/s²]."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A point mass at the end of a uniform rod, or a load whose inertia and gravity torque were measured.

    Angle 0 hangs down, counter-clockwise is positive. `angle_offset` is added to the measured angle before gravity
    acts. It is the known mounting error of the bench; a model may identify a further offset.

    Example:
        >>> sb.Bench(mass=0.5, length=0.5).inertia
        0.125
    """

    mass: float
    """Load at the end of the rod [kg]."""
    length: float
    """Distance from shaft to load [m]."""
    arm_mass: float = 0.0
    """Mass of the uniform rod [kg]."""
    gravity: float = STANDARD_GRAVITY
    """Acceleration of gravity [m/s²]."""
    angle_offset: float = 0.0
    """Known mounting error of the angle [rad]."""
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
        """Inertia of the load about the shaft [kg·m²], without the servo's own armature."""
        if self.measured_inertia is not None:
            return self.measured_inertia
        return (self.mass + self.arm_mass / 3.0) * self.length**2

    @property
    def gravity_torque(self) -> float:
        """Gravity torque at a horizontal arm [N·m]; τ_e = −gravity_torque · sin(θ + angle_offset)."""
        if self.measured_gravity_torque is not None:
            return self.measured_gravity_torque
        return (self.mass + self.arm_mass / 2.0) * self.gravity * self.length

    def external_torque(self, position: float) -> float:
        """Return the gravity torque [N·m] at a shaft angle [rad]."""
        return -self.gravity_torque * math.sin(position + self.angle_offset)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a file; absent measurements are left out."""
        return {name: value for name, value in self.__dict__.items() if value is not None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Bench:
        """Read the data of `to_json`.

        Raises:
            InputError: A name is unknown, or a value is wrong.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"bench: {error}") from None
