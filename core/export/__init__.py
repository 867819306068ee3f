"""Export an identified model as files that another program runs: one module per target, one registry.

    result = export_model(model, "mujoco", folder, kp=32.0)

Every export writes a `README.md` with units, sign convention and gear ratio next to its files. It states how far the
exported motion is from the identified model's after a check, and before one that it is not checked. Model names are
untrusted input: see `core.export.files`.

The functions are imported on first access: the command line's help needs only `core.export.targets.TARGETS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.export.exporting import check_export, export_model, exporters

__all__ = ["check_export", "export_model", "exporters"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.exporting"), name)
