"""Time that a job has taken and will take, from its mean pace so far."""

from __future__ import annotations

from collections.abc import Callable

from core.base.units import about, duration

SOONEST = 2.0
"""Shortest time of observation before an estimate is given [s] …"""
LEAST = 0.01
"""… and smallest share of the job done in that time."""


class Pace:
    """Pace of one job. Work that an earlier job has done took no time here and does not count."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin; clock: returns the time [s]."""
        self._clock = clock
        self._started = clock()
        self._begun: tuple[float, float] | None = None
        """Time [s] and share from which the pace counts."""
        self._interrupted: float | None = None
        """Time at which other work began [s]."""
        self._share = 0.0

    def in_words(self, share: float, recorded: bool = False) -> str:
        """Return e.g. "1 min 20 s of about 4 min"; without the expected time while that is unknown.

        Args:
            share: Share done, 0 to 1. A smaller one than before begins another stage.
            recorded: True if it was done by an earlier job that this one continues.
        """
        now = self._clock()
        if self._begun is None or recorded or share < self._share:
            self._begun = (now, share)
        elif self._interrupted is not None:
            self._begun = (self._begun[0] + now - self._interrupted, self._begun[1])
        self._share, self._interrupted = share, None
        spent, time, done = now - self._started, now - self._begun[0], share - self._begun[1]
        if spent < SOONEST:
            return ""
        so_far = f"{spent:.0f} s" if spent < 10.0 else duration(spent)
        if time < SOONEST or done < LEAST:
            return f"{so_far} so far"
        return f"{so_far} of {about(max(10.0, spent + time * (1.0 - share) / done))}"

    def interrupted(self) -> None:
        """Leave the time until the next share out of the pace: other work takes it, such as a compilation."""
        self._interrupted = self._clock()
