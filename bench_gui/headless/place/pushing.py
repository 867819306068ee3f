"""Backlash without the window: a load is pushed gently both ways while the servo's motor carries no torque."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bench_gui.headless.place.measuring import SETTLE_LIMIT, Held, PlacementPlan, held_servo
from bench_gui.headless.place.pushes import UNKNOWN, Pushes, felt_bench, gentle_torques, push_gently
from bench_gui.headless.place.rests import RestFinder
from core.base.errors import ServoBenchError
from core.practice.backlash import MeasuredBacklash, Push, measure_backlash
from core.servo.bench import Bench
from drivers.simulated.hand import SharedHand


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
