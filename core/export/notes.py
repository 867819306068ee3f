"""README notes on a servo that an engine cannot represent exactly: missing parts and their replacement.

Notes give no error: only a check does (`core.export.protocol`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from core.export.approximation import Approximation, Form
from core.export.references import SAMPLE, bench_grid, command_scale, converged_positions, own_motion
from core.practice.reach import REACH, fitted_to, lacks
from core.servo.actuator import COMMANDS, FAST_DECAY
from core.servo.bench import Bench
from core.servo.model import RATIONAL_WIDTH, ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import COMMAND_PATH, CONTACT_TITLES, path_of

WORTH_A_NOTE = 0.5
"""The README states larger differences between the motion at the identified time step and the converged one [mrad]."""

AS_IDENTIFIED = (
    "Friction, control law, motor and command path are computed as identified. What the engine's time step adds is "
    "found by the check."
)
"""Statement of an export that refits nothing; it must stay true beside any figure of a check."""

_FRICTION = {
    "m1": "Coulomb–viscous friction",
    "m2": "Stribeck friction of exponent {alpha:g}",
    "viscous": "viscous friction only",
}
_IN_PLAIN_DRIVE = ("error_gain_ratio",)
"""Command path terms that a plain drive's gain contains."""


def missing_terms(model: ServoModel, form: Form) -> list[str]:
    """Return the parts of a model that an engine of this form cannot represent, in words; empty if it holds all."""
    missing = [] if form.holds_friction(model) else [f"friction {model.friction.upper()}"]
    missing += [] if model.contact == "rigid" else [f"the {CONTACT_TITLES[model.contact].lower()} contact"]
    kept = (*form.kept, *_IN_PLAIN_DRIVE) if form.plain_drive else form.kept
    missing += lost_terms(model, kept)
    if model.control.drive == FAST_DECAY:
        missing.append("fast decay of the drive")
    if form.plain_drive:
        voltage = model.control.law == "voltage"
        missing.append("a back-EMF beyond the torque limit" if voltage else "the current's limit by the supply voltage")
    return missing


def lost_terms(model: ServoModel, kept: Sequence[str]) -> list[str]:
    """Return the model's terms of the command path that have an effect and are not among those kept, in words."""
    path = path_of(model.friction, model.command_path)
    names = [name for name in path if name not in kept and model.values[name] > 0.0]
    return [COMMAND_PATH[name].title if name == "load_memory" else name.replace("_", " ") for name in names]


def fit_notes(approximation: Approximation, engine: str, missing: Sequence[str]) -> list[str]:
    """Describe the approximation, then its refitted values; `missing` comes from `missing_terms`."""
    written = approximation.model
    friction = _FRICTION["m2" if written.friction == "m2" else "m1" if written.values["friction_base"] else "viscous"]
    what = friction.format(alpha=written.values.get("alpha", 1.0))
    values = ", ".join(f"{name} = {written.values[name]:.6g}" for name in approximation.refitted)
    how = "refitted to the model's own motion" if values else "with its values unchanged"
    lost = f"{engine} cannot represent {', '.join(missing) or 'friction as a budget'}. The export holds the best "
    return [f"{lost}servo with {what}, {how}.", *([f"Refitted: {values}."] if values else [])]


def command_notes(model: ServoModel) -> list[str]:
    """Say what a command is if it is not an angle."""
    command = COMMANDS[model.control.command]
    if command.kind == "position":
        return []
    return [
        f"Commands are not angles: wherever these files and programs speak of goals, give {command.words} "
        f"[{command.unit}]. The servo's gains have no effect."
    ]


def gain_notes(model: ServoModel, settings: ServoSettings) -> list[str]:
    """Say that an export has a gain beyond those of the fit; shipped models do not say which these were."""
    found = lacks(model, 0.0, settings.kp, 0.0, False) if REACH in model.provenance else ()
    beyond = [lack for lack in found or () if lack.kind == "kp"] if model.control.command == "position" else []
    return [f"{fitted_to(model)} {lack.fitted}, and this export has {lack.here}: it may err more." for lack in beyond]


def settings_note(model: ServoModel, settings: ServoSettings) -> str:
    """List the servo settings that an export fixes."""
    if model.control.command != "position":
        return f"Fixed by this export: supply {settings.supply_voltage:g} V."
    damping = "" if settings.damping is None else f", damping {settings.damping:g}"
    integral = f", ki {settings.ki:g}" if settings.ki else ""
    return (
        f"Fixed by this export: kp {settings.kp:g}{integral}{damping}, supply {settings.supply_voltage:g} V. "
        "Derivative gain is 0."
    )


