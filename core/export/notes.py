"""What a README says of a servo that an engine cannot hold as it is: what is missing, what stands there instead, how
far that is from the identified model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from core.bench import Bench
from core.export.approximation import Approximation, Form
from core.export.references import SAMPLE, bench_grid, converged_positions, mean_errors, own_motion
from core.model import ServoModel
from core.recording import ServoSettings
from core.terms import CONTACT_TITLES

WORTH_A_NOTE = 0.5
"""A difference between the identified step and a converged one above this is said [mrad]."""

EXACT = (
    "Nothing is approximated: friction, control law, motor and command path are the identified ones. What remains is "
    "the engine's discretisation; the check states it."
)
"""Said of an export without an error of its own."""

_FRICTION = {
    "m1": "Coulomb–viscous friction",
    "m2": "Stribeck friction of exponent {alpha:g}",
    "viscous": "viscous friction alone",
}
_IN_PLAIN_DRIVE = ("error_gain_ratio",)
"""Command path terms that a plain drive's gain contains."""


def missing_terms(model: ServoModel, form: Form) -> list[str]:
    """Parts of a model that an engine of this form has no place for, in words; empty when it holds all of it."""
    missing = [] if form.holds_friction(model) else [f"friction {model.friction.upper()}"]
    missing += [] if model.contact == "rigid" else [f"the {CONTACT_TITLES[model.contact].lower()} contact"]
    kept = (*form.kept, *_IN_PLAIN_DRIVE) if form.plain_drive else form.kept
    missing += [name.replace("_", " ") for name in model.command_path if name not in kept and model.values[name] > 0.0]
    if model.control.bridge == "coast":
        missing.append("the drive/coast bridge")
    if form.plain_drive:
        voltage = model.control.law == "voltage"
        missing.append("a back-EMF beyond the torque limit" if voltage else "the current's limit by the supply voltage")
    return missing


def fit_notes(model: ServoModel, approximation: Approximation, engine: str, missing: Sequence[str]) -> list[str]:
    """What is written in the model's place, with its refitted values and its errors; missing: see `missing_terms`."""
    written = approximation.model
    friction = _FRICTION["m2" if written.friction == "m2" else "m1" if written.values["friction_base"] else "viscous"]
    what = friction.format(alpha=written.values.get("alpha", 1.0))
    changed = ", ".join(approximation.refitted)
    values = ", ".join(f"{name} = {written.values[name]:.6g}" for name in approximation.refitted)
    how = f"with {changed} refitted to the model's own motion ({values})" if changed else "with its values unchanged"
    return [
        f"{engine} has no place for {', '.join(missing) or 'friction as a budget'}; written is the best servo with "
        f"{what}, {how}.",
        f"Its error against the full model is {approximation.mean_mrad:.2f} mrad on average and "
        f"{approximation.worst_mrad:.2f} mrad in the worst run ({approximation.worst_run}) over the four trajectories, "
        f"two loads and two gains; {1e3 * approximation.held_back_error:.2f} mrad at a load and gain it was not "
        "fitted to.",
    ]


def settings_note(settings: ServoSettings) -> str:
    """What of the servo's settings an export fixes."""
    damping = "" if settings.damping is None else f", damping {settings.damping:g}"
    integral = f", ki {settings.ki:g}" if settings.ki else ""
    return (
        f"Fixed by this export: kp {settings.kp:g}{integral}{damping}, supply {settings.supply_voltage:g} V. "
        "Derivative gain is 0."
    )


def fidelity(model: ServoModel, held: ServoModel, bench: Bench, settings: ServoSettings) -> tuple[str, float]:
    """How faithful `held` is where an engine computes it in place of a model: a sentence and the mean error [mrad].

    `held` is the model, or the model with a rigid contact.
    """
    if held.contact == model.contact:
        return EXACT, 0.0
    lost = 1e3 * float(mean_errors(bench_grid(bench, settings), model, held).mean())
    return (
        f"The model's contact is {CONTACT_TITLES[model.contact].lower()} and is written as a rigid one: before it "
        f"slips, friction gives nothing. That is {lost:.2f} mrad on average over the four trajectories, two loads and "
        "two gains. All else is as identified, and the engine's discretisation remains.",
        lost,
    )


def lead_note(timestep: float) -> str:
    """How far an engine that moves positions with the new velocity is ahead of held goals; timestep [s]."""
    return (
        "The engine moves positions with the new velocity, so a joint leads held goals by half a time step: "
        f"{0.5e3 * timestep:.3g} mrad for each rad/s at {timestep * 1e3:g} ms, which the check contains. Shorter steps "
        "make it smaller; 1 ms or less suits."
    )


def zero_number(model: ServoModel) -> dict[str, float]:
    """The shaft's angle where the servo reads 0 [rad] by its name in JSON files; empty where it is 0."""
    offset = model.values.get("q_offset", 0.0)
    return {"zero_offset": offset} if offset else {}


def zero_comment(model: ServoModel, mark: str = "", remedy: str = "") -> str:
    """Comment line for a file on the servo's zero; empty where it is the joint's. mark: begins the line."""
    offset = model.values.get("q_offset", 0.0)
    said = f"Where this servo reads 0, its shaft is at {offset:.6g} rad ({math.degrees(offset):.6g} degrees)."
    return f"{mark}{said} {remedy}".rstrip() + ("\n" if mark else "") if offset else ""


def zero_notes(model: ServoModel) -> list[str]:
    """How far the servo's own zero is from that of its joint; nothing where they are the same."""
    offset = model.values.get("q_offset", 0.0)
    if offset == 0.0:
        return []
    return [
        f"Zero: where this servo reads 0, its shaft is at {offset:.6g} rad. The example's pendulum is mounted so; on a "
        f"joint of your robot the servo goes to its goal {offset:+.6g} rad, and reads the joint's angle {-offset:+.6g} "
        "rad: add that to goals and readings, move the joint's zero, or write the former as `joint_zero` into the "
        "servo's file where it has that: the program then adds it to goals."
    ]


def bristle_notes(model: ServoModel, reset: str) -> list[str]:
    """What an export that holds an elastoplastic contact says of it; nothing of a rigid one. reset: what zeroes it."""
    if model.contact == "rigid":
        return []
    values = model.values
    return [
        f"The contact is {CONTACT_TITLES[model.contact].lower()}: before it slips it gives by a spring of "
        f"{values['bristle_stiffness']:.4g} N·m/rad and a damper of {values['bristle_damping']:.4g} N·m·s/rad. Its "
        f"deflection is state of the joint; {reset} zeroes it."
    ]


def step_notes(model: ServoModel, bench: Bench, settings: ServoSettings) -> list[str]:
    """How far the converged motion, which is exported, is from the model's at its own step; nothing when it is near."""
    mean = _step_difference(replace(model, name="", provenance={}).to_json_text(), bench, settings)
    if mean < WORTH_A_NOTE:
        return []
    return [
        f"The model was identified with integrator {model.integrator} at a step of {model.step * 1e3:g} ms; simulated "
        f"so, its motion is {mean:.2f} mrad on average from its converged one, which is what is exported."
    ]


@lru_cache(maxsize=32)
def _step_difference(text: str, bench: Bench, settings: ServoSettings) -> float:
    model = ServoModel.from_json_text(text)
    differences: list[float] = []
    for run in bench_grid(bench, settings):
        converged, own = converged_positions(model, run), own_motion(model, run)
        there = np.interp(own.time, SAMPLE * np.arange(len(converged)), converged)
        differences.append(float(np.abs(own.position - there).mean()))
    return 1e3 * float(np.mean(differences))
