"""Files of HDF5 that nobody vouches for are read once in a process whose death costs nothing.

HDF5 trusts what its files say: one with a few bytes changed can end the process that reads it, never come back, or ask
for gigabytes for one short text. A finished file of ours ends with the hash of its bytes, see
sessions.run_file.trailer; one without, left by a crash of an earlier version, rewritten by another program or meant to
do harm, is tried here first, all of it. What the trial survives may still be refused for what it holds.
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
"""A trial may take so long [s], and a second more for each of SPEED bytes."""
SPEED = 20e6
MOST_MEMORY = 3 * 2**30
"""Of a trial [bytes]; what `read_values` lets a file claim is far less."""
MOST_FOR_TEXTS = 2**26
"""The same for texts of variable length, besides the size of the file: only HDF5 knows how long they claim to be."""
GREEDY = 3
"""Exit code of a trial that was asked for more."""
UNLISTED = 4
"""Exit code of a trial that could not see all there is: what it did not see, nobody has tried."""
FREE_BYTES = 2**24
"""A dataset may claim so much whatever its file holds."""
MOST_UNPACKED = 100
"""Beyond that, so many times the bytes that the file holds for it: other programs may have compressed it."""
LARGEST_CHUNK = 2**25
"""HDF5 unpacks whole chunks [bytes]."""
MOST_CHUNKS = 100_000
_REFUSED = ("alloc", "memory")
"""In what HDF5 says when it is given none."""
_PROGRAM = "import sys; from sessions.run_file.trial import read_through; read_through(sys.argv[1])"


def survive(path: Path) -> None:
    """Try a file; raises UnreadableError when reading it ends a process or takes for ever, OSError as `Path.stat`."""
    status = path.stat()
    # In a worker that may die, as a recorder or a fit, the file is as good as tried. One that is no HDF5 at all is
    # refused without reading on.
    if not current_process().daemon and h5py.is_hdf5(path):
        _tried(str(path.absolute()), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4096)
def _tried(path: str, size: int, modified: int) -> None:
    limit = PATIENCE + size / SPEED
    # Spawning runs a person's own script anew; a bundle has no other way, and no script.
    ended = _spawned(path, limit) if getattr(sys, "frozen", False) else _started(path, limit)
    if ended is None:
        raise UnreadableError("the file is damaged: reading it does not come to an end")
    if ended < 0:
        raise UnreadableError(f"the file is damaged: reading it ends a process by signal {-ended}")
    if ended == GREEDY:
        raise UnreadableError("the file is damaged: its texts claim more memory than a file of its size can hold")
    if ended == UNLISTED:
        raise UnreadableError("the file is damaged: what it holds cannot be listed")
    if ended:
        LOG.warning("%s could not be tried (exit code %d)", path, ended)


def _started(path: str, limit: float) -> int | None:
    room = str(Path(__file__).parents[2])
    places = os.pathsep.join(filter(None, (room, os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            # Not from the working folder, where a folder of a person's own may be called as ours.
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
    """Read everything in a file that this very process can be lost for. What HDF5 says is of no interest here."""
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

    # A part of an earlier version, see sessions.writing.earlier_part, is still marked as being written.
    with contextlib.suppress(Exception), h5py.File(path, "r", swmr=path.endswith(".part")) as file:
        try:
            look("/", file)
            file.visititems(look)
        except Exception:
            os._exit(UNLISTED)


def read_values(dataset: h5py.Dataset, name: str) -> Any:
    """Everything in a dataset; raises UnreadableError for one that claims far more than its file can hold.

    A few hundred bytes can claim gigabytes, which are zeros or unpack to them.
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
    """Read with little memory; ends the process when that is not enough."""
    _limit(_held() + room)
    try:
        read()
    except Exception as error:
        if isinstance(error, MemoryError) or any(word in str(error) for word in _REFUSED):
            os._exit(GREEDY)
    finally:
        _limit(MOST_MEMORY)


def _limit(size: float) -> None:
    """Bound this process' memory [bytes], where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (int(min(size, MOST_MEMORY)), most))


def _held() -> float:
    """Address space of this process [bytes]; infinite where nobody says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return math.inf
