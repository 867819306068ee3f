"""Files that are either complete or absent, even after a power cut: write a temporary file, sync, rename."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from pathlib import Path

SYNC = "servobench.sync"
"""Audit event before a descriptor is synced. Python itself announces opening, renaming and removing files, not this."""

STALE_AFTER = 60.0
"""Age from which a temporary file counts as abandoned by a dead process [s]."""


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by these bytes.

    Raises:
        OSError: The file cannot be written. The error names `path`, and the old file is kept.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            _sync(file.fileno())
        os.replace(aside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None
        raise
    # The file is in place now. Some systems cannot sync folders; the file is then as safe as they allow.
    with contextlib.suppress(OSError):
        sync(path.parent)


def put_in_place(aside: Path, path: Path) -> None:
    """Sync a finished file, move it to an unused name, and sync the folder.

    Raises:
        OSError: The file cannot be moved; the temporary file is removed.
    """
    sync(aside)
    os.replace(aside, path)
    try:
        sync(path.parent)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Force a file or a folder's entries to the disk.

    Raises:
        OSError: The disk reports an error.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    sys.audit(SYNC, descriptor)
    os.fsync(descriptor)


def remove_stale(folder: Path, name: str) -> None:
    """Remove the temporary files of a killed `write_atomically(folder / name, …)`; problems are ignored."""
    with contextlib.suppress(OSError):
        for aside in folder.glob(f".{name}.*.tmp"):
            if time.time() - aside.stat().st_mtime > STALE_AFTER:
                aside.unlink(missing_ok=True)
