"""Export to the flat parameter files of Rhoban/bam, with the error that its fixed integrator brings.

Beside the identified values are values carried over to that integrator at its step, which absorb part of the error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.errors import ExportError, ModelError
from core.export.contract import Exporter, ExportResult
from core.export.files import readme_section, slug, write_files
from core.export.grid import GridRun, bench_grid, default_bench, held_back_grid, own_motion
from core.export.reference_drive import WORTH_CARRYING, carried_over
from core.model import ServoModel, model_to_bam
from core.simulation import Motion

Array = NDArray[np.float64]

BAM_STEP = 0.005
"""Step at which the peer simulates unless told otherwise [s]."""

_FOREIGN_NAMES = {"sts3215_7v4": "sts3215"}
"""Servos the peer knows under another name."""


@dataclass(frozen=True, kw_only=True)
class BamOptions:
    """Nothing to choose."""


def write_bam(model: ServoModel, folder: Path, options: BamOptions) -> ExportResult:
    """Write `<name>.bam.json`; raises ExportError for command path terms the format does not have."""
    try:
        text = bam_text(model)
    except ModelError as error:
        raise ExportError(str(error)) from None
    name, step = f"{slug(model.title)}.bam.json", f"{BAM_STEP * 1e3:g} ms"
    error = integrator_error(model)
    contents, meanings = {name: text}, {name: "flat parameters by name"}
    notes = [
        "The format has no bounds, units, provenance, integrator or step.",
        "Rhoban/bam simulates with its own integrator, and counts the quadratic term only where the torques oppose; "
        f"at {BAM_STEP * 1e3:g} ms its motion differs from this model's by {error:.2f} mrad on average over the "
        "four trajectories, two loads and two gains.",
    ]
    carried = carried_to_bam(model)
    if carried is not None:
        other = name.replace(".json", f"-{BAM_STEP * 1e3:g}ms.json")
        contents[other] = bam_text(carried)
        meanings[other] = f"values carried over to Rhoban/bam's integrator at {step}, for nothing else"
        notes.append(
            f"With the values of `{other}`, carried over to that integrator and step, it differs by "
            f"{integrator_error(model, carried):.2f} mrad."
        )
    if model.control.bridge == "coast":
        notes.append("It knows no drive/coast bridge: inductance and PWM period are written but not used.")
    readme = readme_section(model, "parameter file of Rhoban/bam", meanings, notes)
    files = write_files(folder, contents, model, "bam", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), error_mrad=error)


def bam_text(model: ServoModel) -> str:
    """Text of the parameter file; raises ModelError for what the format does not have."""
    flat = {**model_to_bam(model), "actuator": _FOREIGN_NAMES.get(model.servo, model.servo)}
    return json.dumps(flat, indent=4) + "\n"


def integrator_error(model: ServoModel, written: ServoModel | None = None) -> float:
    """Mean difference between the model's own motion and the one the peer computes from `written` [mrad].

    written: None for the model itself.
    """
    return 1e3 * _mean(
        _peer_errors(model, written or model, bench_grid(default_bench(model), model.default_settings()))
    )


def carried_to_bam(model: ServoModel) -> ServoModel | None:
    """The model whose motion at the peer's integrator and step is closest to the model's own.

    None where the model's values are as good: within `WORTH_CARRYING`, or nearer at a load and gain of no fit.
    Takes a second, and is remembered.
    """
    found = _carried_to_bam(replace(model, name="", provenance={}).to_json_text())
    return None if found is None else replace(found, name=model.name)


@lru_cache(maxsize=16)
def _carried_to_bam(text: str) -> ServoModel | None:
    model = ServoModel.from_json_text(text)
    bench, settings = default_bench(model), model.default_settings()
    runs, others = bench_grid(bench, settings), held_back_grid(bench, settings)
    if _mean(_peer_errors(model, model, runs)) <= WORTH_CARRYING:
        return None
    own = [own_motion(model, run) for run in runs]
    carried = carried_over(model, lambda candidate: _peer_errors(model, candidate, runs, own))
    better = _mean(_peer_errors(model, carried, others)) < _mean(_peer_errors(model, model, others))
    return carried if better else None


def _peer_errors(
    model: ServoModel, written: ServoModel, runs: Sequence[GridRun], own: Sequence[Motion] | None = None
) -> list[Array]:
    """What the peer's motion with the written values is apart from the model's own, run by run [rad]."""
    bridge = replace(model.control, bridge="brake")
    theirs = replace(written, control=bridge, integrator="bam", dt=BAM_STEP, substeps=1, quadratic_gate="opposing")
    errors = []
    for run, motion in zip(runs, own or [own_motion(model, run) for run in runs], strict=True):
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
)
