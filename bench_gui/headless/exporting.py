"""Writing, previewing and checking an export: the same for the window, which asks its computing process, and `bench`.

Without Qt. What is handed back is plain data, which a process without the compiler can unpickle.
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
    from core.model import ServoModel

PREVIEW_CHARACTERS = 20_000
"""Of a file's text that is shown."""


@dataclass(frozen=True)
class ExportTarget:
    """One program a model can be written for."""

    target: str
    title: str
    description: str
    options: tuple[str, ...] = ()
    """Names of what can be chosen for it."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Options that are one of some words, the first being the default."""
    checkable: bool = False
    """True where the written files can be run or simulated here."""
    engine: str = ""
    """Name of the program that does it; empty: it is done here by the target's rules."""
    engine_there: bool = False
    """Whether that program is installed."""
    install: str = ""
    """What pip installs to get it."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote, or would write."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]
    error_mrad: float | None
    texts: Mapping[str, str] = field(default_factory=dict)
    """File name to the beginning of its text."""


@dataclass(frozen=True)
class Checked:
    """Motion of written files against the model's."""

    statement: str
    """One sentence, which the files' README now says too."""
    mean_mrad: float
    worst_mrad: float
    errors: Mapping[str, float]
    """Run to mean absolute difference from the identified model [mrad]; see `core.export.contract.Check`."""


def export_targets() -> list[ExportTarget]:
    """Every target there is an exporter for."""
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
                exporter.check is not None,
                exporter.engine,
                not exporter.package or importlib.util.find_spec(exporter.package) is not None,
                exporter.install,
            )
        )
    return found


def export(model: ServoModel, target: str, folder: Path, options: Mapping[str, Any], force: bool = False) -> Exported:
    """Write a model for a target; options the target does not have are left out. Raises ExportError.

    force: replace existing files that differ.
    """
    from core.export import export_model

    result = export_model(model, target, folder, force=force, **_taken(target, options))
    texts: dict[str, str] = {}
    for file in result.files:
        with file.open(encoding="utf-8", errors="replace") as stream:
            texts[file.name] = stream.read(PREVIEW_CHARACTERS)
    return Exported(result.files, result.notes, result.error_mrad, texts)


def preview(model: ServoModel, target: str, options: Mapping[str, Any]) -> Exported:
    """What an export would write, without leaving a file. Raises ExportError."""
    with tempfile.TemporaryDirectory() as folder:
        return export(model, target, Path(folder), options)


def check(model: ServoModel, target: str, options: Mapping[str, Any]) -> Checked:
    """Export, and run the four trajectories in the target's engine or by its rules.

    Raises ExportError.
    """
    with tempfile.TemporaryDirectory() as folder:
        export(model, target, Path(folder), options)
        return check_files(model, target, Path(folder), options)


def check_files(
    model: ServoModel, target: str, folder: Path, options: Mapping[str, Any], name: str | None = None
) -> Checked:
    """As `check`, for files that are there already; their README says it from then on. name: the export's, if given."""
    from core.export import check_export

    found = check_export(model, target, folder, name=name, **_taken(target, options))
    return Checked(found.statement, found.mean_mrad, found.worst_mrad, dict(found.errors))


def _taken(target: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a target takes."""
    from core.export import exporters

    known = {f.name for f in dataclasses.fields(exporters()[target].options)} if target in exporters() else set()
    return {name: value for name, value in options.items() if name in known}
