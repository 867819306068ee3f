"""Waiting in tests: for what happens, not for a time. A limit only ends a test that would hang for ever."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

FAST = "simulated:mx106?speed=4"
"""Servo that saves waiting; its recorder takes about half a slow core, so that a busy machine keeps up with it."""
PROCESSOR_TIME = 60.0
"""Ends a wait in vain [s]: time that what is waited for has had, all but that in which it was queued for one."""
LONGEST = 900.0
"""No such wait is longer, however busy the machine is [s]."""
LIMIT = 180.0
"""For waits of the product and of libraries, which take a time on the clock [s]."""


def wait_until(true: Callable[[], Any], each: Callable[[], object] = lambda: None, told: object = "") -> Any:
    """Return the first value of `true` that counts as true; between two looks call `each`, e.g. a recorder's `beat`.

    Raises AssertionError with `told`, or what it returns if it can be called, when PROCESSOR_TIME has passed.
    """
    patience = Patience()
    while not (found := true()):
        assert patience.lasts(), f"in vain: {told() if callable(told) else told}"
        each()
        time.sleep(0.002)
    return found


class Patience:
    """Ends once this process and those it started have had PROCESSOR_TIME, the one that had least."""

    def __init__(self) -> None:
        self._begun = self._looked = time.monotonic()
        self._had = 0.0
        self._queued: dict[str, float] = {}

    def lasts(self) -> bool:
        """Count the time since the last call, a second or more; False when it is over."""
        now = time.monotonic()
        if (passed := now - self._looked) > 1.0:
            queued = time_in_queue()
            starved = max((queued[task] - self._queued.get(task, queued[task]) for task in queued), default=0.0)
            self._had += max(0.0, passed - starved)
            self._looked, self._queued = now, queued
        return self._had < PROCESSOR_TIME and now - self._begun < LONGEST


def time_in_queue() -> dict[str, float]:
    """Time that each thread of this process and its descendants wanted a processor and had none [s]; {} off Linux."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    queued: dict[str, float] = {}
    for task in (task for process in family for task in Path(f"/proc/{process}/task").glob("*/schedstat")):
        with suppress(OSError):
            queued[str(task)] = 1e-9 * float(task.read_text().split()[1])
    return queued
