"""What a process holds: memory, threads, open handles, Qt's and Python's objects; read from the system, not felt."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MB = 1024.0


@dataclass(frozen=True, kw_only=True)
class Vitals:
    """One look at a process, or the sum over several."""

    rss: float = 0.0
    """Resident memory [MB]."""
    pss: float = 0.0
    """Resident memory, what is shared with other processes divided among them [MB]."""
    own: float = 0.0
    """Resident memory that is of no file [MB]: a leak makes it grow, a library used for the first time does not."""
    threads: int = 0
    handles: int = 0
    """Open file descriptors."""

    def __add__(self, other: Vitals) -> Vitals:
        """Both together."""
        return Vitals(**{name: value + getattr(other, name) for name, value in self.__dict__.items()})


def vitals(pid: int | None = None) -> Vitals:
    """Look at a process, by default this one; one that has ended holds nothing."""
    place = Path("/proc") / ("self" if pid is None else str(pid))
    try:
        lines = dict(line.split(":", 1) for line in (place / "smaps_rollup").read_text().splitlines()[1:])
        return Vitals(
            rss=int(lines["Rss"].split()[0]) / MB,
            pss=int(lines["Pss"].split()[0]) / MB,
            own=int(lines["Anonymous"].split()[0]) / MB,
            threads=len(os.listdir(place / "task")),
            handles=len(os.listdir(place / "fd")),
        )
    except (OSError, KeyError):
        return Vitals()


@dataclass(frozen=True, kw_only=True)
class Allocations:
    """What this process has asked for: says whether what grows is in use or lies between what is."""

    heap: float
    """In use of the C library's heap [MB]."""
    holes: float
    """Free in it [MB]."""
    blocks: int
    """In use of Python's own allocator."""


def allocations() -> Allocations:
    """Look at this process; the heap is unknown, NaN, where the C library is not glibc ≥ 2.33."""
    blocks = sys.getallocatedblocks()
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return Allocations(heap=math.nan, holes=math.nan, blocks=blocks)
    ask.restype = _Mallinfo2
    told = ask()
    return Allocations(
        heap=(told.uordblks + told.hblkhd) / MB / MB,
        holes=told.fordblks / MB / MB,
        blocks=blocks,
    )


class _Mallinfo2(ctypes.Structure):
    """See mallinfo2(3)."""

    _names = (
        "arena",
        "ordblks",
        "smblks",
        "hblks",
        "hblkhd",
        "usmblks",
        "fsmblks",
        "uordblks",
        "fordblks",
        "keepcost",
    )
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


def descendants(pid: int) -> dict[int, str]:
    """Every process below one, by id, with the letter of its state; "Z" is one that nobody has asked about."""
    parents: dict[int, list[tuple[int, str]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, parent = (Path("/proc") / entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            parents.setdefault(int(parent), []).append((int(entry), state))
    found: dict[int, str] = {}
    todo = [pid]
    while todo:
        for child, state in parents.get(todo.pop(), []):
            found[child] = state
            todo.append(child)
    return found


@dataclass(frozen=True)
class Objects:
    """What is alive in this process."""

    wrappers: int
    """Python objects that stand for living Qt ones."""
    widgets: int
    python: int
    """Objects Python's collector knows."""
    threads: int
    handles: int


def objects() -> Objects:
    """Count what is alive once everything that can go has gone."""
    import shiboken6
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        gc.collect()
    now = vitals()
    return Objects(
        len(shiboken6.getAllValidWrappers()),
        len(QApplication.allWidgets()),
        len(gc.get_objects()),
        now.threads,
        now.handles,
    )


class Stopwatch:
    """The machine's time since it was made, and what time that is on a bench that lives faster."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        # For the benchmarks, which tell it; no test looks.
        self._begin = time.monotonic()

    @property
    def wall(self) -> float:
        """[s]"""
        return time.monotonic() - self._begin

    @property
    def bench(self) -> float:
        """[s]"""
        return self.speed * self.wall
