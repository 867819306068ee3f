"""Files of HDF5 that nobody vouches for are read once in a process whose death costs nothing.

HDF5 trusts what its files say: one with a few bytes changed can end the process that reads it, or never come back. A
finished file of ours ends with the hash of its bytes, see sessions.trailer; one without, rewritten by another program
or meant to do harm, is tried here first, all of it. What the trial survives may still be refused for what it holds.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from functools import lru_cache
from multiprocessing import current_process, get_context
from pathlib import Path

import h5py

from sessions.errors import UnreadableError

LOG = logging.getLogger(__name__)
PATIENCE = 30.0
"""A trial may take so long [s], and a second more for each of SPEED bytes."""
SPEED = 20e6
MOST_MEMORY = 3 * 2**30
"""Of a trial [bytes]; what a file may claim is bounded to far less, see sessions.schema."""
_PROGRAM = "import sys; from sessions.trial import read_through; read_through(sys.argv[1])"


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
    if ended:
        LOG.warning("%s could not be tried (exit code %d)", path, ended)


def _started(path: str, limit: float) -> int | None:
    room = str(Path(__file__).parents[1])
    places = os.pathsep.join(filter(None, (room, os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, path],
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
    from sessions.schema import read_values

    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    def look(_name: str, item: h5py.Group | h5py.Dataset) -> None:
        with contextlib.suppress(Exception):
            for name in item.attrs:
                with contextlib.suppress(Exception):
                    item.attrs.get(name)
        if isinstance(item, h5py.Dataset) and not item.is_virtual and item.external is None:
            with contextlib.suppress(Exception):
                read_values(item, "")

    with contextlib.suppress(Exception), h5py.File(path, "r") as file:
        look("/", file)
        file.visititems(look)
