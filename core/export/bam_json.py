"""Export to the flat parameter files of Rhoban/bam, with the error that its fixed integrator brings.

Beside the identified values are values carried over to that integrator at its step, which absorb part of the error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.errors import ExportError
from core.export.contract import Exporter, ExportResult
from core.export.files import readme_section, slug, write_files
from core.export.grid import GridRun, bench_grid, default_bench, held_back_grid, mean_errors, own_motion
from core.export.reference_drive import WORTH_CARRYING, carried_over
from core.friction import CONTACTS
from core.model import BAM_COMMAND_PATH, ServoModel, model_to_bam, with_contact, without_terms
from core.simulation import Motion

Array = NDArray[np.float64]

BAM_STEP = 0.005
"""Step at which the peer simulates unless told otherwise [s]."""

_FOREIGN_NAMES = {"sts3215_7v4": "sts3215"}
"""Servos the peer knows under another name."""


MISSING = ("leave out", "refuse")


@dataclass(frozen=True, kw_only=True)
class BamOptions:
    """Options of the export to Rhoban/bam."""

    missing: str = field(default="leave out", metadata={"choices": MISSING})
    """Terms that the format has no key for: leave them out and state the error, or refuse the export."""


def write_bam(model: ServoModel, folder: Path, options: BamOptions) -> ExportResult:
    """Write `<name>.bam.json`; raises ExportError for terms the format does not have when they are to be refused."""
    if options.missing not in MISSING:
        raise ExportError(f"export to bam: missing is one of {', '.join(MISSING)}, not {options.missing!r}")
    held, lost = in_bam(model)
    if lost and options.missing == "refuse":
        raise ExportError(f"{model.title}: Rhoban/bam has no {', '.join(lost)}; `missing=leave out` writes the rest")
    name = f"{slug(model.title)}.bam.json"
    error = integrator_error(model, as_peer(held))
    notes = [
        f"The format has no bounds, units, provenance, integrator or step. These values were identified with "
        f"{model.integration}.",
        *lost_notes(model, held, lost),
        "Rhoban/bam simulates with its own integrator and a rigid contact and counts the quadratic term only where the "
        f"torques oppose; at {BAM_STEP * 1e3:g} ms its motion differs from this model's by {error:.2f} mrad on average "
        "over the four trajectories, two loads and two gains.",
        f"Law and constants, which its code holds and this file does not: {firmware(model)}.",
    ]
    if "command_delay" in held.values:
        notes.append("Its simulation uses `command_delay`; its actuators for mjlab and MuJoCo do not.")
    if model.control.bridge == "coast":
        notes.append("It knows no drive/coast bridge: inductance and PWM period are written but not used.")
    contents, meanings = {name: bam_text(held)}, {name: "flat parameters by name"}
    carried = carried_to_bam(model, held)
    if carried is not None:
        step = f"{BAM_STEP * 1e3:g}"
        other = name.replace(".json", f"-{step}ms.json")
        contents[other] = bam_text(carried)
        meanings[other] = f"values carried over to Rhoban/bam's integrator at {step} ms, for nothing else"
        notes.append(
            f"With the values of `{other}`, carried over to that integrator and step, it differs by "
            f"{integrator_error(model, as_peer(carried)):.2f} mrad."
        )
    readme = readme_section(model, "parameter file of Rhoban/bam", meanings, notes)
    files = write_files(folder, contents, model, "bam", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), error_mrad=error)


def in_bam(model: ServoModel) -> tuple[ServoModel, list[str]]:
    """Return the model as far as Rhoban/bam's keys can hold it, contact included, and the terms that it loses."""
    unknown = [name for name in model.command_path if name not in BAM_COMMAND_PATH.values()]
    lost = [name for name in unknown if model.values[name] > 0.0]
    return replace(without_terms(with_contact(model, "rigid"), unknown), name=model.title), lost


def bam_text(held: ServoModel) -> str:
    """Text of the parameter file of a model that `in_bam` returned."""
    flat = {**model_to_bam(held), "actuator": _FOREIGN_NAMES.get(held.servo, held.servo)}
    return json.dumps(flat, indent=4) + "\n"


def firmware(model: ServoModel) -> str:
    """The control law and its constants in words."""
    control = model.control
    unit = "A" if control.law == "current" else "duty cycle"
    return (
        f"{control.law} law, {control.error_gain:.8g} {unit} per rad and unit of kp, "
        f"at most {control.output_limit:g} {unit}"
    )


def lost_notes(model: ServoModel, held: ServoModel, lost: list[str]) -> list[str]:
    """A sentence on the cost of terms that are left out; nothing where nothing is lost."""
    if not lost:
        return []
    rigid = with_contact(model, "rigid")
    cost = 1e3 * float(mean_errors(bench_grid(default_bench(model), model.default_settings()), rigid, held).mean())
    return [f"Left out, as there is no key for it: {', '.join(lost)}. That alone is {cost:.2f} mrad."]


def as_peer(held: ServoModel, step: float = BAM_STEP, quadratic_gate: str = "opposing") -> ServoModel:
    """Return `held` with the order of update of Rhoban/bam and of the engines that have its drive; step [s]."""
    control = replace(held.control, bridge="brake")
    return replace(held, control=control, integrator="bam", dt=step, substeps=1, quadratic_gate=quadratic_gate)


def integrator_error(model: ServoModel, theirs: ServoModel) -> float:
    """Mean difference between two models' motions, each with its own integrator and step [mrad]."""
    return 1e3 * _mean(_apart(theirs, _own_motions(model, bench_grid(default_bench(model), model.default_settings()))))


def carried_to_bam(model: ServoModel, held: ServoModel) -> ServoModel | None:
    """Return `held` with the values whose motion at the peer's integrator and step is closest to the model's own.

    None where those of `held` are as good: within `WORTH_CARRYING`, or nearer at a load and gain of no fit. Takes a
    second, and is remembered.
    """
    texts = [replace(one, name="", provenance={}).to_json_text() for one in (model, held)]
    found = _carried_to_bam(*texts)
    return None if found is None else replace(found, name=held.name)


@lru_cache(maxsize=16)
def _carried_to_bam(text: str, held_text: str) -> ServoModel | None:
    model, held = ServoModel.from_json_text(text), ServoModel.from_json_text(held_text)
    bench, settings = default_bench(model), model.default_settings()
    runs, others = (_own_motions(model, grid(bench, settings)) for grid in (bench_grid, held_back_grid))
    if _mean(_apart(as_peer(held), runs)) <= WORTH_CARRYING:
        return None
    carried = carried_over(held, lambda candidate: _apart(as_peer(candidate), runs))
    better = _mean(_apart(as_peer(carried), others)) < _mean(_apart(as_peer(held), others))
    return carried if better else None


def _own_motions(model: ServoModel, runs: Sequence[GridRun]) -> list[tuple[GridRun, Motion]]:
    return [(run, own_motion(model, run)) for run in runs]


def _apart(theirs: ServoModel, runs: Sequence[tuple[GridRun, Motion]]) -> list[Array]:
    """Distance of a model's own motion from others, run by run [rad]."""
    errors = []
    for run, motion in runs:
        peer = own_motion(theirs, run)
        errors.append(peer.position - np.interp(peer.time, motion.time, motion.position))
    return errors


def _mean(errors: Sequence[Array]) -> float:
    return float(np.mean([np.abs(run).mean() for run in errors]))


EXPORTER = Exporter(
    target="bam",
    title="Rhoban/bam parameters",
    description="Flat parameters as Rhoban/bam reads them.",
    options=BamOptions,
    write=write_bam,
    contacts=tuple(CONTACTS),
)
