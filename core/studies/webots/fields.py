"""What a Servo node says, with the ranges its manual gives (seed 002, section 3.42), and what its joint moves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from core.errors import ModelError

if TYPE_CHECKING:
    from core.bench import Bench

ROTATIONAL, LINEAR = "rotational", "linear"
UNITS = {
    ROTATIONAL: {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s²", "force": "N·m"},
    LINEAR: {"position": "m", "velocity": "m/s", "acceleration": "m/s²", "force": "N"},
}
"""Table 3.5."""
NO_LIMIT = -1.0
"""An acceleration that is not limited."""
LIMIT_TOLERANCE = 1e-9
"""What a decimal number in a file may lie beyond ±π."""


@dataclass(frozen=True, kw_only=True)
class ServoFields:
    """The node's fields with their defaults; in rad and N·m for a rotational servo, in m and N for a linear one.

    Raises ModelError for a value outside of the range that the manual gives.
    """

    type: str = ROTATIONAL
    max_velocity: float = 10.0
    """Vd, and the most that a controller may ask for; (0, ∞)"""
    max_force: float = 10.0
    """The most that a controller may allow the motor; [0, ∞), 0 for a passive joint"""
    control_p: float = 10.0
    """P [1/s]; (0, ∞)"""
    acceleration: float = NO_LIMIT
    """A; −1 or (0, ∞)"""
    position: float = 0.0
    """Where the joint is at first, from its initial transformation"""
    min_position: float = 0.0
    """(−∞, 0]; soft limits are off while both are 0"""
    max_position: float = 0.0
    """[0, ∞)"""
    min_stop: float = 0.0
    """[−π, 0]; hard limits are off while both are 0"""
    max_stop: float = 0.0
    """[0, π]"""
    spring_constant: float = 0.0
    """K; [0, ∞)"""
    damping_constant: float = 0.0
    """B; [0, ∞)"""

    def __post_init__(self) -> None:
        if self.type not in UNITS:
            raise ModelError(f"Servo node: type {self.type!r} is neither {ROTATIONAL} nor {LINEAR}")
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if not (isinstance(value, (int, float)) and math.isfinite(value)):
                raise ModelError(f"Servo node: {seed_name(field.name)} = {value!r} must be a finite number")
        for name in ("max_velocity", "control_p"):
            self._require(name, getattr(self, name) > 0.0, "must be above 0")
        self._require("acceleration", self.acceleration == NO_LIMIT or self.acceleration > 0.0, "must be −1 or above 0")
        for name in ("max_force", "spring_constant", "damping_constant"):
            self._require(name, getattr(self, name) >= 0.0, "must not be negative")
        for low, high, most in (
            ("min_position", "max_position", math.inf),
            ("min_stop", "max_stop", math.pi + LIMIT_TOLERANCE),
        ):
            bound = "" if math.isinf(most) else "−π … "
            self._require(low, -most <= getattr(self, low) <= 0.0, f"must be {bound}0 or below")
            self._require(high, 0.0 <= getattr(self, high) <= most, f"must be 0{' … π' if bound else ' or above'}")
        if self.has_stops:
            if self.has_soft_limits and not (self.min_stop <= self.min_position and self.max_position <= self.max_stop):
                raise ModelError(
                    f"Servo node: soft limits {self.min_position:g} … {self.max_position:g} must lie within the hard "
                    f"ones, {self.min_stop:g} … {self.max_stop:g}; move minStop and maxStop outwards or turn them off"
                )
            if not self.min_stop <= self.position <= self.max_stop:
                raise ModelError(
                    f"Servo node: position {self.position:g} lies beyond the hard limits {self.min_stop:g} … "
                    f"{self.max_stop:g}, which nothing can pass; begin between them"
                )

    def _require(self, name: str, holds: bool, rule: str) -> None:
        if not holds:
            raise ModelError(f"Servo node: {seed_name(name)} = {getattr(self, name):g} {rule}")

    @property
    def has_soft_limits(self) -> bool:
        """Whether the P-controller keeps within minPosition … maxPosition (3.42.8)."""
        return self.min_position != 0.0 or self.max_position != 0.0

    @property
    def has_stops(self) -> bool:
        """Whether the joint ends at minStop and maxStop (3.42.8)."""
        return self.min_stop != 0.0 or self.max_stop != 0.0

    @property
    def soft_limits(self) -> tuple[float, float]:
        """Where targets are clipped; infinite where nothing is."""
        return (self.min_position, self.max_position) if self.has_soft_limits else (-math.inf, math.inf)

    @property
    def stops(self) -> tuple[float, float]:
        """Where the joint ends; infinite where it does not."""
        return (self.min_stop, self.max_stop) if self.has_stops else (-math.inf, math.inf)

    @property
    def units(self) -> dict[str, str]:
        """Of position, velocity, acceleration and force (Table 3.5)."""
        return UNITS[self.type]


def seed_name(name: str) -> str:
    """A field as the node has it: "max_velocity" is maxVelocity."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


@dataclass(frozen=True, kw_only=True)
class Load:
    """The body that a joint moves: a pendulum about a rotational servo's axis, or a mass on a linear one's slope.

    The node's Physics and boundingObject say it in Webots. Gravity pulls with G·sin(x + offset) against a pendulum's
    angle x, and with G·sin(offset) against a mass on a slope of that angle, whose G is its weight.
    """

    inertia: float
    """Of the body about the axis [kg·m²], or its mass [kg]; above 0"""
    gravity_torque: float = 0.0
    """G: with the arm horizontal [N·m], or the weight [N]"""
    offset: float = 0.0
    """Angle that gravity sees at joint angle 0, or of the slope [rad]"""

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in (self.inertia, self.gravity_torque, self.offset)):
            raise ModelError(f"load of a Servo: {self} must be finite numbers")
        if not self.inertia > 0.0:
            raise ModelError(
                f"load of a Servo: an inertia of {self.inertia:g} is not possible; every body that a servo moves needs "
                "a mass, a dummy one between overlayed axes too"
            )


def load_of(bench: Bench, armature: float = 0.0, offset: float = 0.0) -> Load:
    """A bench's pendulum with the servo's own inertia [kg·m²] and a further angle offset [rad]."""
    return Load(
        inertia=bench.inertia + armature,
        gravity_torque=bench.gravity_torque,
        offset=bench.angle_offset + offset,
    )
