"""Limits of a servo on the bench. Commands are clamped to them; a measurement outside them trips the run."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from core.base.errors import InputError
from core.servo.catalogue import ServoSpec
from drivers.errors import CommandError
from drivers.reading import Reading

SPEED_MARGIN = 3.0
"""Multiple of the no-load speed above which a driven servo counts as having run away."""
HOLD_SPEED_SHARE = 0.5
"""Share of the no-load speed that a pendulum guided by hand never reaches; a faster one has left the hand. Applies
while a torque is held."""
FLICKER = 0.05
"""Largest change of position [rad] between two samples of a sound encoder, beyond the motion itself."""
CURRENT_MARGIN = 2.0
"""Multiple of the stall current that a motor reversed at full speed may draw for a moment."""
TEMPERATURE_MARGIN = 5.0
"""The run ends this far below the temperature at which the servo would shut itself down [°C]."""
ROUNDING = 1e-4
"""Relative rounding error by which a limit that the user typed may exceed the rating, e.g. 3.1416 rad for 180°."""
VOLTAGE_MARGIN = 0.05
"""Share by which the rated supply range is widened for sag and regeneration."""


@dataclass(frozen=True)
class LimitViolation:
    """A measured value outside a limit."""

    name: str
    value: float
    limit: float
    unit: str
    remedy: str

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.name} unknown while the servo is driven; {self.remedy}"
        return (
            f"{self.name} {self.value:.4g} {self.unit} beyond the limit of {self.limit:.4g} {self.unit}; {self.remedy}"
        )


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of commands to a servo and of its measurements. SI units; temperature in °C."""

    lowest_position: float = -math.pi
    """[rad]"""
    highest_position: float = math.pi
    """[rad]"""
    speed: float = 30.0
    """Largest speed of a driven servo [rad/s]; a released one may fall as fast as it likes."""
    hold_speed: float = 5.0
    """Largest speed while a torque is held and the user guides the pendulum by hand [rad/s]; at most `speed`."""
    torque: float = math.inf
    """Largest torque that may be commanded [N·m]."""
    current: float = math.inf
    """[A]"""
    temperature: float = 70.0
    """[degC]"""
    lowest_voltage: float = 0.0
    """[V]"""
    highest_voltage: float = math.inf
    """[V]"""

    def __post_init__(self) -> None:
        for field in fields(self):
            if math.isnan(getattr(self, field.name)):
                raise InputError(f"limits: {field.name} is not a number")
        if not self.lowest_position < self.highest_position:
            raise InputError(
                f"limits: the lowest position {self.lowest_position} rad "
                f"is not below the highest, {self.highest_position} rad"
            )
        if not self.lowest_voltage < self.highest_voltage:
            raise InputError(
                f"limits: the lowest voltage {self.lowest_voltage} V is not below the highest, {self.highest_voltage} V"
            )
        for name in ("speed", "hold_speed", "torque", "current"):
            if not getattr(self, name) > 0:
                raise InputError(f"limits: {name} = {getattr(self, name)} must be above 0")

    @classmethod
    def for_spec(cls, spec: ServoSpec) -> Limits:
        """Return limits for a catalogue servo, derived from its ratings."""
        lowest_voltage, highest_voltage = spec.supply_range
        lowest_position, highest_position = spec.position_range
        return cls(
            lowest_position=lowest_position,
            highest_position=highest_position,
            speed=SPEED_MARGIN * spec.no_load_speed,
            hold_speed=HOLD_SPEED_SHARE * spec.no_load_speed,
            torque=spec.stall_torque,
            current=CURRENT_MARGIN * spec.max_current,
            temperature=spec.max_temperature - TEMPERATURE_MARGIN,
            lowest_voltage=(1.0 - VOLTAGE_MARGIN) * lowest_voltage,
            highest_voltage=(1.0 + VOLTAGE_MARGIN) * highest_voltage,
        )

    def require_within(self, ratings: Limits) -> None:
        """Check that these limits are not wider than a servo's ratings.

        Raises:
            CommandError: if a limit is wider than the rating.
        """
        for name, title, unit, side in _RATED:
            value, rating = getattr(self, name), getattr(ratings, name)
            if side * (value - rating) > ROUNDING * max(1.0, abs(rating)):
                extreme = "most" if side > 0 else "least"
                raise CommandError(
                    f"limits: the {title} of {value:.4g} {unit} is wider than the servo's rating of "
                    f"{rating:.4g} {unit}; choose one of at {extreme} {rating:.4g} {unit}"
                )

    def clamp_position(self, position: float) -> float:
        """Return the nearest allowed position goal [rad]."""
        return min(max(position, self.lowest_position), self.highest_position)

    def clamp_torque(self, torque: float) -> float:
        """Return the nearest allowed torque [N·m]."""
        return min(max(torque, -self.torque), self.torque)

    def check(self, reading: Reading, *, driven: bool) -> LimitViolation | None:
        """Return the first limit that a reading violates, or None.

        Position and speed are checked only while the motor is driven, since nothing can be done about them when it is
        released. A value that the servo does not report (NaN) passes, except the position of a driven servo.
        """
        if driven:
            position = reading.position
            if math.isnan(position):
                return LimitViolation("position", position, math.nan, "rad", "check the encoder and the cable")
            remedy = "look for a wrong mounting, direction or gain, or widen the angle limits"
            if position < self.lowest_position:
                return LimitViolation("position", position, self.lowest_position, "rad", remedy)
            if position > self.highest_position:
                return LimitViolation("position", position, self.highest_position, "rad", remedy)
            if abs(reading.velocity) > self.speed:
                return LimitViolation(
                    "speed", abs(reading.velocity), self.speed, "rad/s", "lower the gain or raise the speed limit"
                )
        if abs(reading.current) > self.current:
            return LimitViolation(
                "current", abs(reading.current), self.current, "A", "look for a blocked arm or use a lighter load"
            )
        if reading.temperature > self.temperature:
            return LimitViolation(
                "temperature", reading.temperature, self.temperature, "degC", "let the servo cool down"
            )
        if reading.supply_voltage < self.lowest_voltage:
            return LimitViolation(
                "supply voltage", reading.supply_voltage, self.lowest_voltage, "V", "check the power supply"
            )
        if reading.supply_voltage > self.highest_voltage:
            return LimitViolation(
                "supply voltage", reading.supply_voltage, self.highest_voltage, "V", "check the power supply"
            )
        return None

    def check_jump(self, before: Reading, reading: Reading, seconds: float) -> LimitViolation | None:
        """Return the violation of a driven servo whose position moved faster than the speed limit, or None.

        The check compares positions, because the servo's own velocity need not show the jump.

        Args:
            before: The previous reading.
            reading: The reading to check.
            seconds: Time between the two readings [s].
        """
        jump, farthest = abs(reading.position - before.position), FLICKER + self.speed * seconds
        if not jump > farthest:
            return None
        remedy = "check the encoder, its plugs and the power supply, and that no one else changes the servo's settings"
        return LimitViolation(f"a jump within {1e3 * seconds:.3g} ms of", jump, farthest, "rad", remedy)

    def check_hold(self, reading: Reading) -> LimitViolation | None:
        """Return the first violation of a reading while a torque is held for the user to work against, or None."""
        speed, limit = abs(reading.velocity), self.hold_speed
        violation = self.check(reading, driven=True)
        if violation is None and speed > limit:
            remedy = "keep the pendulum in your hand, hold less torque, or raise the speed limit for holding"
            return LimitViolation("speed while a torque is held", speed, limit, "rad/s", remedy)
        return violation


_RATED = (
    ("lowest_position", "lowest position", "rad", -1.0),
    ("highest_position", "highest position", "rad", 1.0),
    ("speed", "speed", "rad/s", 1.0),
    ("torque", "torque", "N·m", 1.0),
    ("current", "current", "A", 1.0),
    ("temperature", "temperature", "°C", 1.0),
    ("lowest_voltage", "lowest voltage", "V", -1.0),
    ("highest_voltage", "highest voltage", "V", 1.0),
)
"""Limit, its name and unit in a message, and the direction in which the limit becomes wider."""
