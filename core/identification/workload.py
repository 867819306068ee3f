"""Work of an identification: how much of it is done, linear in time."""

from __future__ import annotations

from collections.abc import Sequence

SEARCHED = 0.9
"""Share of a fit's time taken by its searches; polish and evidence follow."""
FITTED = 0.96
"""Share of an identification's time taken by its fits; the runs are examined afterwards."""


class Workload:
    """Time steps simulated by the fits of one identification, to which their time is proportional.

    A search that is not confirmed goes on beyond its budget, and one whose time step proved too long is repeated. The
    fits to come are expected to take as many times their budgets as those so far did on average.
    """

    def __init__(self) -> None:
        self._budgets: list[int] = []
        """Budgets of the present fit and of those to come [evaluations]."""
        self._multiples: list[float] = []
        """Work of the fits so far, as multiples of their budgets; the first one is only expected."""
        self._steps, self._coming = 1, 0
        """Time steps per sampling interval with which the present fit began, and those expected of the fits to come."""
        self._ended = self._present = self._share = 0.0
        """Work of the fits that have ended and of the present one's searches that have, and share done."""

    def expect(self, budgets: Sequence[int], multiple: float) -> None:
        """Set the budgets of the fits to come, the next one first; multiple: what the first one may take of its own."""
        self._budgets = [*budgets]
        self._multiples = self._multiples or [multiple]

    def begin(self, steps: int, trial: bool) -> None:
        """Set the time steps per interval of the next fits; the fits after trials are expected to use the fewest."""
        self._steps = steps
        self._coming = min(self._coming or steps, steps) if trial else steps

    def share(self, searched: float = 0.0) -> float:
        """Return the share done, 0 to 1, which never falls; searched: evaluations times steps of the present search."""
        budget, *later = self._budgets
        own, done = budget * self._steps, self._present + searched
        here = max(sum(self._multiples) / len(self._multiples), done / own)
        usual = (sum(self._multiples) + here) / (len(self._multiples) + 1)
        expected = self._ended + (here * own + usual * sum(later) * self._coming) / SEARCHED
        self._share = max(self._share, FITTED * (self._ended + done) / expected)
        return self._share

    def search_ended(self, searched: float) -> None:
        """Count a search of the present fit."""
        self._present += searched

    def fit_ended(self) -> None:
        """Go on to the next fit."""
        self._multiples.append(self._present / (self._budgets.pop(0) * self._steps))
        self._ended += self._present / SEARCHED
        self._present = 0.0
