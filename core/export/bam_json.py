"""Export to the flat parameter files of Rhoban/bam, with the error that its fixed integrator brings."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core.errors import ExportError, ModelError
from core.export.contract import Exporter, ExportResult
from core.export.files import readme_section, slug, write_files
from core.export.grid import bench_grid, default_bench, own_motion
from core.friction import CONTACTS
from core.model import ServoModel, model_to_bam, with_contact

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
        flat = model_to_bam(with_contact(model, "rigid"))
    except ModelError as error:
        raise ExportError(str(error)) from None
    flat["actuator"] = _FOREIGN_NAMES.get(model.servo, model.servo)
    name = f"{slug(model.title)}.bam.json"
    error = integrator_error(model)
    notes = [
        "The format has no bounds, units, provenance, integrator or step.",
        "Rhoban/bam simulates with its own integrator and a rigid contact and counts the quadratic term only where the "
        f"torques oppose; at {BAM_STEP * 1e3:g} ms its motion differs from this model's by {error:.2f} mrad on average "
        "over the four trajectories, two loads and two gains.",
    ]
    if model.control.bridge == "coast":
        notes.append("It knows no drive/coast bridge: inductance and PWM period are written but not used.")
    readme = readme_section(model, "parameter file of Rhoban/bam", {name: "flat parameters by name"}, notes)
    contents = {name: json.dumps(flat, indent=4) + "\n"}
    files = write_files(folder, contents, model, "bam", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), error_mrad=error)


def integrator_error(model: ServoModel) -> float:
    """Mean difference between the model's own motion and the one the peer computes from its parameters [mrad]."""
    control = replace(model.control, bridge="brake")
    rigid = with_contact(model, "rigid")
    theirs = replace(rigid, control=control, integrator="bam", dt=BAM_STEP, substeps=1, quadratic_gate="opposing")
    differences = []
    for run in bench_grid(default_bench(model), model.default_settings()):
        peer, own = own_motion(theirs, run), own_motion(model, run)
        differences.append(np.abs(peer.position - np.interp(peer.time, own.time, own.position)).mean())
    return 1e3 * float(np.mean(differences))


EXPORTER = Exporter(
    target="bam",
    title="Rhoban/bam parameters",
    description="Flat parameters as Rhoban/bam reads them.",
    options=BamOptions,
    write=write_bam,
    contacts=tuple(CONTACTS),
)
