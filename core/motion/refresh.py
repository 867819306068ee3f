"""Rates at which position and goal of a log are refreshed, which may be far lower than that of its rows."""

from __future__ import annotations

import numpy as np

from core.base.arrays import Array

FEWEST_CHANGES, SLOW_STEPS = 20, 2.5
"""Changes of the position from which its rate is known, and the largest one of slow motion [steps of the encoder]."""
RARE_GOAL, SHORTEST_STAY = 3, 0.4
"""Rows a goal may keep without a word, and the time for which a step of a person's trajectory stays [s]."""


def rates_in_words(time: Array, position: Array, goal: Array, timed: bool) -> list[str]:
    """Return a phrase on a position, and one on a goal, that change far less often than rows arrive.

    Args:
        time: Times of the rows [s], (n,).
        position: Measured position, (n,).
        goal: Command, (n,).
        timed: True if it is known when each goal was sent.
    """
    step = float(np.median(np.diff(time)))
    found: list[str] = []
    if (rows := rows_a_reading(position)) > 1:
        found.append(f"the position is read once in {rows} rows only, at {1.0 / rows / step:.3g} Hz")
    rows = rows_a_reading(goal)
    if rows > RARE_GOAL and rows * step < SHORTEST_STAY and not timed:
        found.append(
            f"the goal changes once in {rows} rows only, at {1.0 / rows / step:.3g} Hz; if the servo was given finer "
            "goals, log those"
        )
    return found


def rows_a_reading(position: Array) -> int:
    """Return how many rows a reading of the position is repeated while it moves; 1 if each row has its own.

    Slow motion repeats readings too, but then it changes by single steps of the encoder.
    """
    changes = np.flatnonzero(np.diff(position))
    if len(changes) < FEWEST_CHANGES:
        return 1
    steps = np.abs(np.diff(position)[changes])
    fast = np.flatnonzero(steps[1:] > SLOW_STEPS * steps.min())
    waits = np.diff(changes)[fast]
    return int(np.percentile(waits, 10)) if len(waits) >= FEWEST_CHANGES else 1
