"""Export to the flat parameter files of Rhoban/bam.

Next to the identified values, the export writes values carried over to its fixed integrator and time step. They absorb
part of the error that these cause.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from core.base.arrays import Array
from core.base.errors import ExportError
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported
from core.export.drives.carrying import Carried, compared, mean_magnitudes
from core.export.files import require_written, slug
from core.export.notes import rigid_notes
from core.export.protocol import conditions
from core.export.references import GridRun, default_bench, own_motion
from core.motion.simulation import Motion
from core.servo.actuator import FAST_DECAY, SLOW_DECAY
from core.servo.model import BAM_COMMAND_PATH, ServoModel, model_to_bam, with_contact, without_terms
from core.servo.terms import CONTACTS

BAM_STEP = 0.005
"""Default time step of Rhoban/bam's simulation [s]."""

_ACTUATORS = {"sts3215_7v4": "sts3215"} | {
    name: name for name in ("erob80_50", "erob80_100", "mx64", "mx106", "unitree_go1", "xl320", "xl330")
}
"""Rhoban/bam's name of each servo that its code drives."""


MISSING = ("leave out", "refuse")


@dataclass(frozen=True, kw_only=True)
class BamOptions:
    """Options of the export to Rhoban/bam."""

    missing: str = field(default="leave out", metadata={"choices": MISSING})
    """Terms for which the format has no key: leave them out, or refuse the export."""


def write_bam(model: ServoModel, folder: Path, options: BamOptions) -> ExportResult:
    """Write `<name>.bam.json`; raise ExportError for terms without a key if `missing` is "refuse"."""
    if options.missing not in MISSING:
        raise ExportError(f"export to bam: missing is one of {', '.join(MISSING)}, not {options.missing!r}")
    held, lost = in_bam(model)
    if lost and options.missing == "refuse":
        raise ExportError(f"{model.title}: Rhoban/bam has no {', '.join(lost)}; `missing=leave out` writes the rest")
    name = f"{slug(model.title)}.bam.json"
    step = f"{BAM_STEP * 1e3:g}"
    found, other = in_bam_order(model, held), name.replace(".json", f"-{step}ms.json")
    notes = [
        *([f"Left out because the format has no key: {', '.join(lost)}."] if lost else []),
        "Rhoban/bam simulates with its own integrator and a rigid contact, and counts the quadratic term only where "
        f"the torques oppose. The check compares its motion at {step} ms with the model's own.",
        *rigid_notes(model),
        f"The format has no bounds, units, provenance, integrator or time step. These values were identified with "
        f"{model.integration}.",
        "Its code, not this file, holds the control law and its constants. Compare them with this model's: "
        f"{firmware(model)}.",
    ]
    if model.servo not in _ACTUATORS:
        notes.append(f"Its code has no actuator for the {model.spec.title}; it needs one to use these values.")
    if "command_delay" in held.values:
        notes.append("Its simulation uses `command_delay`; its actuators for mjlab and MuJoCo do not.")
    if model.control.drive == FAST_DECAY:
        notes.append("It has no drive with fast decay: inductance and PWM period are written but not used.")
    contents, meanings = {name: bam_text(held)}, {name: "flat parameters by name"}
    if found.carried is not None:
        contents[other] = bam_text(found.carried.model)
        meanings[other] = (
            f"values carried over to Rhoban/bam's integrator at {step} ms; use them nowhere else. Simulated here over "
            f"the runs of the check, they are {found.carried.mean_mrad:.2f} mrad from the model on average, "
            f"{found.carried.worst_mrad:.2f} mrad in the worst run"
        )
    return exported(folder, model, "bam", "parameter file of Rhoban/bam", contents, meanings, notes, approximated=True)


def in_bam(model: ServoModel) -> tuple[ServoModel, list[str]]:
    """Return the part of the model that Rhoban/bam's keys can hold, with a rigid contact, and the lost terms."""
    unknown = [name for name in model.command_path if name not in BAM_COMMAND_PATH.values()]
    lost = [name for name in unknown if model.values[name] > 0.0]
    return replace(without_terms(with_contact(model, "rigid"), unknown), name=model.title), lost


def bam_text(held: ServoModel) -> str:
    """Text of the parameter file of a model that `in_bam` returned."""
    flat = {**model_to_bam(held), "actuator": _ACTUATORS.get(held.servo, held.servo)}
    return json.dumps(flat, indent=4) + "\n"


def firmware(model: ServoModel) -> str:
    """Describe the control law and its constants."""
    control = model.control
    unit = "A" if control.law == "current" else "duty cycle"
    return (
        f"{control.law} law, {control.error_gain:.8g} {unit} per rad and unit of kp, "
        f"at most {control.output_limit:g} {unit}"
    )


def as_peer(held: ServoModel) -> ServoModel:
    """Return `held` with the update order and time step of Rhoban/bam."""
    control = replace(held.control, drive=SLOW_DECAY)
    return replace(held, control=control, integrator="bam", dt=BAM_STEP, substeps=1, quadratic_gate="opposing")


def in_bam_order(model: ServoModel, held: ServoModel) -> Carried:
    """Compare Rhoban/bam's motion with the model's own; takes a second and is cached."""
    texts = [replace(one, name="", provenance={}).to_json_text() for one in (model, held)]
    return _in_bam_order(*texts)


@lru_cache(maxsize=16)
def _in_bam_order(text: str, held_text: str) -> Carried:
    model, held = ServoModel.from_json_text(text), ServoModel.from_json_text(held_text)
    return compared(
        held, default_bench(model), model.default_settings(), lambda runs: partial(_apart, _motions(model, runs))
    )


def _motions(model: ServoModel, runs: Sequence[GridRun]) -> list[tuple[GridRun, Motion]]:
    return [(run, own_motion(model, run)) for run in runs]


def _apart(motions: Sequence[tuple[GridRun, Motion]], held: ServoModel) -> list[Array]:
    """Return each run's position error of `held` under Rhoban/bam's integrator [rad]."""
    errors: list[Array] = []
    theirs = as_peer(held)
    for run, motion in motions:
        peer = own_motion(theirs, run)
        errors.append(peer.position - np.interp(peer.time, motion.time, motion.position))
    return errors


def check_bam(model: ServoModel, folder: Path, options: BamOptions) -> Check:
    """Simulate the identified values with Rhoban/bam's integrator, time step and contact."""
    held, _ = in_bam(model)
    require_written(folder, {f"{slug(model.title)}.bam.json": bam_text(held)})
    runs = conditions(model, ServoOptions(), "bam")
    errors = 1e3 * mean_magnitudes(_apart(_motions(model, list(runs.values())), held))
    return Check(
        how=f"the written numbers simulated here in Rhoban/bam's order of update with a time step of "
        f"{BAM_STEP * 1e3:g} ms, against the model's motion with {model.integration}",
        errors=dict(zip(runs, errors.tolist(), strict=True)),
    )


EXPORTER = Exporter(
    target="bam",
    title="Rhoban/bam parameters",
    description="Flat parameter file of Rhoban/bam.",
    options=BamOptions,
    write=write_bam,
    check=check_bam,
    contacts=tuple(CONTACTS),
)
