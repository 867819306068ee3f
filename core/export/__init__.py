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
from core.export import bam_json, mujoco, servobench_json
from core.export.contract import Exporter, ExportResult
from core.model import ServoModel

__all__ = ["ExportResult", "Exporter", "export_model", "exporters"]

_EXPORTERS = MappingProxyType({e.target: e for e in (servobench_json.EXPORTER, bam_json.EXPORTER, mujoco.EXPORTER)})


def exporters() -> Mapping[str, Exporter]:
    """Every exporter by the name of its target, e.g. "mujoco"."""
    return _EXPORTERS


def export_model(model: ServoModel, target: str, folder: Path | str, **options: Any) -> ExportResult:
    """Write a model for a target into a folder, which is created; files of the same name are replaced.

    options: the fields of the exporter's `options` dataclass. Raises ExportError for an unknown target or option, a
    model the target cannot hold, and a folder that cannot be written.
    """
    exporter = _EXPORTERS.get(target)
    if exporter is None:
        raise ExportError(f"no exporter for {target!r}; there are {', '.join(_EXPORTERS)}")
    known = {field.name for field in dataclasses.fields(exporter.options)}
    unknown = sorted(set(options) - known)
    if unknown:
        taken = ", ".join(sorted(known)) or "none"
        raise ExportError(f"export to {target}: no option {', '.join(unknown)}; it takes {taken}")
    return exporter.write(model, Path(folder), exporter.options(**options))
