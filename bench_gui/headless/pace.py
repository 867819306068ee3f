"""Time that a job has left, from its mean pace so far."""

from __future__ import annotations

from collections.abc import Callable

from core.base.units import about

SOONEST = 2.0
"""Shortest time of observation before an estimate is given [s] …"""
LEAST = 0.01
"""… and smallest share of the job done in that time."""


class Pace:
    """Pace of one job. Work that an earlier job has done took no time here and does not count."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Create; clock: returns the time [s]."""
        self._clock = clock
        self._begun: tuple[float, float] | None = None
        """Time [s] and share from which the pace counts."""
        self._share = 0.0

    def left(self, share: float, recorded: bool = False) -> str:
        """Return e.g. "about 12 min left"; empty while it is unknown.

        Args:
            share: Share done, 0 to 1. A smaller one than before begins another stage.
            recorded: True if it was done by an earlier job that this one continues.
        """
        now = self._clock()
        if self._begun is None or recorded or share < self._share:
            self._begun = (now, share)
        self._share = share
        time, done = now - self._begun[0], share - self._begun[1]
        return "" if time < SOONEST or done < LEAST else f"{about(time * (1.0 - share) / done)} left"
