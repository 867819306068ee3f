"""Instructions for each step of placing by hand, independent of Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench_gui.headless.place.pushes import statement
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
    """Index into STEPS, or into BACKLASH_STEPS; −1 for none."""
    skip: str = ""
    """Text of the link that continues without this extreme; empty if there is none."""


USE = "Use these points"
STEPS = ("Hang", "Hold", "Down until it falls", "Up until it falls")
BACKLASH_STEPS = ("Hang", "Hold", "Push to larger angles", "Push to smaller angles")


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
    if placing.backlash:
        return _pushing(placing, key)
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
    model = placing.plan.model
    slowly = " slowly" if model is not None and model.values.get("load_memory") else ""
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
        f"Move the pendulum {way} a little at a time and let go{slowly}, until it falls. {kept}",
        following,
        2 if down else 3,
        f"Skip the {target.place}" if placing.placed(target) is None else "",
    )


def _pushing(placing: Placing, key: str) -> Guidance:
    """Return the instructions while no torque is held and the load is pushed."""
    push = placing.pushes.present if placing.pushes is not None else None
    if placing.stage is Stage.STARTING or push is None:
        return Guidance("HOLDING 0 N·m", "moving", "The servo takes hold without torque. Do not push yet.", "", 1)
    way = "larger" if push > 0.0 else "smaller"
    kept = "It is captured when it stays still." if placing.auto and placing.hand.drawn else f"Then press {key}."
    text = f"Push the pendulum gently towards {way} angles, against the teeth, and hold it there. {kept}"
    return Guidance("HOLDING 0 N·m", "moving", text, "", 2 if push > 0.0 else 3)


def _idle(placing: Placing) -> Guidance:
    target = placing.target
    if placing.obstacle:
        return Guidance("MOTOR OFF", "ready", f"Nothing can be placed: {placing.obstacle}.", "")
    free = "The servo confirmed that its motor is off: you may move the pendulum by hand."
    if placing.backlash:
        found = placing.pushes.found if placing.pushes is not None else None
        said = free if found is None else f"Measured backlash: {statement(found)}."
        text = f"{said} To measure{'' if found is None else ' again'}, let it hang still, then press Hold 0 N·m."
        return Guidance("MOTOR OFF", "ready", text, "Hold 0 N·m", 0)
    if target is None:
        return Guidance("MOTOR OFF", "ready", f"No torque to hold: {placing.plan.suggestion().reason}.", "")
    if placing.complete:
        count, fell = len(placing.plan.targets), sum(placing.bracketed(t) for t in placing.plan.targets)
        seen = "" if fell == count else f" {count - fell} without a fall seen beyond: the boundary may lie further out."
        text = f"All {count} extremes are placed.{seen} Use them in a fit, or measure more."
        return Guidance("MOTOR OFF", "ready", text, USE)
    hold = f"Hold {target.torque:g} N·m"
    return Guidance("MOTOR OFF", "ready", f"{free} Let it hang still, then press {hold}.", hold, 0)
