"""Files that are either complete or absent, even after a power cut: write a temporary file, sync, rename.

A temporary file is locked while its writer lives. The kernel drops the lock when the writer dies for any reason, so
`sweep` removes abandoned files at once and never one that is being written, in this or another process.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Generator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None

SYNC = "servobench.sync"
"""Audit event before a descriptor is synced. Python itself announces opening, renaming and removing files, not this."""

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp", re.DOTALL)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by these bytes; temporary files that dead writers left in its folder are removed.

    Raises:
        OSError: The file cannot be written. The error names `path`, and the old file is kept.
    """
    sweep(path.parent)
    try:
        with temporary_file(path) as file:
            file.write(data)
            file.flush()
            _sync(file.fileno())
            if fcntl is None:
                file.close()
            os.replace(file.name, path)
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise
    # The file is in place now. Some systems cannot sync folders; the file is then as safe as they allow.
    with contextlib.suppress(OSError):
        sync(path.parent)


@contextlib.contextmanager
def temporary_file(path: Path) -> Generator[IO[bytes]]:
    """Yield a new file beside `path`, to be moved there; it is removed at the end unless it was.

    Raises:
        OSError: The file cannot be created.
    """
    while True:
        aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with aside.open("x+b") as file:
                if _claimed(file):
                    yield file
                    return
        finally:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)


def sweep(*folders: Path) -> None:
    """Remove the temporary files in these folders whose writers have died; problems are ignored."""
    for folder in folders:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name.endswith(".tmp") and _TEMPORARY.fullmatch(name):
                    with contextlib.suppress(OSError):
                        _remove_abandoned(folder / name)


def sweep_tree(folder: Path) -> None:
    """Call `sweep` for a folder and all folders below it."""
    sweep(*(Path(place) for place, _, _ in os.walk(folder)))


def _claimed(file: IO[bytes]) -> bool:
    """Lock a new file; return False if another process has swept it away just before."""
    if fcntl is None:
        return True
    with contextlib.suppress(OSError):  # some network disks have no locks; nothing is swept there
        fcntl.flock(file, fcntl.LOCK_EX)
    return os.fstat(file.fileno()).st_nlink > 0


def _remove_abandoned(path: Path) -> None:
    """Remove a temporary file unless it is locked; raises OSError."""
    if fcntl is None:
        path.unlink()
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Its writer may have moved it meanwhile: then there is nothing of this name any more.
        path.unlink()
    finally:
        os.close(descriptor)


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
