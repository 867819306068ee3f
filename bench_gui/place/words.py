"""What a person is told at each step of placing by hand, in plain words; without Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench_gui.place.placing import Placing, Stage
from bench_gui.state.servo_link import ServoView
from core.placement import DRIVE
from drivers.servo import ServoState


@dataclass(frozen=True)
class Guidance:
    """What is going on and what to do."""

    state: str
    """In capitals, to be read from two metres."""
    kind: str
    """As the style sheet colours it: off, ready, moving, stopped, fault."""
    text: str
    """What a person does now."""
    primary: str
    """On the big button; empty when there is nothing to press."""
    step: int = -1
    """Which of STEPS this is; −1: none."""
    skip: str = ""
    """On the link that goes on without this extreme; empty when there is none."""


STEPS = ("Hang", "Hold", "Down until it falls", "Up until it falls")


def guidance(placing: Placing, view: ServoView, key: str, locked_for: float) -> Guidance:
    """Words for the present step.

    key: what captures a rest, e.g. "Space"; locked_for: how long commands are still refused [s].
    """
    target = placing.target
    if view.state is ServoState.FAULT:
        text = f"The servo let go: {view.fault or 'a fault'}. Points placed before stay."
        return Guidance("MOTOR OFF", view.kind, text, "Ready again" if view.stopped else "Acknowledge")
    if view.state is ServoState.DISCONNECTED:
        text = "Connecting…" if view.connecting else "Connect the servo to begin. Points placed before stay here."
        return Guidance("OFF", "off", text, "" if view.connecting else "Connect")
    if placing.stage is Stage.ENDING:
        return Guidance("LETTING GO", "moving", "The torque goes back to zero; the pendulum sinks.", "")
    if placing.stage is Stage.IDLE and view.state is ServoState.ENABLED:
        return Guidance(view.word, "moving", "The servo is busy with a run. Place by hand when it has ended.", "")
    if placing.stage is Stage.IDLE and locked_for > 0.0:
        text = f"After an emergency stop the servo takes no command for another {math.ceil(locked_for)} s."
        return Guidance("MOTOR OFF", "ready", text, "")
    if placing.stage is Stage.IDLE:
        return _idle(placing)
    assert target is not None
    held = f"{target.torque:g} N·m"
    if placing.stage is Stage.STARTING:
        return Guidance(
            f"HOLDING {held}",
            "moving",
            f"The servo takes up {held}. Keep the pendulum from swinging, then let go until it rests.",
            "",
            1,
        )
    down = target.side == DRIVE
    way = "down, towards hanging," if down else "up, away from hanging,"
    kept = "Each rest is captured." if placing.auto else f"Press {key} at each rest."
    after = placing.following
    if after is None:
        following = "Finish"
    elif after.torque == target.torque:
        following = f"Next: the {after.place}"
    else:
        following = f"Next: {after.torque:g} N·m"
    return Guidance(
        f"HOLDING {held}",
        "moving",
        f"Move the pendulum {way} a little at a time and let go, until it falls. {kept}",
        following,
        2 if down else 3,
        f"Skip the {target.place}" if placing.placed(target) is None else "",
    )


def _idle(placing: Placing) -> Guidance:
    target = placing.target
    if target is None:
        return Guidance("MOTOR OFF", "ready", f"No torque to hold: {placing.plan.suggestion().reason}.", "")
    placed = sum(placing.placed(t) is not None for t in placing.plan.targets)
    if placed == len(placing.plan.targets):
        return Guidance(
            "MOTOR OFF",
            "ready",
            "Every extreme is placed. Raise the repeats, take other torques, or measure a point again.",
            "",
        )
    free = "The motor is off, the servo confirmed it: hands may move the pendulum."
    hold = f"Hold {target.torque:g} N·m"
    return Guidance("MOTOR OFF", "ready", f"{free} Let it hang still, then press {hold}.", hold, 0)
