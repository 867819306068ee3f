"""A few of many runs, chosen before any is read, so that a session of any length can be fitted in little memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.words import counted

if TYPE_CHECKING:
    from sessions import RunSummary


def sample_of(runs: Sequence[RunSummary], count: int | None, seed: int = 0) -> list[RunSummary]:
    """At most `count` runs, in their order, in which every condition has as equal a share as possible; None: all.

    The same runs, count and seed give the same sample. Raises IdentificationError for a count below 1.
    """
    if count is None or count >= len(runs):
        return list(runs)
    from core.errors import IdentificationError
    from core.identification.runs.folds import balanced_places

    if count < 1:
        raise IdentificationError(f"a sample of {counted(count, 'run')} is too small; give at least 1")
    return [runs[place] for place in balanced_places([run.conditions() for run in runs], count, seed)]
