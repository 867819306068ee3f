"""Exporters: an identified model as files another program runs. One file per target, one registry.

    result = export_model(model, "mujoco", folder, kp=32.0)

Every export writes a `README.md` with units, sign convention and gear ratio beside its files, and states how far the
exported motion is from the identified model's. Names of models are never trusted: see `core.export.files`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.errors import ExportError
from core.export import (
    bam_json,
    c_header,
    choreonoid,
    drake,
    genesis,
    isaaclab,
    mjlab,
    mujoco,
    mujoco_hook,
    mujoco_plugin,
    pybullet,
    sdformat,
    servobench_json,
    urdf,
    usd,
    webots,
    webots_servo_export,
)
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, settings_of
from core.export.files import add_notes, state_check
from core.export.grid import default_bench
from core.export.notes import contact_notes, step_notes
from core.model import ServoModel, with_contact

__all__ = ["Check", "ExportResult", "Exporter", "check_export", "export_model", "exporters"]

_MODULES = (
    mujoco_hook,
    mujoco_plugin,
    mujoco,
    mjlab,
    isaaclab,
    drake,
    genesis,
    pybullet,
    usd,
    urdf,
    sdformat,
    webots,
    webots_servo_export,
    choreonoid,
    c_header,
    servobench_json,
    bam_json,
)
_EXPORTERS = MappingProxyType({module.EXPORTER.target: module.EXPORTER for module in _MODULES})


def exporters() -> Mapping[str, Exporter]:
    """Every exporter by the name of its target, e.g. "mujoco"."""
    return _EXPORTERS


def export_model(model: ServoModel, target: str, folder: Path | str, **options: Any) -> ExportResult:
    """Write a model for a target into a folder, which is created; files of the same name are replaced.

    options: the fields of the exporter's `options` dataclass. A contact that the target cannot hold is written as a
    rigid one, and the README says what that costs. Raises ExportError for an unknown target or option, a
    model the target cannot hold, and a folder that cannot be written.
    """
    exporter = _exporter(target)
    chosen = _options(exporter, options)
    held = model if model.contact in exporter.contacts else with_contact(model, "rigid")
    result = exporter.write(held, Path(folder), chosen)
    drives = isinstance(chosen, ServoOptions)
    bench = (chosen.bench if drives else None) or default_bench(model)
    settings = settings_of(model, chosen, target) if drives else model.default_settings()
    notes = contact_notes(model, held, bench, settings)
    if drives:
        notes += step_notes(model, bench, settings)
    if model.carried_over:
        notes.append(model.carried_over)
    if notes:
        add_notes(Path(folder), model, target, notes)
    return dataclasses.replace(result, notes=(*result.notes, *notes))


def check_export(model: ServoModel, target: str, folder: Path | str, **options: Any) -> Check:
    """Read an export's files back, simulate the four trajectories with them, and add what came out to the README.

    options: those of the export. In the target's engine where one can run here, otherwise by its rules. Raises
    ExportError when the target has nothing to check, its engine is not installed, or the files are not an export.
    """
    exporter = _exporter(target)
    if exporter.check is None:
        raise ExportError(f"an export to {target} is not run by an engine; there is nothing to check")
    found = exporter.check(model, Path(folder), _options(exporter, options))
    state_check(Path(folder), model, target, found.statement)
    return found


def _exporter(target: str) -> Exporter:
    exporter = _EXPORTERS.get(target)
    if exporter is None:
        raise ExportError(f"no exporter for {target!r}; there are {', '.join(_EXPORTERS)}")
    return exporter


def _options(exporter: Exporter, options: Mapping[str, Any]) -> Any:
    known = {field.name for field in dataclasses.fields(exporter.options)}
    unknown = sorted(set(options) - known)
    if unknown:
        taken = ", ".join(sorted(known)) or "none"
        raise ExportError(f"export to {exporter.target}: no option {', '.join(unknown)}; it takes {taken}")
    return exporter.options(**options)
