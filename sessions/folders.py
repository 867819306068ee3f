"""Default folders: home of sessions without a chosen location, a new session, and the user's copies of the examples.

The examples are sessions shipped with ServoBench: eight recordings of a Dynamixel XL330, and four motions of an SO-101.
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
EXAMPLES = {"example": "xl330", "example-so101": "so101"}
"""Name of each example on the command line, and the folder it is shipped in."""


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


def example_session(folder: Path | None = None, name: str = "example") -> Path:
    """Return the path of the user's copy of an example session, and create it at the first call.

    A copy, since the user may record into it.

    Args:
        folder: Parent of the copy; None: `home()`.
        name: One of EXAMPLES.
    """
    parent, shipped = home() if folder is None else folder, EXAMPLES[name]
    target = parent / f"example_{shipped}"
    if target.exists():
        return target
    parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=parent, prefix=".example-") as unfinished,
        as_file(files(resources) / "examples" / shipped) as source,
    ):
        copy = Path(unfinished) / shipped
        shutil.copytree(source, copy, copy_function=shutil.copyfile)
        # Installed files may be read-only, and copies inherit the permissions.
        for place in (copy, *copy.rglob("*/")):
            place.chmod(place.stat().st_mode | stat.S_IRWXU)
        os.replace(copy, target)
    return target


def as_person_writes(path: Path) -> str:
    """Return a path as text, with the home folder as ~."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
