"""Backlash without the window: a load is pushed gently both ways while the servo's motor carries no torque."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bench_gui.headless.place.measuring import SETTLE_LIMIT, Held, PlacementPlan, held_servo, known_model
from bench_gui.headless.place.rests import RestFinder
from core.base.errors import InputError, ServoBenchError
from core.practice.backlash import MeasuredBacklash, Push, measure_backlash
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
    """Pushes the load of a simulated servo with a torque and a damper."""

    hand: SharedHand
    finder: RestFinder

    def push(self, torque: float) -> None:
        """Begin to push with a torque [N·m]."""
        self.hand.torque = torque
        self.hand.pull_to(0.0, 0.0, abs(torque) / PUSH_SPEED)
        self.finder.restart()

    def captured(self, time: float, position: float) -> float | None:
        """Process a sample [s, rad] and return the angle of rest [rad]; None until there is one."""
        self.finder.feed(time, position, True)
        return self.finder.steadiness.angle if self.finder.settled else None


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
        pusher = person(identity.position_step, plan.steady_time) if hand is None else VirtualPusher(hand, finder)
        torques = plan.torques or (UNKNOWN if hand is None else _gentle(identity.model))
        pushes: list[Push] = []
        for _ in range(plan.repeats):
            for torque in torques:
                for push in (abs(torque), -abs(torque)):
                    pusher.push(push)
                    pushes.append(Push(torque=push, angle=_rest(held, pusher, hand is not None)))
                    show(f"{push:+.3g} N·m: {math.degrees(pushes[-1].angle):.2f}°")
        if hand is not None:
            hand.torque = 0.0
        return measure_backlash(pushes, identity.position_step), pushes


def _gentle(servo: str) -> tuple[float, ...]:
    model = known_model(servo)
    if model is None:
        raise InputError(f"no friction of {servo} is known: give torques below the friction of its gears")
    at_rest = model.values["friction_base"] + model.values.get("friction_stribeck", 0.0)
    return tuple(share * at_rest for share in SHARES)


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
