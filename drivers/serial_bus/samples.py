"""Age of samples, and the shaft's velocity where the servo does not report it."""

from __future__ import annotations

import math
from collections import deque

TICKS = 32768
"""Counts after which a servo's millisecond counter restarts."""
TOLERANCE = 0.004
"""Allowed difference between the servo's clock and ours, in addition to the time of a read [s]."""
DRIFT = 0.02
"""Allowed relative error of a servo's clock."""
LONGEST_GAP = 0.4 * TICKS * 1e-3
"""Pause after which the counter is ambiguous [s]."""
SPEED_WINDOW = 0.06
"""Time of the positions from which a velocity is computed [s]."""


class TickCheck:
    """Compares the servo's millisecond counter with our clock: an old sample is late, a restarted servo jumps."""

    def __init__(self) -> None:
        self._last: tuple[int, float, float] | None = None

    def forget(self) -> None:
        """Start over, e.g. after a reboot."""
        self._last = None

    def plausible(self, tick: int, asked: float, answered: float) -> bool:
        """Return True if a sample was taken between request and answer; it then becomes the reference for the next one.

        Only the time since the last sample can be checked, so the first one always passes.

        Args:
            tick: The servo's counter [ms].
            asked: Time of the request [s].
            answered: Time of the answer [s].
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
    """Velocity from positions, for a servo that does not report it in its present mode."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def forget(self) -> None:
        """Start over."""
        self._seen.clear()

    def velocity(self, time: float, position: float) -> float:
        """Return the velocity over the last positions including this one [rad/s]; NaN for the first one."""
        self._seen.append((time, position))
        while len(self._seen) > 2 and time - self._seen[0][0] > SPEED_WINDOW:
            self._seen.popleft()
        begin, where = self._seen[0]
        return (position - where) / (time - begin) if time > begin else math.nan
