"""Simulated motion as a NumPy archive."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.atomic import write_atomically

if TYPE_CHECKING:
    from core.simulation import Motion


def write_motion(path: str, motions: Mapping[str, Motion], measured: Mapping[str, np.ndarray] | None = None) -> Path:
    """Write motions as an .npz, replaced as a whole; arrays are named `<key>/<array>`, without a key just `<array>`."""
    arrays: dict[str, np.ndarray] = {}
    for key, motion in motions.items():
        prefix = f"{key}/" if key else ""
        arrays |= {f"{prefix}{field.name}": getattr(motion, field.name) for field in fields(motion)}
    for key, position in (measured or {}).items():
        arrays[f"{key}/measured_position"] = position
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_atomically(target, content.getvalue())
    return target
