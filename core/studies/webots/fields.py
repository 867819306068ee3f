"""Fields of a Servo node with the ranges of its manual (section 3.42), and the load of its joint."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from core.base.errors import ModelError
from core.servo.bench import Bench

ROTATIONAL, LINEAR = "rotational", "linear"
UNITS = {
    ROTATIONAL: {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s²", "force": "N·m"},
    LINEAR: {"position": "m", "velocity": "m/s", "acceleration": "m/s²", "force": "N"},
}
"""Units of Table 3.5."""
NO_LIMIT = -1.0
"""Value of an unlimited acceleration."""
LIMIT_TOLERANCE = 1e-9
"""Tolerance of decimal numbers in a file around ±π."""


@dataclass(frozen=True, kw_only=True)
class ServoFields:
    """Fields of the node with their defaults, in rad and N·m for a rotational servo, in m and N for a linear one.

    Raises ModelError for a value outside the manual's range.
    """

    type: str = ROTATIONAL
    max_velocity: float = 10.0
    """Vd, and the limit for a controller; (0, ∞)."""
    max_force: float = 10.0
    """Limit of the motor force that a controller may set; [0, ∞), 0 for a passive joint."""
    control_p: float = 10.0
    """P [1/s]; (0, ∞)."""
    acceleration: float = NO_LIMIT
    """A; −1 or (0, ∞)."""
    position: float = 0.0
    """Initial position of the joint, relative to its initial transformation."""
    min_position: float = 0.0
    """Lower soft limit, (−∞, 0]; soft limits are off if both are 0."""
    max_position: float = 0.0
    """Upper soft limit, [0, ∞)."""
    min_stop: float = 0.0
    """Lower stop, [−π, 0]; stops are off if both are 0."""
    max_stop: float = 0.0
    """Upper stop, [0, π]."""
    spring_constant: float = 0.0
    """K; [0, ∞)."""
    damping_constant: float = 0.0
    """B; [0, ∞)."""

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
        """True if the P-controller stays within minPosition … maxPosition (3.42.8)."""
        return self.min_position != 0.0 or self.max_position != 0.0

    @property
    def has_stops(self) -> bool:
        """True if the joint has stops at minStop and maxStop (3.42.8)."""
        return self.min_stop != 0.0 or self.max_stop != 0.0

    @property
    def soft_limits(self) -> tuple[float, float]:
        """Limits of targets; infinite without soft limits."""
        return (self.min_position, self.max_position) if self.has_soft_limits else (-math.inf, math.inf)

    @property
    def stops(self) -> tuple[float, float]:
        """Positions of the stops; infinite without stops."""
        return (self.min_stop, self.max_stop) if self.has_stops else (-math.inf, math.inf)

    @property
    def units(self) -> dict[str, str]:
        """Units of position, velocity, acceleration and force (Table 3.5)."""
        return UNITS[self.type]


def seed_name(name: str) -> str:
    """Return a field's name in the node: "max_velocity" is maxVelocity."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


@dataclass(frozen=True, kw_only=True)
class Load:
    """Body moved by a joint: a pendulum about a rotational servo's axis, or a mass on a linear servo's slope.

    In Webots, the node's Physics and boundingObject describe it. Gravity pulls with G·sin(x + offset) at a pendulum's
    angle x, and with G·sin(offset) on a mass on a slope of that angle, where G is its weight.
    """

    inertia: float
    """Inertia about the axis [kg·m²], or mass [kg]; above 0."""
    gravity_torque: float = 0.0
    """G: gravity torque with the arm horizontal [N·m], or weight [N]."""
    offset: float = 0.0
    """Angle of the pendulum at joint angle 0, or of the slope [rad]."""

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in (self.inertia, self.gravity_torque, self.offset)):
            raise ModelError(f"load of a Servo: {self} must be finite numbers")
        if not self.inertia > 0.0:
            raise ModelError(
                f"load of a Servo: an inertia of {self.inertia:g} is not possible; every body that a servo moves needs "
                "a mass, even a dummy body between overlaid axes"
            )


def load_of(bench: Bench, armature: float = 0.0, offset: float = 0.0) -> Load:
    """Return a bench's pendulum with the servo's own inertia [kg·m²] and an additional angle offset [rad]."""
    return Load(
        inertia=bench.inertia + armature,
        gravity_torque=bench.gravity_torque,
        offset=bench.angle_offset + offset,
    )
