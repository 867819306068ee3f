"""Instructions for each step of placing by hand, independent of Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench_gui.place.placing import Placing, Stage
from bench_gui.state.servo_link import ServoView
from core.practice.placement import DRIVE
from drivers.servo import ServoState


@dataclass(frozen=True)
class Guidance:
    """The present state and the next action."""

    state: str
    """In capitals, readable from two metres."""
    kind: str
    """Kind of state for the style sheet: off, ready, moving, stopped, fault."""
    text: str
    """Instruction for the user."""
    primary: str
    """Text of the primary button; empty if there is nothing to press."""
    step: int = -1
    """Index into STEPS; −1 for none."""
    skip: str = ""
    """Text of the link that continues without this extreme; empty if there is none."""


USE = "Use these points"
STEPS = ("Hang", "Hold", "Down until it falls", "Up until it falls")


def guidance(placing: Placing, view: ServoView, key: str) -> Guidance:
    """Return the instructions for the present step.

    Args:
        placing: The measurement.
        view: State of the servo.
        key: Name of the capture key, for example "Space".
    """
    target = placing.target
    if view.state is ServoState.FAULT:
        text = f"The servo was released: {view.fault or 'a fault'}. Placed points are kept."
        return Guidance("MOTOR OFF", view.kind, text, "Ready again" if view.stopped else "Acknowledge")
    if view.state is ServoState.DISCONNECTED:
        text = "Connecting…" if view.connecting else "Connect the servo to begin. Placed points are kept."
        return Guidance("OFF", "off", text, "" if view.connecting else "Connect")
    if placing.stage is Stage.ENDING:
        return Guidance("RELEASING", "moving", "The torque returns to zero and the pendulum sinks.", "")
    if placing.stage is Stage.IDLE and view.state is ServoState.ENABLED:
        return Guidance(view.word, "moving", "The servo is busy with a run. Place by hand when it has ended.", "")
    if placing.stage is Stage.IDLE and view.locked_for > 0.0:
        text = f"After an emergency stop the servo accepts no command for another {math.ceil(view.locked_for)} s."
        return Guidance("MOTOR OFF", "ready", text, "")
    if placing.stage is Stage.IDLE:
        return _idle(placing)
    assert target is not None
    held = f"{target.torque:g} N·m"
    if placing.stage is Stage.STARTING:
        return Guidance(
            f"HOLDING {held}",
            "moving",
            f"The servo raises its torque to {held}. Keep the pendulum from swinging, then let go until it rests.",
            "",
            1,
        )
    down = target.side == DRIVE
    way = "down, towards hanging," if down else "up, away from hanging,"
    kept = "Each rest is captured automatically." if placing.auto else f"Press {key} at each rest."
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
    if placing.obstacle:
        return Guidance("MOTOR OFF", "ready", f"Nothing can be placed: {placing.obstacle}.", "")
    if target is None:
        return Guidance("MOTOR OFF", "ready", f"No torque to hold: {placing.plan.suggestion().reason}.", "")
    if placing.complete:
        count, fell = len(placing.plan.targets), sum(placing.bracketed(t) for t in placing.plan.targets)
        seen = "" if fell == count else f" {count - fell} without a fall seen beyond: the boundary may lie further out."
        text = f"All {count} extremes are placed.{seen} Use them in a fit, or measure more."
        return Guidance("MOTOR OFF", "ready", text, USE)
    free = "The servo confirmed that its motor is off: you may move the pendulum by hand."
    hold = f"Hold {target.torque:g} N·m"
    return Guidance("MOTOR OFF", "ready", f"{free} Let it hang still, then press {hold}.", hold, 0)
