"""How long work still takes: an estimate from the share that is done and the time it took."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

KNOWN_AFTER = 2.0
"""Nothing is said before a job has been watched so long [s] …"""
KNOWN_SHARE = 0.01
"""… and has done so much of itself meanwhile."""
RECENT = 0.5
"""The pace of this share of the time, the latest, counts as much as the pace of all of it."""
SMOOTHING = 0.05
"""What is said follows a new estimate within this share of the time that has passed."""
MOST_POINTS = 200
"""Kept of the way so far; every other one is forgotten when there are more."""


class TimeLeft:
    """Watches one job. What was on record already took no time, and says nothing about the rest."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """clock: returns the time [s]."""
        self._clock = clock
        self._points: deque[tuple[float, float]] = deque()
        """Time and share done, from where the pace counts."""
        self._said: tuple[float, float] | None = None
        """When something was said last, and what."""

    def told(self, share: float, recorded: bool = False) -> None:
        """So much is done, 0 … 1; recorded: it was done before, by a job that this one goes on with."""
        points, now = self._points, self._clock()
        if recorded or (points and share < points[-1][1]):
            points.clear()
            self._said = None
        if not points or share > points[-1][1]:
            points.append((now, share))
        if len(points) > MOST_POINTS:
            self._points = deque([*list(points)[:-1:2], points[-1]])

    def left(self) -> float | None:
        """Estimated time to the end [s]; None while nothing is known."""
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
