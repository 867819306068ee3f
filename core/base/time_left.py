"""Remaining time of a job, estimated from the share done and the time it took."""

from __future__ import annotations

from collections.abc import Callable

KNOWN_AFTER = 2.0
"""Shortest time of observation before an estimate is given [s] …"""
KNOWN_SHARE = 0.01
"""… and smallest share of the job done in that time."""


class TimeLeft:
    """Estimate for one job: the rest goes on at the pace so far.

    Work that was done before took no time here and is no basis for an estimate.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start to observe.

        Args:
            clock: Function that returns the time [s].
        """
        self._clock = clock
        self._first: tuple[float, float] | None = None
        """Time and share done from where the pace counts."""
        self._latest = (0.0, 0.0)
        """Time and share of the last progress."""

    def told(self, share: float, recorded: bool = False) -> None:
        """Record the share done, 0 to 1.

        Args:
            share: Share done.
            recorded: True if it was done before, by a job that this one continues.
        """
        now = self._clock()
        if self._first is None or recorded or share < self._latest[1]:
            self._first = self._latest = (now, share)
        if share > self._latest[1]:
            self._latest = (now, share)

    def left(self) -> float | None:
        """Return the estimated time to the end [s], None while it is unknown."""
        if self._first is None:
            return None
        (begun, first), (at, done), now = self._first, self._latest, self._clock()
        if now - begun < KNOWN_AFTER or done - first < KNOWN_SHARE:
            return None
        return max(0.0, (1.0 - done) * (at - begun) / (done - first) - (now - at))
