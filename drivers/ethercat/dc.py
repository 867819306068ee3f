"""Time on the bus: frames at a fixed place between two SYNC0 pulses, and a clock that counts in those cycles.

A drive with distributed clocks applies its outputs at each SYNC0 pulse of its own oscillator; the host's runs a little
faster or slower. `PhaseLock` stretches or shortens the host's cycles to stay in step. `BusClock` is the time in which
every cycle lasts exactly as long as it should.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from drivers import timing

PHASE = 0.3
"""Place of frames, as a share of the cycle after SYNC0: a thread can be late, never early."""
PROPORTIONAL = 0.05
INTEGRAL = 0.0005
"""Gains per cycle: a damped second-order loop that has learnt the speed of a crystal after some hundred cycles."""
CREDIBLE = 0.05
"""Largest distance that counts in full, as a share of a cycle: one late frame is weak evidence."""
LONGEST_CORRECTION = 0.005
"""Largest correction of one cycle, as a share of it; no crystal is that wrong."""
LOCKED_WITHIN = 0.05
"""Largest distance from the place that counts as in step, as a share of the cycle."""
LOCKED_FOR = 20
"""Cycles in a row after which the lock counts as in step."""

SLICE = 5e-3
"""Longest wait between two checks for an interruption [s]."""


class PhaseLock:
    """Keeps the host's cycles in step with the SYNC0 pulses of a bus."""

    def __init__(self, cycle: float) -> None:
        """Create a lock.

        Args:
            cycle: Time between two SYNC0 pulses [s], which are where the bus time is a multiple of it.
        """
        self._cycle = cycle
        self._drift = 0.0
        self._good = 0
        self.error = 0.0
        """Last distance from the right place [s]."""

    @property
    def locked(self) -> bool:
        """True if it has been in step for LOCKED_FOR cycles."""
        return self._good >= LOCKED_FOR

    @property
    def drift(self) -> float:
        """Correction of every cycle besides that for the distance [s]; it reflects how the oscillators differ."""
        return self._drift

    def first_shift(self, bus_time: float, late: float) -> float:
        """Return how much later than planned the frames have to be sent to be in place [s]; for the first cycle.

        Args:
            bus_time: Bus time of a frame [s].
            late: Delay of that frame after its deadline [s].
        """
        return -self._distance(bus_time, late)

    def correction(self, bus_time: float, late: float) -> float:
        """Return the correction of the next cycle [s]; arguments as for `first_shift`."""
        cycle = self._cycle
        self.error = error = self._distance(bus_time, late)
        self._good = self._good + 1 if abs(error) < LOCKED_WITHIN * cycle else 0
        error = _within(error, CREDIBLE * cycle)
        self._drift = _within(self._drift - INTEGRAL * error, LONGEST_CORRECTION * cycle)
        return _within(self._drift - PROPORTIONAL * error, LONGEST_CORRECTION * cycle)

    def _distance(self, bus_time: float, late: float) -> float:
        """Return how far behind its place a punctual frame would have been, −cycle/2 … cycle/2 [s]."""
        cycle = self._cycle
        return (bus_time - late - (PHASE - 0.5) * cycle) % cycle - 0.5 * cycle


def _within(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)


class BusClock:
    """A `drivers.clock.Clock` whose seconds are counted in cycles of the bus.

    The thread that runs the cycles reports each of them with `begin` and `complete`. Before the first one, and when
    cycles stop coming, time runs like the machine's. `wait_until` returns when the unused cycle nearest to the deadline
    has come back, so that the caller gets inputs that were measured just now.
    """

    virtual = False
    speed = 1.0

    def __init__(self, cycle: float) -> None:
        """Create a clock.

        Args:
            cycle: Nominal time between two cycles [s].
        """
        self.cycle = cycle
        self.waited_at = timing.now()
        """Time of the last wait, in the machine's seconds."""
        self._came = threading.Condition()
        # Machine's time, this clock's time, and its seconds per second of the machine; replaced as a whole.
        self._anchor = (0.0, 0.0, 1.0)
        self._completed = self._used = -1.0

    def now(self) -> float:
        """Return the seconds since an arbitrary origin."""
        return self.at(timing.now())

    def at(self, moment: float) -> float:
        """Return this clock's time for a time of the machine [s]."""
        machine, bus, pace = self._anchor
        return bus + pace * (moment - machine)

    def begin(self, deadline: float, lasting: float) -> float:
        """Report a cycle.

        Args:
            deadline: Time at which the cycle was due, in the machine's seconds.
            lasting: Duration of the cycle, in the machine's seconds.

        Returns:
            The beginning of the cycle on this clock [s].
        """
        moment = self.at(deadline)
        self._anchor = (deadline, moment, self.cycle / lasting)
        return moment

    def complete(self, moment: float) -> None:
        """Report that the cycle that began at this time of this clock has come back or is lost."""
        with self._came:
            self._completed = moment
            self._came.notify_all()

    def use(self) -> None:
        """Mark the last cycle as used; a further wait for it waits for the next one."""
        self._used = self._completed

    def wait_for(self, come: Callable[[], bool], limit: float) -> bool:
        """Wait until `come` is true after some cycle, at most `limit` [s]; return True if it is."""
        with self._came:
            return self._came.wait_for(come, limit)

    def wait_until(self, deadline: float, interrupted: Callable[[], bool]) -> None:
        """Return once the cycle nearest to `deadline` [s] has come back, or at most 5 ms after `interrupted`."""
        enough, patience = deadline - 0.5 * self.cycle, deadline + self.cycle
        while not interrupted():
            self.waited_at = timing.now()
            with self._came:
                if self._completed >= enough and self._completed > self._used:
                    return
                left = patience - self.now()
                if left <= 0.0:
                    return
                self._came.wait(min(left, SLICE))
