"""Grade of an identified value, from its 95 % interval: the one rule for window, reports, terminal and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.base.units import significant, with_uncertainty

FROZEN, LEFT_OUT = "frozen", "left out"
"""Grades of a value that no search moved, and of a term that has no effect at its value."""
GOOD, WEAK, AT_MOST, AT_LEAST, OPEN = "good", "weak", "at most", "at least", "not determined"
"""Grades of an interval: narrow; wide; down to the lower bound of the search; up to the upper one; to both."""

WIDEST = 1.0 / 3.0
"""Largest half width of a good value, as a share of the value."""
NEAR_ZERO = 0.05
"""Share of the search's range that counts as the size of a smaller value, if it can have either sign."""


@dataclass(frozen=True, kw_only=True)
class Grade:
    """Grade of a value, and the value as the grade allows to show it."""

    word: str
    """One of the words above."""
    figure: str
    """Value without unit, with no more digits than its interval justifies, e.g. "0.413" or "≤ 0.047"."""
    width: str
    """Half width of the interval without unit, e.g. "0.021"; "–" if a limit says more, "∞" if it is open."""
    text: str
    """Value with interval and unit, e.g. "0.413 ± 0.021 N·m" or "at most 0.047 N·m"."""

    @property
    def determined(self) -> bool:
        """True if the value can be quoted: it is good, or was not searched."""
        return self.word in (GOOD, FROZEN, LEFT_OUT)

    @property
    def note(self) -> str:
        """Grade in a few words, with the limit if there is one, e.g. "at most 0.047 N·m"."""
        return self.text if self.word in (AT_MOST, AT_LEAST) else self.word


def grade_of(value: float, half_width: float, lower: float, upper: float, unit: str = "") -> Grade:
    """Grade a value by its interval and the bounds of its search.

    Bounds of a quantity that cannot be negative include 0 or lie above it, so an interval with 0 contains a bound.

    Args:
        value: The value.
        half_width: Half width of its 95 % interval; infinite if there is none.
        lower: Lower bound of the search.
        upper: Upper bound of the search.
        unit: Unit of all of them.
    """
    word = _word(value, half_width, lower, upper)
    unit = "" if unit in ("", "1") else f" {unit}"
    if word == OPEN:
        figure = significant(value, 2)
        return Grade(word=word, figure=figure, width="∞", text=f"{figure}{unit}, {word}")
    if word in (AT_MOST, AT_LEAST):
        sign, end = ("≤", value + half_width) if word == AT_MOST else ("≥", value - half_width)
        limit = significant(end, 2)
        return Grade(word=word, figure=f"{sign} {limit}", width="–", text=f"{word} {limit}{unit}")
    text = with_uncertainty(value, half_width)
    figure, _, width = text.partition(" ± ")
    return Grade(word=word, figure=figure, width=width, text=f"{text}{unit}{', weak' if word == WEAK else ''}")


def _word(value: float, half_width: float, lower: float, upper: float) -> str:
    low, high = value - half_width <= lower, value + half_width >= upper
    if not math.isfinite(half_width) or (low and high):
        return OPEN
    if low or high:
        return AT_MOST if low else AT_LEAST
    size = max(abs(value), NEAR_ZERO * (upper - lower)) if lower < 0.0 else abs(value)
    return GOOD if half_width <= WIDEST * size else WEAK
