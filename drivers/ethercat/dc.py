"""Time on the bus: frames at a fixed place between two SYNC0 pulses, and a clock that counts in those cycles.

A drive with distributed clocks takes over its outputs at each SYNC0 pulse of its own oscillator; the host's runs a
little faster or slower. `PhaseLock` stretches or shortens the host's cycles by what it takes to stay in step, and
`BusClock` is the time in which every cycle lasts exactly as long as it should.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PHASE = 0.3
"""Where frames are sent, as a share of the cycle after SYNC0: a thread can be late, never early."""
PROPORTIONAL = 0.05
INTEGRAL = 0.0005
"""Per cycle; a damped second-order loop that has learnt how fast a crystal runs after some hundred cycles."""
CREDIBLE = 0.05
"""A larger distance than this share of a cycle counts as no more than that: one late frame says little."""
LONGEST_CORRECTION = 0.005
"""Of one cycle, as a share of it; no crystal is that wrong."""
LOCKED_WITHIN = 0.05
"""Of the place, as a share of the cycle."""
LOCKED_FOR = 20
"""Cycles in a row."""

SLICE = 5e-3
"""Longest wait between two looks at whether somebody wants it to end [s]."""


class PhaseLock:
    """Keeps the host's cycles in step with the SYNC0 pulses of a bus."""

    def __init__(self, cycle: float) -> None:
        """cycle: time between two SYNC0 pulses, which are where the bus time is a multiple of it [s]."""
        self._cycle = cycle
        self._drift = 0.0
        self._good = 0
        self.error = 0.0
        """Last distance from the right place [s]."""

    @property
    def locked(self) -> bool:
        """Whether it has been in step for a while."""
        return self._good >= LOCKED_FOR

    @property
    def drift(self) -> float:
        """What every cycle is corrected by besides the distance; its share of the cycle is the oscillators' [s]."""
        return self._drift

    def first_shift(self, bus_time: float, late: float) -> float:
        """How much later than planned the frames have to be sent to be in place [s], once at the beginning.

        bus_time: of a frame [s]; late: how long after its deadline that was sent [s].
        """
        return -self._distance(bus_time, late)

    def correction(self, bus_time: float, late: float) -> float:
        """What to add to the next cycle [s]; arguments as for `first_shift`."""
        cycle = self._cycle
        self.error = error = self._distance(bus_time, late)
        self._good = self._good + 1 if abs(error) < LOCKED_WITHIN * cycle else 0
        error = _within(error, CREDIBLE * cycle)
        self._drift = _within(self._drift - INTEGRAL * error, LONGEST_CORRECTION * cycle)
        return _within(self._drift - PROPORTIONAL * error, LONGEST_CORRECTION * cycle)

    def _distance(self, bus_time: float, late: float) -> float:
        """How far behind its place a frame sent in time would have been, −cycle/2 … cycle/2 [s]."""
        cycle = self._cycle
        return (bus_time - late - (PHASE - 0.5) * cycle) % cycle - 0.5 * cycle


def _within(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)


class BusClock:
    """A `drivers.clock.Clock` whose seconds are counted in cycles of the bus.

    The thread that makes the cycles tells each of them with `begin` and `complete`; before the first one and when
    cycles stop coming, time goes on like the machine's. `wait_until` returns when the cycle has come back that is
    nearest to the deadline and was not used yet, so that whoever waits gets inputs that were measured just now.
    """

    virtual = False
    speed = 1.0

    def __init__(self, cycle: float) -> None:
        """cycle: nominal time between two cycles [s]."""
        self.cycle = cycle
        self.waited_at = time.perf_counter()
        """When somebody waited last, in the machine's seconds."""
        self._came = threading.Condition()
        # Machine's moment, this clock's moment and seconds of this one in one of the machine's; replaced as a whole.
        self._anchor = (0.0, 0.0, 1.0)
        self._completed = self._used = -1.0

    def now(self) -> float:
        """Seconds since an arbitrary origin."""
        return self.at(time.perf_counter())

    def at(self, moment: float) -> float:
        """This clock's time at a moment of the machine's [s]."""
        machine, bus, pace = self._anchor
        return bus + pace * (moment - machine)

    def begin(self, deadline: float, lasting: float) -> float:
        """A cycle that was due at `deadline` will last so long, both in the machine's seconds; returns its moment."""
        moment = self.at(deadline)
        self._anchor = (deadline, moment, self.cycle / lasting)
        return moment

    def complete(self, moment: float) -> None:
        """The cycle that began at this moment of this clock has come back, or is lost."""
        with self._came:
            self._completed = moment
            self._came.notify_all()

    def use(self) -> None:
        """What came back last has been used; a wait for it again is one for the next."""
        self._used = self._completed

    def wait_for(self, come: Callable[[], bool], limit: float) -> bool:
        """Wait until `come` is true after some cycle, at most so long [s]; returns whether it is."""
        with self._came:
            return self._came.wait_for(come, limit)

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Return once the cycle nearest to `deadline` [s] has come back, or at most 5 ms after `interrupted`."""
        enough, patience = deadline - 0.5 * self.cycle, deadline + self.cycle
        while not interrupted():
            self.waited_at = time.perf_counter()
            with self._came:
                if self._completed >= enough and self._completed > self._used:
                    return
                left = patience - self.now()
                if left <= 0.0:
                    return
                self._came.wait(min(left, SLICE))
