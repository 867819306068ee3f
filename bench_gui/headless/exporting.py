"""Writing, previewing and checking of exports, for the window (in its computing process) and for `bench`.

Results are plain data, so that the window's process can unpickle them without loading the compiler.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.servo.model import ServoModel

PREVIEW_CHARACTERS = 20_000
"""Longest previewed part of a file, in characters."""


@dataclass(frozen=True)
class ExportTarget:
    """Program for which a model can be exported."""

    target: str
    title: str
    description: str
    options: tuple[str, ...] = ()
    """Names of its options."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Options with a fixed set of values, the default first."""
    engine: str = ""
    """Engine that runs them; empty if ServoBench simulates the target's rules."""
    engine_there: bool = False
    """True if that engine is installed."""
    install: str = ""
    """Package to install with pip."""


@dataclass(frozen=True)
class Exported:
    """Files of an export, written or previewed."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    """File name → beginning of its text."""
    name: str = ""
    """Name for a folder of these files, by model and target."""


@dataclass(frozen=True)
class Checked:
    """Comparison of the exported files' motion with the model's."""

    statement: str
    """One sentence, also added to the README of the files."""
    figure: str
    """The sentence's mean error and worst run."""
    table: str
    """The README's text."""
    mean_mrad: float
    worst_mrad: float
    errors: Mapping[str, float]
    """Run → mean absolute difference from the identified model [mrad]; see `core.export.contract.Check`."""


def export_targets() -> list[ExportTarget]:
    """Return all export targets."""
    from core.export import exporters

    found = []
    for exporter in exporters().values():
        fields = dataclasses.fields(exporter.options)
        found.append(
            ExportTarget(
                exporter.target,
                exporter.title,
                exporter.description,
                tuple(f.name for f in fields),
                {f.name: tuple(f.metadata["choices"]) for f in fields if "choices" in f.metadata},
                exporter.engine,
                not exporter.package or importlib.util.find_spec(exporter.package) is not None,
                exporter.install,
            )
        )
    return found


def export(
    model: ServoModel,
    target: str,
    folder: Path,
    options: Mapping[str, Any],
    force: bool = False,
    checked: Checked | None = None,
) -> Exported:
    """Export a model; options that the target does not have are ignored.

    Args:
        model: Model to export.
        target: Name of the target.
        folder: Folder for the files.
        options: Options of the target by name.
        force: Overwrite existing files that differ.
        checked: An earlier check of these files, for their README.

    Raises:
        ExportError: The model cannot be expressed in the target, or a file cannot be written.
    """
    from core.export import export_model
    from core.export.files import slug

    table = "" if checked is None else checked.table
    result = export_model(model, target, folder, force=force, checked=table, **_taken(model, target, options))
    texts: dict[str, str] = {}
    for file in result.files:
        with file.open(encoding="utf-8", errors="replace") as stream:
            texts[file.name] = stream.read(PREVIEW_CHARACTERS)
    return Exported(result.files, result.notes, texts, f"{slug(model.title)}-{target}")


def preview(model: ServoModel, target: str, options: Mapping[str, Any]) -> Exported:
    """Return the files of an export without writing them; raise ExportError as `export`."""
    with tempfile.TemporaryDirectory() as folder:
        return export(model, target, Path(folder), options)


def check(model: ServoModel, target: str, options: Mapping[str, Any]) -> Checked:
    """Export to a temporary folder and run the four trajectories in the target's engine or by its rules.

    Raises:
        ExportError: The export failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        export(model, target, Path(folder), options)
        return check_files(model, target, Path(folder), options)


def check_files(
    model: ServoModel, target: str, folder: Path, options: Mapping[str, Any], name: str | None = None
) -> Checked:
    """Check written files as `check` does, and add the result to their README; name: that of the export, if given."""
    from core.export import check_export

    found = check_export(model, target, folder, name=name, **_taken(model, target, options))
    return Checked(found.statement, found.figure, found.table, found.mean_mrad, found.worst_mrad, dict(found.errors))


def _taken(model: ServoModel, target: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a target accepts, without gains that the model does not have."""
    from core.export import exporters

    known = {f.name for f in dataclasses.fields(exporters()[target].options)} if target in exporters() else set()
    known -= set() if model.control.command == "position" else {"kp", "ki", "damping"}
    return {name: value for name, value in options.items() if name in known}
