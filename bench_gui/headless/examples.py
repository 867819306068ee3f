"""The example session: eight recordings of a Dynamixel XL330 that come with the program."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import resources
from bench_gui.headless.places import home

EXAMPLE = "xl330"


def example_session(folder: Path | None = None) -> Path:
    """A person's own copy of the example session, made at the first call, so that it can be recorded into.

    folder: where copies are kept; None: the window's home.
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
        # What is installed may be read-only, and folders are copied with their rights.
        for place in (copy, *copy.rglob("*/")):
            place.chmod(place.stat().st_mode | stat.S_IRWXU)
        os.replace(copy, target)
    return target
