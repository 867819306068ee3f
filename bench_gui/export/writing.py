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

from core.errors import ExportError

if TYPE_CHECKING:
    from core.model import ServoModel

PREVIEW_CHARACTERS = 20_000
"""Of a file's text that is shown."""
ENGINES = {"mujoco": "MuJoCo"}
"""Targets whose files can be run again here, and the engine's name."""


@dataclass(frozen=True)
class ExportTarget:
    """One program a model can be written for."""

    target: str
    title: str
    description: str
    options: tuple[str, ...] = ()
    """Names of what can be chosen for it."""
    engine: str = ""
    """Name of the engine that can run what was written; empty when there is none."""
    engine_there: bool = False
    """Whether that engine is installed."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote, or would write."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]
    error_mrad: float | None
    texts: Mapping[str, str] = field(default_factory=dict)
    """File name to the beginning of its text."""


def export_targets() -> list[ExportTarget]:
    """Every target there is an exporter for."""
    from core.export import exporters

    return [
        ExportTarget(
            e.target,
            e.title,
            e.description,
            tuple(f.name for f in dataclasses.fields(e.options)),
            ENGINES.get(e.target, ""),
            e.target in ENGINES and importlib.util.find_spec(e.target) is not None,
        )
        for e in exporters().values()
    ]


def export(model: ServoModel, target: str, folder: Path, options: Mapping[str, Any]) -> Exported:
    """Write a model for a target; options the target does not have are left out. Raises ExportError."""
    from core.export import export_model, exporters

    known = {f.name for f in dataclasses.fields(exporters()[target].options)} if target in exporters() else set()
    result = export_model(model, target, folder, **{k: v for k, v in options.items() if k in known})
    texts: dict[str, str] = {}
    for file in result.files:
        with file.open(encoding="utf-8", errors="replace") as stream:
            texts[file.name] = stream.read(PREVIEW_CHARACTERS)
    return Exported(result.files, result.notes, result.error_mrad, texts)


def preview(model: ServoModel, target: str, options: Mapping[str, Any]) -> Exported:
    """What an export would write, without leaving a file. Raises ExportError."""
    with tempfile.TemporaryDirectory() as folder:
        return export(model, target, Path(folder), options)


def check(model: ServoModel, target: str, options: Mapping[str, Any]) -> dict[str, float]:
    """Export, read the files back into their engine, run the four trajectories there.

    Returns the mean absolute difference from the identified model by trajectory [mrad]. Raises ExportError.
    """
    with tempfile.TemporaryDirectory() as folder:
        export(model, target, Path(folder), options)
        return check_files(model, target, Path(folder))


def check_files(model: ServoModel, target: str, folder: Path) -> dict[str, float]:
    """As `check`, for files that are there already."""
    if target not in ENGINES:
        raise ExportError(f"an export to {target} is not run by an engine; there is nothing to check")
    from core.export.mujoco_check import check_mujoco

    return check_mujoco(folder, model)
