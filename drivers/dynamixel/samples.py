"""Whether a sample is a new one, and how fast the shaft turns when the servo does not say."""

from __future__ import annotations

import math
from collections import deque

TICKS = 32768
"""A servo's millisecond counter starts again after so many."""
TOLERANCE = 0.004
"""Between the servo's clock and ours, besides the time a read takes [s]."""
DRIFT = 0.02
"""A servo's clock may be wrong by this share."""
LONGEST_GAP = 0.4 * TICKS * 1e-3
"""After a longer pause the counter says nothing [s]."""
SPEED_WINDOW = 0.06
"""A velocity is taken from the positions of this time [s]."""


class TickCheck:
    """Compares the servo's millisecond counter with our clock: an old sample is late, a restarted servo jumps."""

    def __init__(self) -> None:
        self._last: tuple[int, float, float] | None = None

    def forget(self) -> None:
        """Begin anew, e.g. after a reboot."""
        self._last = None

    def plausible(self, tick: int, asked: float, answered: float) -> bool:
        """Whether a sample was taken between asking and being answered [s]; keeps it as the next one's reference if so.

        Only what a servo said after the last sample can be judged, so the first one always passes.
        """
        if self._last is not None:
            before, last_asked, last_answered = self._last
            longest = answered - last_asked
            if longest < LONGEST_GAP:
                passed = 1e-3 * ((tick - before + TICKS // 2) % TICKS - TICKS // 2)
                slack = TOLERANCE + DRIFT * longest
                if not asked - last_answered - slack <= passed <= longest + slack:
                    return False
        self._last = (tick, asked, answered)
        return True


class Speedometer:
    """Velocity from positions, for a servo that reports something else in the mode it is in."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def forget(self) -> None:
        """Begin anew."""
        self._seen.clear()

    def velocity(self, time: float, position: float) -> float:
        """Return the velocity over the last positions, this one included [rad/s]; NaN for the first one."""
        self._seen.append((time, position))
        while len(self._seen) > 2 and time - self._seen[0][0] > SPEED_WINDOW:
            self._seen.popleft()
        begin, where = self._seen[0]
        return (position - where) / (time - begin) if time > begin else math.nan
