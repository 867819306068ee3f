"""Clocks of servos: the machine's, or a virtual one that jumps from deadline to deadline.

The recorder's loop takes the clock from its servo. One loop thus serves hardware in real time and the simulated
servo as fast as the processor allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from drivers import timing

SPIN = 1.5e-4
"""Time spent spinning before a deadline [s], because a sleeping thread wakes up to 0.1 ms late."""
SLICE = 5e-3
"""Longest sleep between two checks for an interruption [s]."""
LONGEST_LOOK = 0.01
"""Longest time that passes on a standing clock between two looks at it [s of the machine]."""


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
        return self.speed * timing.now()

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Sleep in slices until just before `deadline` [s], then spin; return early if interrupted."""
        while not interrupted():
            left = (deadline - self.now()) / self.speed
            if left <= SPIN:
                break
            timing.sleep(min(left - SPIN, SLICE))
        else:
            return
        while self.now() < deadline:
            pass


class StandingClock(RealClock):
    """A real clock that leaves out the time in which no one looked at it, as its process got no processor.

    For a simulated servo on a machine that is too busy, see `drivers.timing`.
    """

    def __init__(self, speed: float = 1.0) -> None:
        """Create the clock; speed: seconds of this clock per second of the machine."""
        super().__init__(speed)
        self._looked_at, self._stood = timing.now(), 0.0

    def now(self) -> float:
        """Return the seconds since an arbitrary origin, without those in which it stood still."""
        moment = timing.now()
        self._stood += max(0.0, moment - self._looked_at - LONGEST_LOOK)
        self._looked_at = moment
        return self.speed * (moment - self._stood)


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
