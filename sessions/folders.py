"""Default folders: home of sessions without a chosen location, a new session, and the user's copy of the example.

The example is a session of eight recordings of a Dynamixel XL330, shipped with ServoBench.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from datetime import datetime
from importlib.resources import as_file, files
from pathlib import Path

import resources

HOME_VARIABLE = "SERVOBENCH_HOME"
"""Environment variable that overrides the location."""
EXAMPLE = "xl330"


def home() -> Path:
    """Return the folder of sessions without a chosen location; it may not exist yet."""
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / "ServoBench")


def new_session_folder(servo: str) -> Path:
    """Return an unused path for a new session of a servo."""
    stem = f"{datetime.now():%Y-%m-%d_%H-%M}_{servo}"
    number = 1
    folder = home() / stem
    while folder.exists():
        number += 1
        folder = home() / f"{stem}_{number}"
    return folder


def example_session(folder: Path | None = None) -> Path:
    """Return the path of the user's copy of the example session, and create it at the first call.

    A copy, since the user may record into it. folder: parent of the copy; None: `home()`.
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


def as_person_writes(path: Path) -> str:
    """Return a path as text, with the home folder as ~."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
