"""Import the stand-alone programs that exports carry.

They import each other from their own folder, as a user's copies do. Engines are optional and are imported only when
they are needed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from core.base.errors import NotChecked
from core.export.files import require_written
from core.export.servo_file import STANDALONE, standalone_text


def engine(package: str, name: str, install: str) -> Any:
    """Import an engine's Python package; raise NotChecked with the install command if it is missing."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotChecked(f"{name} is not installed here: pip install {install}") from None


def mujoco_engine() -> Any:
    """Import mujoco; raise NotChecked with the install command if it is missing."""
    return engine("mujoco", "MuJoCo", "'servobench[mujoco]'")


@cache
def program(name: str) -> Any:
    """Import a stand-alone program, e.g. "servobench_mujoco"; its engine must be installed."""
    sys.path.insert(0, str(STANDALONE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(STANDALONE))


def require_unchanged(folder: Path, files: Iterable[str]) -> None:
    """Raise ExportError unless the programs in a folder equal those of this version."""
    require_written(folder, {file: standalone_text(file) for file in files})
