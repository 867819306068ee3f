"""Example session: eight recordings of a Dynamixel XL330, shipped with ServoBench."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import resources
from bench_gui.headless.folders import home

EXAMPLE = "xl330"


def example_session(folder: Path | None = None) -> Path:
    """Return the path of the user's copy of the example session, and create it at the first call.

    A copy, since the user may record into it. folder: parent of the copy; None: the window's home.
    """
    parent = home() if folder is None else folder
    target = parent / f"example_{EXAMPLE}"
    if target.exists():
        return target
    parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=parent, prefix=".example-") as unfinished,
        as_file(files(resources) / "examples" / EXAMPLE) as source,
    ):
        copy = Path(unfinished) / EXAMPLE
        shutil.copytree(source, copy, copy_function=shutil.copyfile)
        # Installed files may be read-only, and copies inherit the permissions.
        for place in (copy, *copy.rglob("*/")):
            place.chmod(place.stat().st_mode | stat.S_IRWXU)
        os.replace(copy, target)
    return target
