"""Ownership of a run number, or of the documents: one lock file each, held by the process that writes.

The lock is `flock` on `runs/.NNNN.lock`, a sidecar because HDF5 itself locks its files. Creating the sidecar with
O_EXCL makes a number unique among processes. The kernel drops the lock when its holder dies for any reason; recovery
thus distinguishes a run that is being recorded from one that was left behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Collection, Generator
from pathlib import Path

POLL_PERIOD = 0.01
"""Pause between two attempts to get a lock that is held only briefly [s]."""

STAGED, COMMITTED = ".staged", ".committed"
"""Endings of folders `.NNNN.staged` of runs that are added together, named by their first number."""

_NUMBER = re.compile(r"\.?(\d{4,9})(?:\.(?:lock|staged|committed)$|_|\.h5)", re.ASCII)


def number_of(name: str) -> int | None:
    """Return the run number in the name of a run, its unfinished files or its lock; None for other names."""
    match = _NUMBER.match(name)
    return int(match[1]) if match else None


class RunLock:
    """Exclusive ownership of one run number, held until `release` or the end of the process."""

    def __init__(self, descriptor: int, path: Path, number: int) -> None:
        self._descriptor = descriptor
        self._path = path
        self.number = number

    @classmethod
    def reserve(cls, runs: Path, number: int) -> RunLock | None:
        """Take an unused number; None if another process was faster.

        Raises:
            OSError: if the lock file cannot be created.
        """
        return cls._take(runs, number, os.O_EXCL)

    @classmethod
    def seize(cls, runs: Path, number: int) -> RunLock | None:
        """Take over a number left behind; None while a living process owns it.

        Raises:
            OSError: if the lock file cannot be created.
        """
        return cls._take(runs, number, 0)

    @classmethod
    def _take(cls, runs: Path, number: int, exclusive: int) -> RunLock | None:
        path = runs / f".{number:04d}.lock"
        descriptor = _locked(path, exclusive)
        return None if descriptor is None else cls(descriptor, path, number)

    def release(self) -> None:
        """Release the number; further calls do nothing."""
        if self._descriptor < 0:
            return
        _release(self._descriptor, self._path)
        self._descriptor = -1


@contextlib.contextmanager
def held(path: Path, patience: float) -> Generator[None]:
    """Hold a lock file for a moment, after waiting for its current holder.

    Args:
        path: The lock file.
        patience: Longest wait [s].

    Raises:
        OSError: if the file cannot be created.
        TimeoutError: if another process still holds it after `patience`.
    """
    deadline = time.monotonic() + patience
    while (descriptor := _locked(path, 0)) is None:
        if time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, "another program holds it; close that one or try again")
        time.sleep(POLL_PERIOD)
    try:
        yield
    finally:
        _release(descriptor, path)


def _locked(path: Path, exclusive: int) -> int | None:
    """Return the descriptor of a lock file that we now hold, None if another process has it; raises OSError.

    Args:
        path: The lock file.
        exclusive: os.O_EXCL to take only a file that does not exist yet, else 0.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | exclusive, 0o644)
    except FileExistsError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        _release(descriptor, path)
        raise
    os.close(descriptor)
    return None


def _release(descriptor: int, path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
    os.close(descriptor)


def claim_numbers(runs: Path, count: int, spoken_for: Collection[int] = ()) -> list[RunLock]:
    """Take `count` new run numbers in increasing order, unique among all processes.

    A number is checked once more after its lock is held, because its former owner may have finished and released it
    between the two steps.

    Args:
        runs: The runs folder.
        count: How many numbers to take.
        spoken_for: Numbers that must not be taken although no run has them.

    Raises:
        OSError: if a lock file cannot be created.
    """
    claimed: list[RunLock] = []
    try:
        while len(claimed) < count:
            first = max(_numbers(runs).union(spoken_for), default=0) + 1
            fresh: list[RunLock] = []
            for number in range(first, first + count - len(claimed)):
                if (lock := RunLock.reserve(runs, number)) is not None:
                    fresh.append(lock)
                    claimed.append(lock)
            finished = _numbers(runs, locks=False)
            for lock in fresh:
                if lock.number in finished:
                    claimed.remove(lock)
                    lock.release()
    except BaseException:
        for lock in claimed:
            lock.release()
        raise
    return claimed


def _numbers(runs: Path, locks: bool = True) -> set[int]:
    """Return the numbers in use in a runs folder, including damaged runs and runs being added."""
    numbers: set[int] = set()
    # Runs being added move from their folder into `runs`; `runs` is read last so that none is missed.
    for folder in (runs / "damaged", *runs.glob(f".*{STAGED}"), *runs.glob(f".*{COMMITTED}"), runs):
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            names = [entry.name for entry in entries if locks or not entry.name.endswith(".lock")]
            numbers.update(number for name in names if (number := number_of(name)) is not None)
    return numbers
