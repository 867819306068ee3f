"""The stand-alone programs as this program runs them: the same files that exports carry.

They find each other beside themselves, as a user's copies do, and are therefore imported from their folder. Engines are
optional; nothing of one is imported before it is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import NotChecked
from core.export.files import require_written
from core.export.servo_file import STANDALONE, standalone_text


def engine(package: str, name: str, install: str) -> Any:
    """An engine's Python package; raises NotChecked that says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotChecked(f"{name} is not installed here: pip install {install}") from None


def mujoco_engine() -> Any:
    """The package mujoco; raises NotChecked that says how to install it."""
    return engine("mujoco", "MuJoCo", "'servobench[mujoco]'")


@cache
def program(name: str) -> Any:
    """A stand-alone program as a module, e.g. "servobench_mujoco"; its engine must be installed."""
    sys.path.insert(0, str(STANDALONE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(STANDALONE))


def require_unchanged(folder: Path, files: Iterable[str]) -> None:
    """Raise ExportError unless the programs in a folder are those that are run here."""
    require_written(folder, {file: standalone_text(file) for file in files})
