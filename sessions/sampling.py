"""Selection of a few of many runs before any is read, so that fits of long sessions need little memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.base.errors import IdentificationError
from core.base.words import counted

if TYPE_CHECKING:
    from sessions import RunSummary


def sample_of(runs: Sequence[RunSummary], count: int | None, seed: int = 0) -> list[RunSummary]:
    """Return at most `count` runs, in their order, with equal shares of the conditions as far as possible.

    The same runs, count and seed give the same sample.

    Args:
        runs: Runs to choose from.
        count: Largest number of runs; None for all.
        seed: Random seed.

    Raises:
        IdentificationError: for a count below 1.
    """
    if count is None or count >= len(runs):
        return list(runs)
    from core.identification.runs.folds import balanced_places

    if count < 1:
        raise IdentificationError(f"a sample of {counted(count, 'run')} is too small; give at least 1")
    return [runs[place] for place in balanced_places([run.conditions() for run in runs], count, seed)]
