"""Export to ServoBench's own model file, which holds the whole model bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.base.errors import ExportError, ModelError
from core.export.contract import Check, Exporter, ExportResult
from core.export.files import readme_section, slug, write_files
from core.motion.trajectories import PAPER_TRAJECTORIES
from core.servo.model import ServoModel
from core.servo.terms import CONTACTS


@dataclass(frozen=True, kw_only=True)
class JsonOptions:
    """Options of the export to a model file: none."""


def write_json(model: ServoModel, folder: Path, options: JsonOptions) -> ExportResult:
    """Write `<name>.json`."""
    name = f"{slug(model.title)}.json"
    try:
        text = model.to_json_text()
    except (TypeError, ValueError) as error:
        raise ExportError(f"{model.title}: its provenance cannot be written as JSON: {error}") from None
    notes = ("The file holds the whole model; only ServoBench reads it.",)
    readme = readme_section(model, "model file", {name: "the model with units, bounds and provenance"}, notes)
    return ExportResult(files=tuple(write_files(folder, {name: text}, model, "json", readme)), notes=notes)


def check_json(model: ServoModel, folder: Path, options: JsonOptions) -> Check:
    """Read the file back; raise ExportError unless it equals the model bit for bit."""
    file = folder / f"{slug(model.title)}.json"
    try:
        same = ServoModel.read(file) == model
    except ModelError as error:
        raise ExportError(str(error)) from None
    if not same:
        raise ExportError(f"{file} is not this model; export again")
    return Check(how=f"{file.name} read back bit for bit", errors=dict.fromkeys(PAPER_TRAJECTORIES, 0.0))


EXPORTER = Exporter(
    target="json",
    title="ServoBench model",
    description="Model file with units, bounds and provenance; reads back bit for bit.",
    options=JsonOptions,
    write=write_json,
    check=check_json,
    any_law=True,
    backlash=True,
    load_memory=True,
    contacts=tuple(CONTACTS),
)
