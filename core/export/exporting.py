"""Write a model for a target and check the written files."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.base.errors import ExportError
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, named, settings_of
from core.export.files import add_notes, move_files, state_check
from core.export.notes import command_notes, fidelity, gain_notes, step_notes, zero_notes
from core.export.references import default_bench
from core.export.targets import TARGETS
from core.servo.actuator import COMMANDS
from core.servo.model import ServoModel, with_contact
from core.servo.settings import ServoSettings


@cache
def exporters() -> Mapping[str, Exporter]:
    """Return the exporters by target name, e.g. "mujoco"."""
    modules = (import_module(f"..{module}", __package__) for module in TARGETS.values())
    return MappingProxyType({module.EXPORTER.target: module.EXPORTER for module in modules})


def export_model(
    model: ServoModel,
    target: str,
    folder: Path | str,
    *,
    name: str | None = None,
    force: bool = False,
    checked: str = "",
    **options: Any,
) -> ExportResult:
    """Write a model for a target into a folder, which is created if missing.

    A contact that the target cannot hold is written as a rigid one, as the README states. Only `check_export`
    measures how far the exported motion is from the model's.

    Args:
        model: The identified model.
        target: Name of the target, a key of `core.export.targets.TARGETS`.
        folder: Folder of the export.
        name: Name used for files, symbols, classes and nodes. None: derived from the model's title and from the
            settings that differ from the servo's own.
        force: Replace existing files that differ. An identical file is no conflict.
        checked: `Check.table` of these files if they were checked before, for the README.
        options: Fields of the exporter's `options` dataclass.

    Returns:
        The written files and the notes of the README.

    Raises:
        ExportError: Unknown target or option, a model the target cannot hold, an existing file that would be lost, or
            a folder that cannot be written.
    """
    exporter = _exporter(target, model)
    chosen = _options(exporter, options)
    settings = _settings(model, target, chosen)
    model = named(model, settings, name)
    holds = model.contact in exporter.contacts
    held = model if holds else dataclasses.replace(with_contact(model, "rigid"), name=model.title)
    drives = isinstance(chosen, ServoOptions)
    bench = (chosen.bench if drives else None) or default_bench(model)
    # Written to a temporary folder first: `folder` stays untouched until the README is complete and no file is lost.
    with tempfile.TemporaryDirectory() as place:
        aside = Path(place)
        result = exporter.write(held, aside, chosen)
        faithful = drives and not result.approximated
        contact = result.contact or held.contact
        first = [fidelity(model, contact, exporter.backlash, exporter.load_memory)] if faithful else []
        notes = command_notes(model)
        if drives:
            notes += [*zero_notes(model), *gain_notes(model, settings), *step_notes(model, bench, settings)]
        if model.carried_over:
            notes.append(model.carried_over)
        if first or notes:
            add_notes(aside, held, target, [*first, *notes])
        if checked:
            state_check(aside, held, target, checked)
        files = move_files(aside, Path(folder), held, target, result.files, force=force)
    return ExportResult(files=tuple(files), notes=(*first, *result.notes, *notes), approximated=result.approximated)


def check_export(
    model: ServoModel, target: str, folder: Path | str, *, name: str | None = None, **options: Any
) -> Check:
    """Compare the motion of exported files with the model's, and add the result to the README.

    The files run in the target's engine if it is installed here, otherwise in a simulation that follows its rules.

    Args:
        model: The exported model.
        target: Name of the target.
        folder: Folder of the export.
        name: Name given to the export, if any.
        options: Options given to the export.

    Raises:
        ExportError: The files are not an export of this model with these options.
        NotChecked: No engine here runs them.
    """
    exporter = _exporter(target, model)
    chosen = _options(exporter, options)
    model = named(model, _settings(model, target, chosen), name)
    found = exporter.check(model, Path(folder), chosen)
    state_check(Path(folder), model, target, found.table)
    return found


def _settings(model: ServoModel, target: str, options: Any) -> ServoSettings:
    return settings_of(model, options, target) if isinstance(options, ServoOptions) else model.default_settings()


def _exporter(target: str, model: ServoModel) -> Exporter:
    exporter = exporters().get(target)
    if exporter is None:
        raise ExportError(f"no exporter for {target!r}; available: {', '.join(exporters())}")
    lacking: list[str] = []
    if model.control.command != "position":
        words = COMMANDS[model.control.command].words
        lacking.append(f"it takes goal angles only, and this servo is commanded by {words}")
    if model.control.current_limit:
        lacking.append("it has no current limit, and this servo's control law has one")
    if lacking and not exporter.any_law:
        able = ", ".join(name for name, other in exporters().items() if other.any_law)
        raise ExportError(f"export to {target}: {lacking[0]}; targets that take it: {able}")
    return exporter


def _options(exporter: Exporter, options: Mapping[str, Any]) -> Any:
    known = {field.name for field in dataclasses.fields(exporter.options)}
    unknown = sorted(set(options) - known)
    if unknown:
        taken = ", ".join(sorted(known)) or "none"
        raise ExportError(f"export to {exporter.target}: no option {', '.join(unknown)}; available: {taken}")
    return exporter.options(**options)
