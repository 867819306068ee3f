"""Remaining time of a job, estimated from the share done and the time it took."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

KNOWN_AFTER = 2.0
"""Shortest time of observation before an estimate is given [s] …"""
KNOWN_SHARE = 0.01
"""… and smallest share of the job done in that time."""
RECENT = 0.6
"""The pace during the latest part of the time, this share, has the same weight as the pace overall."""
SMOOTHING = 0.05
"""The displayed estimate follows a new one within this share of the elapsed time."""
MOST_POINTS = 200
"""Largest number of points kept; every other one is dropped when there are more."""


class TimeLeft:
    """Estimate for one job. Work that was done before took no time here and is no basis for an estimate."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start to observe.

        Args:
            clock: Function that returns the time [s].
        """
        self._clock = clock
        self._points: deque[tuple[float, float]] = deque()
        """Time and share done, from where the pace counts."""
        self._said: tuple[float, float] | None = None
        """Time of the last estimate, and the estimate."""

    def told(self, share: float, recorded: bool = False) -> None:
        """Record the share done, 0 to 1.

        Args:
            share: Share done.
            recorded: True if it was done before, by a job that this one continues.
        """
        points, now = self._points, self._clock()
        if recorded or (points and share < points[-1][1]):
            points.clear()
            self._said = None
        if not points or share > points[-1][1]:
            points.append((now, share))
        if len(points) > MOST_POINTS:
            self._points = deque([*list(points)[:-1:2], points[-1]])

    def left(self) -> float | None:
        """Return the estimated time to the end [s], None while it is unknown."""
        now, estimate = self._clock(), self._estimate()
        if estimate is None or self._said is None:
            self._said = None if estimate is None else (now, estimate)
            return estimate
        at, said = self._said
        weight = min(1.0, (now - at) / max(SMOOTHING * (now - self._points[0][0]), 1e-9))
        said = max(0.0, said - (now - at))
        self._said = (now, said + weight * (estimate - said))
        return self._said[1]

    def _estimate(self) -> float | None:
        if not self._points:
            return None
        (begun, first), (_, done) = self._points[0], self._points[-1]
        now = self._clock()
        if now - begun < KNOWN_AFTER or done - first < KNOWN_SHARE:
            return None
        overall = (done - first) / (now - begun)
        since = now - RECENT * (now - begun)
        at, share = max((point for point in self._points if point[0] <= since), default=self._points[0])
        pace = 0.5 * (overall + (done - share) / (now - at))
        return (1.0 - done) / pace
