"""Who owns a run number, or the documents: one lock file each, held by the process that writes.

The lock is `flock` on `runs/.NNNN.lock`, a sidecar because HDF5 locks its own files by itself. Creating the
sidecar with O_EXCL makes a number unique among processes; the kernel drops the lock when its holder dies,
however it dies, and that is how recovery tells a run that is being recorded from one that was left behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path

POLL_PERIOD = 0.01
"""Between two attempts to get a lock that is held for moments only [s]."""

STAGED, COMMITTED = ".staged", ".committed"
"""Endings of folders `.NNNN.staged` of runs that are being added together, named by the first of their numbers."""

_NUMBER = re.compile(r"\.?(\d{4,9})(?:\.(?:lock|staged|committed)$|_|\.h5)", re.ASCII)


def number_of(name: str) -> int | None:
    """Run number in the name of a run, of its unfinished files or of its lock; None for foreign names."""
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
        """Take a number nobody uses; None if another process was faster. Raises OSError."""
        return cls._take(runs, number, os.O_EXCL)

    @classmethod
    def seize(cls, runs: Path, number: int) -> RunLock | None:
        """Take over a number left behind; None while a living process owns it. Raises OSError."""
        return cls._take(runs, number, 0)

    @classmethod
    def _take(cls, runs: Path, number: int, exclusive: int) -> RunLock | None:
        path = runs / f".{number:04d}.lock"
        descriptor = _locked(path, exclusive)
        return None if descriptor is None else cls(descriptor, path, number)

    def release(self) -> None:
        """Give the number back; calling it again does nothing."""
        if self._descriptor < 0:
            return
        _release(self._descriptor, self._path)
        self._descriptor = -1


@contextlib.contextmanager
def held(path: Path, patience: float) -> Iterator[None]:
    """Hold a lock file for a moment, waiting for whoever else does; raises OSError, TimeoutError after `patience` s."""
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
    """Descriptor of a lock file that is now ours, None if another has it; raises OSError.

    exclusive: os.O_EXCL to take only a file that nobody made before, else 0.
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
    """Take `count` fresh run numbers in increasing order, unique among all processes; raises OSError.

    spoken_for: numbers that must not be taken though no run has them. A number is looked for once more after its lock
    is held, because its former owner may have finished and released it between the two steps.
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
    """Numbers in use in a runs folder, those of damaged runs and of runs being added included."""
    numbers: set[int] = set()
    # Runs being added move from their folder into `runs`, which is looked at after it.
    for folder in (runs / "damaged", *runs.glob(f".*{STAGED}"), *runs.glob(f".*{COMMITTED}"), runs):
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            names = [entry.name for entry in entries if locks or not entry.name.endswith(".lock")]
            numbers.update(number for name in names if (number := number_of(name)) is not None)
    return numbers
