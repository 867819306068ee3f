"""Backlash by pushes: a load is pushed gently both ways while the servo's motor carries no torque.

The window and `bench place --backlash` share this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from bench_gui.headless.place.measuring import SETTLE_LIMIT, Held, PlacementPlan, held_servo
from bench_gui.headless.place.rests import RestFinder
from core.base.errors import ServoBenchError
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


class Pusher(Protocol):
    """Pushes the load: the user, or a virtual hand."""

    def push(self, torque: float) -> None:
        """Begin to push with a torque [N·m]."""
        ...

    def captured(self, time: float, position: float) -> float | None:
        """Process a sample [s, rad] and return the angle of rest [rad]; None until there is one."""
        ...


@dataclass
class VirtualPusher:
    """Pushes the load of a simulated servo."""

    hand: SharedHand
    finder: RestFinder
    bench: Bench
    torque: float = 0.0
    """Torque of the present push [N·m]."""

    def push(self, torque: float) -> None:
        """Begin to push with a torque [N·m]."""
        self.torque = torque
        self.finder.restart()

    def captured(self, time: float, position: float) -> float | None:
        """Process a sample [s, rad] and return the angle of rest [rad]; None until there is one."""
        push_gently(self.hand, self.torque, self.bench, position)
        self.finder.feed(time, position, True)
        return self.finder.steadiness.angle if self.finder.settled else None


def push_gently(hand: SharedHand, torque: float, bench: Bench, position: float) -> None:
    """Push a simulated load at a position [rad] so that the teeth feel a torque [N·m]: the hand also bears its weight.

    A damper keeps the load from hitting the teeth.
    """
    hand.torque = torque - bench.external_torque(position)
    hand.pull_to(0.0, 0.0, abs(torque) / PUSH_SPEED)


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


def push_both_ways(
    plan: PlacementPlan, person: Callable[[float, float], Pusher], show: Callable[[str], None]
) -> tuple[MeasuredBacklash, list[Push]]:
    """Push the load both ways with every torque of a plan and measure the backlash.

    Args:
        plan: Servo and bench; its torques are those of the pushes, and each is repeated.
        person: Creates the pusher for a real servo, from its position step [rad] and the minimum rest [s].
        show: Called with progress messages.

    Returns:
        The backlash, and the pushes.

    Raises:
        ServoBenchError: The servo failed, or the load did not come to rest.
    """
    with held_servo(plan) as (identity, held, hand):
        identity.require_torque()
        finder = RestFinder(identity.position_step, plan.steady_time)
        pusher = (
            person(identity.position_step, plan.steady_time)
            if hand is None
            else VirtualPusher(hand, finder, felt_bench(plan.bench, identity.model))
        )
        torques = plan.torques or (UNKNOWN if hand is None else gentle_torques(identity.model))
        pushes = Pushes(torques, plan.repeats, identity.position_step)
        while (push := pushes.present) is not None:
            pusher.push(push)
            pushes.capture(_rest(held, pusher, hand is not None))
            show(f"{push:+.3g} N·m: {math.degrees(pushes.done[-1].angle):.2f}°")
        if hand is not None:
            hand.torque = 0.0
        return measure_backlash(pushes.done, identity.position_step), pushes.done


def gentle_torques(servo: str) -> tuple[float, ...]:
    """Return torques that do not turn the motor of a simulated servo [N·m]."""
    values = nominal_model(load_servo(servo)).values
    return tuple(share * (values["friction_base"] + values.get("friction_stribeck", 0.0)) for share in SHARES)


def felt_bench(bench: Bench, servo: str) -> Bench:
    """Return a bench as a virtual hand feels it, which hangs at the zero of the simulated servo's shaft."""
    zero = nominal_model(load_servo(servo)).values.get("q_offset", 0.0)
    return replace(bench, angle_offset=bench.angle_offset + zero)


def _rest(held: Held, pusher: Pusher, impatient: bool) -> float:
    """Return the angle of rest under a push [rad]; a user may take any time."""
    begin = math.nan
    while True:
        for sample in held.take(0.0):
            begin = sample.time if math.isnan(begin) else begin
            angle = pusher.captured(sample.time, sample.position)
            if angle is not None:
                return angle
            if impatient and sample.time - begin > SETTLE_LIMIT:
                raise ServoBenchError(
                    f"the load did not come to rest within {SETTLE_LIMIT:g} s: push with a smaller torque"
                )
