"""Files that appear complete or not at all, also after a power cut: write aside, sync, rename."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path

STALE_AFTER = 60.0
"""Age from which an aside file counts as left behind by a dead process [s]."""


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by a file of these bytes; raises OSError, which names `path`, and leaves the old file then."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None
        raise
    # The file is in place now; a system that cannot sync folders keeps it as well as it can.
    with contextlib.suppress(OSError):
        sync(path.parent)


def put_in_place(aside: Path, path: Path) -> None:
    """Sync a finished file and give it a name that is free, then sync the folder; raises OSError and leaves none."""
    sync(aside)
    os.replace(aside, path)
    try:
        sync(path.parent)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Force a file or a folder's entries to the disk; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_stale(folder: Path, name: str) -> None:
    """Remove what a killed `write_atomically(folder / name, …)` left behind; problems are ignored."""
    with contextlib.suppress(OSError):
        for aside in folder.glob(f".{name}.*.tmp"):
            if time.time() - aside.stat().st_mtime > STALE_AFTER:
                aside.unlink(missing_ok=True)
