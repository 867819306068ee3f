"""One servo as its controller sees it: what it is told (3.42.5–3.42.8), and what it measures (3.42.13)."""

from __future__ import annotations

import math
import warnings

from core.errors import InputError
from core.studies.webots.fields import NO_LIMIT, ServoFields
from core.studies.webots.law import wanted_velocity

POSITION, VELOCITY, FORCE = "position", "velocity", "force"
"""Modes of control, Table 3.6."""
MILLISECOND = 1e-3
EARLY = 1e-6
"""Rounding of a sum of steps, which must not delay a measurement by a step [s]."""


class LimitWarning(UserWarning):
    """A controller asked for more than a field of its servo allows, and got that."""


class Sampling:
    """A measurement that is made every so often while it is enabled."""

    def __init__(self) -> None:
        self.period = 0
        """[ms]; 0 while it is disabled"""
        self.value = math.nan
        """The most recent measurement; NaN, which is undefined, before the first and while it is disabled."""
        self._begin = 0.0
        self._count = 0

    def enable(self, milliseconds: int, now: float) -> None:
        """Measure every so many milliseconds from now [s] on; raises InputError unless that is at least 1."""
        if not (milliseconds >= 1 and milliseconds % 1 == 0):
            raise InputError(f"a sampling period of {milliseconds!r} ms is not possible; give a whole number from 1 on")
        self.period, self.value, self._begin, self._count = int(milliseconds), math.nan, now, 0

    def disable(self) -> None:
        """Measure no more."""
        self.period, self.value = 0, math.nan

    def take(self, value: float, now: float) -> None:
        """Measure if it is due: at the first step that ends at or after a multiple of the period."""
        if self.period == 0:
            return
        count = math.floor((now - self._begin + EARLY) / (self.period * MILLISECOND))
        if count > self._count:
            self._count, self.value = count, value


class ServoDevice:
    """A servo under control of a program; `core.studies.webots.chain` moves it."""

    def __init__(self, fields: ServoFields, name: str = "servo") -> None:
        self.fields, self.name = fields, name
        self.mode = POSITION
        self.target = fields.position
        """Of the P-controller; it holds its first position until it is told another."""
        self.velocity_limit = fields.max_velocity
        """Vd: as its magnitude a limit in position control, signed what is wanted in velocity control."""
        self.acceleration = fields.acceleration
        self.motor_force = fields.max_force
        """What the motor may use, and what `set_force` may ask for."""
        self.control_p = fields.control_p
        self.position = fields.position
        """Where the joint is."""
        self.velocity = 0.0
        """How fast it moves."""
        self.motor_velocity = 0.0
        """Vc of the last step."""
        self.used_force = 0.0
        """Of the motor during the last step; 0 in force control."""
        self.time = 0.0
        """[s]"""
        self.position_sampling, self.force_sampling = Sampling(), Sampling()
        self._asked_force = 0.0

    # What a controller asks for.

    def set_position(self, position: float) -> None:
        """A target, which soft limits clip; an infinite one begins velocity control. Ends force control (3.42.7)."""
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
        """The limit in position control, what is wanted in velocity control; ignored in force control (Table 3.6)."""
        self._finite("velocity", velocity)
        if self.mode != FORCE:
            self.velocity_limit = self._limited("velocity", velocity, "maxVelocity", self.fields.max_velocity)

    def set_acceleration(self, acceleration: float) -> None:
        """The limit of the motor's velocity's change, −1 for none; ignored in force control (Table 3.6)."""
        self._finite("acceleration", acceleration)
        if acceleration != NO_LIMIT and not acceleration > 0.0:
            raise InputError(f"servo {self.name}: an acceleration of {acceleration:g} is neither −1 nor above 0")
        if self.mode != FORCE:
            self.acceleration = acceleration

    def set_motor_force(self, force: float) -> None:
        """The force that is available to the motor, and the most that `set_force` may ask for."""
        self._finite("motor force", force)
        if force < 0.0:
            raise InputError(f"servo {self.name}: a motor force of {force:g} is negative; 0 turns the motor off")
        self.motor_force = self._limited("motor force", force, "maxForce", self.fields.max_force)

    def set_control_p(self, p: float) -> None:
        """P of the P-controller [1/s]."""
        self._finite("P", p)
        if not p > 0.0:
            raise InputError(f"servo {self.name}: a P of {p:g} is not above 0")
        self.control_p = p

    def set_force(self, force: float) -> None:
        """Begin force control: this force instead of P-controller and motor, within the current motor force."""
        self._finite("force", force)
        self.mode = FORCE
        self._asked_force = self._limited("force", force, "the current motor force", self.motor_force)

    # What a step needs of it.

    @property
    def applied_force(self) -> float:
        """Of force control; 0 in the other modes."""
        return min(max(self._asked_force, -self.motor_force), self.motor_force)

    @property
    def available_force(self) -> float:
        """Of the motor; 0 in force control."""
        return 0.0 if self.mode == FORCE else self.motor_force

    def wanted(self, step: float) -> float:
        """Vc for a step [s]; 0 where there is no motor to have one."""
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
        """Take over what a step of so many seconds came to."""
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
        warnings.warn(f"servo {self.name}: {text}, which is taken instead", LimitWarning, stacklevel=4)
