"""Exporters: an identified model as files another program runs. One file per target, one registry.

    result = export_model(model, "mujoco", folder, kp=32.0)

Every export writes a `README.md` with units, sign convention and gear ratio beside its files, and states how far the
exported motion is from the identified model's. Names of models are never trusted: see `core.export.files`.

Functions are loaded when they are first asked for: the command line's help needs nothing but the names of targets.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.export.exporting import check_export, export_model, exporters

__all__ = ["TARGETS", "check_export", "export_model", "exporters"]

TARGETS = {
    "mujoco-hook": "export.targets.mujoco.hook",
    "mujoco-plugin": "export.targets.mujoco.plugin",
    "mujoco": "export.targets.mujoco.actuators",
    "mjlab": "export.targets.mjlab",
    "isaaclab": "export.targets.isaaclab",
    "drake": "export.targets.drake",
    "genesis": "export.targets.genesis",
    "newton": "export.targets.newton",
    "pybullet": "export.targets.pybullet",
    "usd": "export.targets.usd",
    "urdf": "export.targets.urdf",
    "sdformat": "export.targets.sdformat",
    "webots": "export.targets.webots.controller",
    "webots-servo": "studies.webots.export.target",
    "choreonoid": "export.targets.choreonoid.body",
    "c": "export.targets.c_header",
    "json": "export.targets.servobench_json",
    "bam": "export.targets.bam_json",
}
"""Module in `core` of each target, which holds its `EXPORTER`, in the order a person meets them."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("core.export.exporting"), name)
