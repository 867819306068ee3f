"""The time a servo lives in: the machine's, or a virtual one that jumps from deadline to deadline.

The recorder's loop asks its servo for the clock, so that one loop serves hardware in real time and the simulated
servo as fast as the processor allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

SPIN = 1.5e-4
"""A sleeping thread in real time wakes up to 0.1 ms late; the last stretch before a deadline is spent spinning [s]."""
SLICE = 5e-3
"""Longest sleep between two looks at whether somebody wants the wait to end [s]."""


class Clock(Protocol):
    """Seconds that never run backwards."""

    virtual: bool
    speed: float
    """How many of its seconds pass in one of the machine's; 1 for a virtual one, which waits for nothing."""

    def now(self) -> float:
        """Seconds since an arbitrary origin."""
        ...

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Return at `deadline` [s], or at most 5 ms after `interrupted` turned true."""
        ...


class RealClock:
    """The machine's monotonic clock, the same in every process of the machine, or a multiple of it.

    A multiple makes an accelerated bench: motion, rates and ramps are faster for whoever looks on, while what protects
    people and machine (heartbeats, stops, stalls) is counted in the machine's own seconds.
    """

    virtual = False

    def __init__(self, speed: float = 1.0) -> None:
        """speed: how many of its seconds pass in one of the machine's."""
        self.speed = speed

    def now(self) -> float:
        """Seconds since an arbitrary origin."""
        return self.speed * time.perf_counter()

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Sleep in slices until just before `deadline` [s], then spin; return early when interrupted."""
        deadline /= self.speed
        while not interrupted():
            left = deadline - time.perf_counter()
            if left <= SPIN:
                break
            time.sleep(min(left - SPIN, SLICE))
        else:
            return
        while time.perf_counter() < deadline:
            pass


class VirtualClock:
    """Time that passes only when somebody waits: a run takes as long as its computation."""

    virtual = True
    speed = 1.0

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Seconds since the clock was made."""
        return self._now

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Jump to `deadline` [s], never backwards, unless interrupted."""
        if not interrupted():
            self._now = max(self._now, deadline)
