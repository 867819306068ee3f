"""Clocks of servos: the machine's, or a virtual one that jumps from deadline to deadline.

The recorder's loop takes the clock from its servo. One loop thus serves hardware in real time and the simulated
servo as fast as the processor allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

SPIN = 1.5e-4
"""Time spent spinning before a deadline [s], because a sleeping thread wakes up to 0.1 ms late."""
SLICE = 5e-3
"""Longest sleep between two checks for an interruption [s]."""


class Clock(Protocol):
    """Clock that never runs backwards, in seconds."""

    virtual: bool
    speed: float
    """Seconds of this clock per second of the machine; 1 for a virtual clock, which never waits."""

    def now(self) -> float:
        """Return the seconds since an arbitrary origin."""
        ...

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Return at `deadline` [s], or at most 5 ms after `interrupted` became true."""
        ...


class RealClock:
    """The machine's monotonic clock, the same in every process of the machine, or a multiple of it.

    A multiple makes an accelerated bench: observers see faster motion, rates and ramps. Everything that protects
    people and the machine (heartbeats, stops, stalls) is still counted in the machine's own seconds.
    """

    virtual = False

    def __init__(self, speed: float = 1.0) -> None:
        """Create the clock.

        Args:
            speed: Seconds of this clock per second of the machine.
        """
        self.speed = speed

    def now(self) -> float:
        """Return the seconds since an arbitrary origin."""
        return self.speed * time.perf_counter()

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Sleep in slices until just before `deadline` [s], then spin; return early if interrupted."""
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
    """Clock that advances only on `wait_until`: a run takes as long as its computation."""

    virtual = True
    speed = 1.0

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Return the seconds since the clock was created."""
        return self._now

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Jump to `deadline` [s], never backwards, unless interrupted."""
        if not interrupted():
            self._now = max(self._now, deadline)