def fidelity(model: ServoModel, contact: str, backlash: bool, load_memory: bool) -> str:
    """Describe how faithful a model without approximated values is to the identified one.

    Args:
        model: The identified model.
        contact: The written contact.
        backlash: True if the target can hold backlash.
        load_memory: True if the target can hold memory of the load.
    """
    lost = rigid_notes(model) if contact != model.contact else []
    if not backlash and model.values.get("backlash"):
        lost.append(
            f"The model's backlash of {math.degrees(model.values['backlash']):.3g}° is left out: the load moves with "
            "the motor at once."
        )
    if not load_memory and model.values.get("load_memory") and "load_memory" in path_of(model.friction, model.values):
        lost.append(
            f"The model's memory of the load, {model.values['load_memory']:.3g} s, is left out: friction follows the "
            "load at once."
        )
    return " ".join([*lost, "Everything else is computed as identified."]) if lost else AS_IDENTIFIED


def rigid_notes(model: ServoModel) -> list[str]:
    """State what is lost where a model's contact is written as a rigid one; empty if it is rigid."""
    if model.contact == "rigid":
        return []
    notes = [
        f"The model's contact is {CONTACT_TITLES[model.contact].lower()} and is written as a rigid one: friction "
        "no longer yields before it slips."
    ]
    if model.contact == "elastoplastic_rational" and "dtheta_stribeck" in model.values:
        notes.append(
            f"An exponential replaces the rational fall with the speed, with {RATIONAL_WIDTH:g} times the Stribeck "
            "velocity, at which the two are closest."
        )
    return notes


def lead_note(timestep: float) -> str:
    """State how far an engine that updates positions with the new velocity leads held goals; timestep in s."""
    return (
        "The engine updates positions with the new velocity, so a joint leads held goals by half a time step: "
        f"{0.5e3 * timestep:.3g} mrad for each rad/s at {timestep * 1e3:g} ms. The check includes this. Shorter time "
        "steps reduce it; 1 ms or less is recommended."
    )


def zero_number(model: ServoModel) -> dict[str, float]:
    """Return the shaft angle at which the servo reads 0 [rad] under its JSON key; empty if it is 0."""
    offset = model.values.get("q_offset", 0.0)
    return {"zero_offset": offset} if offset else {}


def zero_comment(model: ServoModel, mark: str = "", remedy: str = "") -> str:
    """Comment line for a file on the servo's zero, beginning with `mark`; empty if it is the joint's zero."""
    offset = model.values.get("q_offset", 0.0)
    said = f"Where this servo reads 0, its shaft is at {offset:.6g} rad ({math.degrees(offset):.6g} degrees)."
    return f"{mark}{said} {remedy}".rstrip() + ("\n" if mark else "") if offset else ""


def zero_notes(model: ServoModel) -> list[str]:
    """State the distance between the servo's zero and the joint's; empty if they are the same."""
    offset = model.values.get("q_offset", 0.0)
    if offset == 0.0:
        return []
    said = (
        f"Zero: where this servo reads 0, its shaft is at {offset:.6g} rad. The example's pendulum is mounted this "
        "way. On a joint of your robot the servo "
    )
    if model.control.command != "position":
        return [f"{said}reads the joint's angle {-offset:+.6g} rad; its commands are no angles and stay as they are."]
    return [
        f"{said}moves to its goal {offset:+.6g} rad and reads the joint's angle {-offset:+.6g} rad. Add these to goals "
        "and readings, move the joint's zero, or set `joint_zero` in the servo's file, if it has that key, to the "
        "first value: the program then adds it to goals."
    ]


def bristle_notes(model: ServoModel, reset: str) -> list[str]:
    """Describe an elastoplastic contact; empty for a rigid one. `reset` names the call that zeroes its deflection."""
    if model.contact == "rigid":
        return []
    values = model.values
    return [
        f"The contact is {CONTACT_TITLES[model.contact].lower()}: before it slips it yields like a spring of "
        f"{values['bristle_stiffness']:.4g} N·m/rad with a damper of {values['bristle_damping']:.4g} N·m·s/rad. Its "
        f"deflection is a state of the joint; {reset} zeroes it."
    ]


def step_notes(model: ServoModel, bench: Bench, settings: ServoSettings) -> list[str]:
    """State how far the exported, converged motion is from the model's at its own time step; empty if close."""
    mean, worst = _step_difference(replace(model, name="", provenance={}).to_json_text(), bench, settings)
    if mean < WORTH_A_NOTE:
        return []
    return [
        f"The model was identified with integrator {model.integrator} at a time step of {model.step * 1e3:g} ms. At "
        f"that time step its own motion is {mean:.2f} mrad from its converged motion on average, {worst:.2f} mrad in "
        "the worst run. The converged motion is the exported one."
    ]


@lru_cache(maxsize=32)
def _step_difference(text: str, bench: Bench, settings: ServoSettings) -> tuple[float, float]:
    model = ServoModel.from_json_text(text)
    differences: list[float] = []
    for run in bench_grid(bench, settings):
        run = replace(run, scale=command_scale(model, run.bench, settings))
        converged, own = converged_positions(model, run), own_motion(model, run)
        there = np.interp(own.time, SAMPLE * np.arange(len(converged)), converged)
        differences.append(float(np.abs(own.position - there).mean()))
    return 1e3 * float(np.mean(differences)), 1e3 * max(differences)
