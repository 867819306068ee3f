"""The example session: eight recordings of a Dynamixel XL330 that come with the program."""

from __future__ import annotations

import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

EXAMPLE = "xl330"


def example_session() -> Path:
    """A private copy of the example session, so that a person may record into it."""
    target = Path(tempfile.mkdtemp(prefix="servobench-example-")) / EXAMPLE
    with as_file(files("resources") / "examples" / EXAMPLE) as source:
        shutil.copytree(source, target)
    return target
