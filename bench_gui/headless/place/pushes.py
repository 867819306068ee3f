"""Pushes that measure backlash, which the window and `bench place --backlash` share: their torques and their result."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from core.practice.backlash import MeasuredBacklash, Push, measure_backlash
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.shipped import nominal_model
from drivers.simulated.hand import SharedHand

SHARES = (0.3, 0.6)
"""Default torques of a virtual hand as shares of the friction at rest, which holds the motor."""
UNKNOWN = (1.0,)
"""Torques of a person who states none: of one size."""
PUSH_SPEED = 0.05
"""Speed of a virtual hand that pushes [rad/s]: the load meets the teeth without a blow."""


@dataclass
class Pushes:
    """Pushes of one measurement, in turn both ways with every torque, and what they show so far."""

    torques: tuple[float, ...]
    """Sizes of the pushes [N·m]."""
    repeats: int
    position_step: float
    """Resolution of the encoder [rad]."""
    done: list[Push] = field(default_factory=list)

    @property
    def planned(self) -> tuple[float, ...]:
        """Torque of every push in order, the sign being the direction [N·m]."""
        return tuple(way * abs(torque) for torque in self.torques for way in (1.0, -1.0)) * self.repeats

    @property
    def present(self) -> float | None:
        """Torque of the push to capture next [N·m]; None after the last."""
        return self.planned[len(self.done)] if len(self.done) < len(self.planned) else None

    def capture(self, angle: float) -> None:
        """Store the angle of rest of the present push [rad]."""
        assert self.present is not None
        self.done.append(Push(torque=self.present, angle=angle))

    @property
    def found(self) -> MeasuredBacklash | None:
        """The backlash so far; None before there is a push each way."""
        return measure_backlash(self.done, self.position_step) if len(self.done) > 1 else None


def statement(found: MeasuredBacklash) -> str:
    """State a measured backlash in degrees with its error, and in radians."""
    error = "" if math.isinf(found.error) else f" ± {math.degrees(found.error):.2g}°"
    return f"{math.degrees(found.backlash):.3g}°{error} ({found.backlash:.4g} rad)"


def gentle_torques(servo: str) -> tuple[float, ...]:
    """Return torques that do not turn the motor of a simulated servo [N·m]."""
    values = nominal_model(load_servo(servo)).values
    return tuple(share * (values["friction_base"] + values.get("friction_stribeck", 0.0)) for share in SHARES)


def felt_bench(bench: Bench, servo: str) -> Bench:
    """Return a bench as a virtual hand feels it, which hangs at the zero of the simulated servo's shaft."""
    zero = nominal_model(load_servo(servo)).values.get("q_offset", 0.0)
    return replace(bench, angle_offset=bench.angle_offset + zero)


def push_gently(hand: SharedHand, torque: float, bench: Bench, position: float) -> None:
    """Push a simulated load at a position [rad] so that the teeth feel a torque [N·m]: the hand also bears its weight.

    A damper keeps the load from hitting the teeth.
    """
    hand.torque = torque - bench.external_torque(position)
    hand.pull_to(0.0, 0.0, abs(torque) / PUSH_SPEED)
