"""Runs that are added together appear together, however the process ends: written aside, then moved in place.

    runs/.NNNN.staged/       runs being written, named by their first number, whose lock the writer holds
    runs/.NNNN.committed/    all of them are written and only have to be moved

Renaming the folder is the moment at which the runs become part of the session. After a crash, recovery removes a
staged folder and finishes a committed one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from core.base.atomic import sync
from sessions.writing.locks import COMMITTED, STAGED


def stage(runs: Path, number: int) -> Path:
    """Create the folder for runs whose first number is this one; raises OSError."""
    folder = runs / f".{number:04d}{STAGED}"
    folder.mkdir()
    return folder


def publish(staged: Path) -> None:
    """Commit the runs in a folder of `stage` and move them in place; raises OSError."""
    committed = staged.with_suffix(COMMITTED)
    os.replace(staged, committed)
    sync(staged.parent)
    _move(committed)


def unstage(staged: Path) -> None:
    """Remove a folder of `stage` with its runs, unless it is committed."""
    shutil.rmtree(staged, ignore_errors=True)


def finish(runs: Path, number: int) -> None:
    """Finish or remove what a dead process staged under this number; raises OSError."""
    unstage(runs / f".{number:04d}{STAGED}")
    committed = runs / f".{number:04d}{COMMITTED}"
    if committed.is_dir():
        _move(committed)


def _move(committed: Path) -> None:
    for file in sorted(committed.iterdir()):
        os.replace(file, committed.parent / file.name)
    sync(committed.parent)
    committed.rmdir()
