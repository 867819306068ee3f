"""What an exporter is and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """What was written and how good it is."""

    files: tuple[Path, ...]
    """Written files, README.md last."""
    notes: tuple[str, ...] = ()
    """What the target cannot express or does differently, one sentence each; the README says the same."""
    error_mrad: float | None = None
    """Mean absolute position error of the exported model against the identified one [mrad]; None: the file is read
    by this program and nothing was approximated. 0 leaves the target's own discretisation."""


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """One target."""

    target: str
    title: str
    description: str
    options: type[Any]
    """Frozen dataclass of what can be chosen, every field with a default."""
    write: Callable[[ServoModel, Path, Any], ExportResult]
