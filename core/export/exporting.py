"""Write a model for a target, and check what was written."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.errors import ExportError, NotChecked
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, named, settings_of
from core.export.files import add_notes, move_files, state_check
from core.export.notes import fidelity, step_notes, zero_notes
from core.export.references import default_bench
from core.export.targets import TARGETS
from core.model import ServoModel, with_contact
from core.recording import ServoSettings


@cache
def exporters() -> Mapping[str, Exporter]:
    """Every exporter by the name of its target, e.g. "mujoco"."""
    modules = (import_module(f"..{module}", __package__) for module in TARGETS.values())
    return MappingProxyType({module.EXPORTER.target: module.EXPORTER for module in modules})


def export_model(
    model: ServoModel, target: str, folder: Path | str, *, name: str | None = None, force: bool = False, **options: Any
) -> ExportResult:
    """Write a model for a target into a folder, which is created.

    Args:
        name: Names files, symbols, classes and nodes; None: made of the model and of settings that are not its servo's.
        force: Replace files that are there and differ. A file that would be the same is no conflict.
        options: The fields of the exporter's `options` dataclass.

    A contact that the target cannot hold is written as a rigid one; error and README say what that costs. Raises
    ExportError for an unknown target or option, a model the target cannot hold, a file that would be lost and a folder
    that cannot be written.
    """
    exporter = _exporter(target)
    chosen = _options(exporter, options)
    settings = _settings(model, target, chosen)
    model = named(model, settings, name)
    holds = model.contact in exporter.contacts
    held = model if holds else dataclasses.replace(with_contact(model, "rigid"), name=model.title)
    drives = isinstance(chosen, ServoOptions)
    bench = (chosen.bench if drives else None) or default_bench(model)
    # Written aside first: nothing appears in the folder before the README is complete and no file would be lost.
    with tempfile.TemporaryDirectory() as place:
        aside = Path(place)
        result = exporter.write(held, aside, chosen)
        notes: list[str] = []
        error = result.error_mrad
        if error == 0.0:
            statement, error = fidelity(model, held, bench, settings)
            notes.append(statement)
        if drives:
            notes += [*zero_notes(model), *step_notes(model, bench, settings)]
        if model.carried_over:
            notes.append(model.carried_over)
        if notes:
            add_notes(aside, held, target, notes)
        files = move_files(aside, Path(folder), held, target, result.files, force=force)
    return ExportResult(files=tuple(files), notes=(*result.notes, *notes), error_mrad=error)


def check_export(
    model: ServoModel, target: str, folder: Path | str, *, name: str | None = None, **options: Any
) -> Check:
    """Hold the motion of an export's files against the model's, and add what came out to the README.

    name, options: those of the export. In the target's engine where one can run here, otherwise by its rules. Raises
    ExportError when the files are not an export; NotChecked when no engine here runs them.
    """
    exporter = _exporter(target)
    if exporter.check is None:
        raise NotChecked(f"no engine here runs an export to {target}")
    chosen = _options(exporter, options)
    model = named(model, _settings(model, target, chosen), name)
    found = exporter.check(model, Path(folder), chosen)
    state_check(Path(folder), model, target, found.table)
    return found


def _settings(model: ServoModel, target: str, options: Any) -> ServoSettings:
    return settings_of(model, options, target) if isinstance(options, ServoOptions) else model.default_settings()


def _exporter(target: str) -> Exporter:
    exporter = exporters().get(target)
    if exporter is None:
        raise ExportError(f"no exporter for {target!r}; there are {', '.join(exporters())}")
    return exporter


def _options(exporter: Exporter, options: Mapping[str, Any]) -> Any:
    known = {field.name for field in dataclasses.fields(exporter.options)}
    unknown = sorted(set(options) - known)
    if unknown:
        taken = ", ".join(sorted(known)) or "none"
        raise ExportError(f"export to {exporter.target}: no option {', '.join(unknown)}; it takes {taken}")
    return exporter.options(**options)
