"""One servo from its controller's view: commands (3.42.5–3.42.8) and measurements (3.42.13)."""

from __future__ import annotations

import math
import warnings

from core.base.errors import InputError
from core.studies.webots.fields import NO_LIMIT, ServoFields
from core.studies.webots.law import wanted_velocity

POSITION, VELOCITY, FORCE = "position", "velocity", "force"
"""Control modes, Table 3.6."""
MILLISECOND = 1e-3
EARLY = 1e-6
"""Tolerance for rounding in a sum of steps, which must not delay a measurement by a step [s]."""


class LimitWarning(UserWarning):
    """Issued when a controller's value exceeds a field of its servo and is clipped."""


class Sampling:
    """Periodic measurement that can be enabled and disabled."""

    def __init__(self) -> None:
        self.period = 0
        """Sampling period [ms]; 0 while disabled."""
        self.value = math.nan
        """Latest measurement; NaN before the first one and while disabled."""
        self._begin = 0.0
        self._count = 0

    def enable(self, milliseconds: int, now: float) -> None:
        """Measure periodically from `now` [s]; raise InputError for a period below 1 ms."""
        if not (milliseconds >= 1 and milliseconds % 1 == 0):
            raise InputError(f"a sampling period of {milliseconds!r} ms is not possible; give a whole number from 1")
        self.period, self.value, self._begin, self._count = int(milliseconds), math.nan, now, 0

    def disable(self) -> None:
        """Stop measuring."""
        self.period, self.value = 0, math.nan

    def take(self, value: float, now: float) -> None:
        """Measure if due: at the first step that ends at or after a multiple of the period."""
        if self.period == 0:
            return
        count = math.floor((now - self._begin + EARLY) / (self.period * MILLISECOND))
        if count > self._count:
            self._count, self.value = count, value


class ServoDevice:
    """Servo controlled by a program; `core.studies.webots.chain` moves it."""

    def __init__(self, fields: ServoFields, name: str = "servo") -> None:
        self.fields, self.name = fields, name
        self.mode = POSITION
        self.target = fields.position
        """Target of the P-controller; initially the first position."""
        self.velocity_limit = fields.max_velocity
        """Vd: a limit by its magnitude in position control, the signed command in velocity control."""
        self.acceleration = fields.acceleration
        self.motor_force = fields.max_force
        """Limit of the motor's force and of `set_force`."""
        self.control_p = fields.control_p
        self.position = fields.position
        """Position of the joint."""
        self.velocity = 0.0
        """Velocity of the joint."""
        self.motor_velocity = 0.0
        """Vc of the last step."""
        self.used_force = 0.0
        """Force of the motor during the last step; 0 in force control."""
        self.time = 0.0
        """Simulated time [s]."""
        self.position_sampling, self.force_sampling = Sampling(), Sampling()
        self._asked_force = 0.0

    # Commands of a controller.

    def set_position(self, position: float) -> None:
        """Set a target, clipped to soft limits; infinity begins velocity control. Ends force control (3.42.7)."""
        if math.isnan(position):
            raise InputError(f"servo {self.name}: a target position of NaN is not possible")
        self.mode = POSITION
        self._asked_force = 0.0
        if math.isinf(position):
            self.mode, self.target = VELOCITY, position
            return
        low, high = self.fields.soft_limits
        self.target = min(max(position, low), high)
        if self.target != position:
            self._warn(f"target {position:g} exceeds the soft limits {low:g} … {high:g}")

    def set_velocity(self, velocity: float) -> None:
        """Set the velocity limit or, in velocity control, the command; ignored in force control (Table 3.6)."""
        self._finite("velocity", velocity)
        if self.mode != FORCE:
            self.velocity_limit = self._limited("velocity", velocity, "maxVelocity", self.fields.max_velocity)

    def set_acceleration(self, acceleration: float) -> None:
        """Set the acceleration limit, −1 for none; ignored in force control (Table 3.6)."""
        self._finite("acceleration", acceleration)
        if acceleration != NO_LIMIT and not acceleration > 0.0:
            raise InputError(f"servo {self.name}: an acceleration of {acceleration:g} is neither −1 nor above 0")
        if self.mode != FORCE:
            self.acceleration = acceleration

    def set_motor_force(self, force: float) -> None:
        """Set the force available to the motor, which also limits `set_force`."""
        self._finite("motor force", force)
        if force < 0.0:
            raise InputError(f"servo {self.name}: a motor force of {force:g} is negative; 0 turns the motor off")
        self.motor_force = self._limited("motor force", force, "maxForce", self.fields.max_force)

    def set_control_p(self, p: float) -> None:
        """Set P of the P-controller [1/s]."""
        self._finite("P", p)
        if not p > 0.0:
            raise InputError(f"servo {self.name}: a P of {p:g} is not above 0")
        self.control_p = p

    def set_force(self, force: float) -> None:
        """Begin force control: apply this force instead of the motor's, within the current motor force."""
        self._finite("force", force)
        self.mode = FORCE
        self._asked_force = self._limited("force", force, "the current motor force", self.motor_force)

    # Interface for a step.

    @property
    def applied_force(self) -> float:
        """Force of force control; 0 in the other modes."""
        return min(max(self._asked_force, -self.motor_force), self.motor_force)

    @property
    def available_force(self) -> float:
        """Force available to the motor; 0 in force control."""
        return 0.0 if self.mode == FORCE else self.motor_force

    def wanted(self, step: float) -> float:
        """Return Vc for a time step [s]; 0 without motor force."""
        if self.available_force == 0.0:
            return 0.0
        low, high = self.fields.soft_limits
        return wanted_velocity(
            self.target,
            self.position,
            self.motor_velocity,
            self.control_p,
            self.velocity_limit,
            self.acceleration,
            low,
            high,
            step,
        )

    def move(self, velocity: float, wanted: float, motor: float, step: float) -> None:
        """Apply the result of a time step [s]."""
        low, high = self.fields.stops
        self.position = min(max(self.position + step * velocity, low), high)
        self.velocity, self.motor_velocity, self.used_force = velocity, wanted, motor
        self.time += step
        self.position_sampling.take(self.position, self.time)
        self.force_sampling.take(self.used_force, self.time)

    # Checks.

    def _finite(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            raise InputError(f"servo {self.name}: a {what} of {value} is not a finite number")

    def _limited(self, what: str, value: float, field: str, most: float) -> float:
        if abs(value) <= most:
            return value
        self._warn(f"{what} {value:g} exceeds {field} = {most:g}")
        return math.copysign(most, value)

    def _warn(self, text: str) -> None:
        warnings.warn(f"servo {self.name}: {text}, which is used instead", LimitWarning, stacklevel=4)
