"""Trial of foreign HDF5 files: each is read once in a process whose death does no harm.

HDF5 trusts the content of its files. A file with a few changed bytes can end the process that reads it, never return,
or request gigabytes for one short text. A finished file of ours ends with the hash of its bytes, see
sessions.run_file.trailer. A file without one was rewritten by another program or made to do harm, and is tried
here first. A file that passes the trial may still be refused for its content.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from multiprocessing import current_process, get_context
from pathlib import Path
from typing import Any

import h5py

from sessions.errors import UnreadableError

LOG = logging.getLogger(__name__)
PATIENCE = 30.0
"""Time allowed for a trial [s], plus one second per SPEED bytes."""
SPEED = 20e6
MOST_MEMORY = 3 * 2**30
"""Memory allowed for a trial [bytes]; `read_values` lets a file claim far less."""
MOST_FOR_TEXTS = 2**26
"""Memory allowed for texts of variable length [bytes], plus the size of the file: only HDF5 knows their claimed
length."""
GREEDY = 3
"""Exit code of a trial that exceeded its memory."""
UNLISTED = 4
"""Exit code of a trial that could not list the whole file, so that a part of it is untried."""
FREE_BYTES = 2**24
"""Bytes that a dataset may claim whatever its file holds."""
MOST_UNPACKED = 100
"""Beyond that, multiple of the bytes stored in the file: other programs may have compressed the data."""
LARGEST_CHUNK = 2**25
"""HDF5 unpacks whole chunks [bytes]."""
MOST_CHUNKS = 100_000
_REFUSED = ("alloc", "memory")
"""Part of the message of HDF5 when memory is refused."""
_PROGRAM = "import sys; from sessions.run_file.sandbox import read_through; read_through(sys.argv[1])"


def survive(path: Path) -> None:
    """Try a file in another process.

    Raises:
        UnreadableError: if reading the file ends a process or does not end.
        OSError: as `Path.stat`.
    """
    status = path.stat()
    # A worker that may die, such as a recorder or a fit, counts as a trial itself. A file that is not HDF5 is refused
    # without reading it.
    if not current_process().daemon and h5py.is_hdf5(path):
        _tried(str(path.absolute()), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4096)
def _tried(path: str, size: int, modified: int) -> None:
    limit = PATIENCE + size / SPEED
    # Spawning would run the user's script again; a frozen bundle has no other way, and no script.
    ended = _spawned(path, limit) if getattr(sys, "frozen", False) else _started(path, limit)
    if ended is None:
        raise UnreadableError("the file is damaged: reading it does not end")
    if ended < 0:
        raise UnreadableError(f"the file is damaged: reading it ends a process by signal {-ended}")
    if ended == GREEDY:
        raise UnreadableError("the file is damaged: its texts claim more memory than a file of its size can hold")
    if ended == UNLISTED:
        raise UnreadableError("the file is damaged: its content cannot be listed")
    if ended:
        LOG.warning("%s could not be tried (exit code %d)", path, ended)


def _started(path: str, limit: float) -> int | None:
    room = str(Path(__file__).parents[2])
    places = os.pathsep.join(filter(None, (room, os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            # Not from the working folder, where a folder of the user may have the name of one of ours.
            [sys.executable, "-P", "-c", _PROGRAM, path],
            env={**os.environ, "PYTHONPATH": places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _spawned(path: str, limit: float) -> int | None:
    process = get_context("spawn").Process(target=read_through, args=(path,), daemon=True)
    process.start()
    process.join(limit)
    if process.exitcode is None:
        process.kill()
        process.join()
        return None
    return process.exitcode


def read_through(path: str) -> None:
    """Read everything in a file; this process may die of it. Errors of HDF5 are ignored here."""
    _limit(MOST_MEMORY)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    room = MOST_FOR_TEXTS + os.path.getsize(path)

    def look(_name: str, item: h5py.Group | h5py.Dataset) -> None:
        for name in item.attrs:
            _read_texts(lambda name=name: item.attrs.get(name), room)
        if isinstance(item, h5py.Dataset) and not item.is_virtual and item.external is None:
            with contextlib.suppress(Exception):
                if h5py.check_vlen_dtype(item.dtype) or h5py.check_string_dtype(item.dtype):
                    _read_texts(lambda: read_values(item, ""), room)
                else:
                    read_values(item, "")

    with contextlib.suppress(Exception), h5py.File(path, "r") as file:
        try:
            look("/", file)
            file.visititems(look)
        except Exception:
            os._exit(UNLISTED)


def read_values(dataset: h5py.Dataset, name: str) -> Any:
    """Return all values of a dataset.

    A few hundred bytes can claim gigabytes, which are zeros or unpack to them.

    Raises:
        UnreadableError: if it claims far more than its file can hold.
    """
    item = dataset.dtype.itemsize
    claimed = item * (dataset.size or 0)
    held = min(dataset.id.get_storage_size(), dataset.file.id.get_filesize())
    chunk = math.prod(dataset.chunks or ()) * item
    chunks = math.prod(-(-side // step) for side, step in zip(dataset.shape or (), dataset.chunks or (), strict=False))
    if claimed > FREE_BYTES + MOST_UNPACKED * held or chunk > LARGEST_CHUNK or chunks > MOST_CHUNKS:
        raise UnreadableError(f"{name} claims {claimed} bytes in {chunks} pieces, of which the file holds {held}")
    return dataset[()]


def _read_texts(read: Callable[[], object], room: int) -> None:
    """Read with little memory; end the process if that is not enough."""
    _limit(_held() + room)
    try:
        read()
    except Exception as error:
        if isinstance(error, MemoryError) or any(word in str(error) for word in _REFUSED):
            os._exit(GREEDY)
    finally:
        _limit(MOST_MEMORY)


def _limit(size: float) -> None:
    """Limit this process' memory [bytes], where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (int(min(size, MOST_MEMORY)), most))


def _held() -> float:
    """Return the address space of this process [bytes]; infinite if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return math.inf
