"""Selection of the runs for a fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessions import Annotation, RunSummary


@dataclass(frozen=True, eq=False)
class Choice:
    """Runs for a fit, and their servo."""

    for_fit: list[RunSummary]
    servo: str
    """Servo of most of these runs, or of most selected runs if a fit can use none; empty without runs."""


def choice_of(runs: Sequence[RunSummary], annotations: Mapping[str, Annotation], selected: Collection[str]) -> Choice:
    """Choose the selected runs, or all successful ones; excluded runs are never used.

    A single run is selected to look at it, so it chooses nothing unless no other can be used. This is the rule of
    `sessions.fit_runs`, applied to the displayed runs.
    """
    if len(selected) == 1 and choice_of(runs, annotations, ()).for_fit:
        selected = ()
    excluded = {run for run, annotation in annotations.items() if annotation.excluded}
    wanted = set(selected)
    chosen = [run for run in runs if (run.id in wanted if wanted else run.id not in excluded)]
    fit: list[RunSummary] = []
    if chosen:
        from sessions import fit_runs

        ids = set(fit_runs(chosen, annotations, [run.id for run in chosen] if wanted else None))
        fit = [run for run in chosen if run.id in ids]
    servos = Counter(run.servo for run in fit or chosen)
    return Choice(fit, servos.most_common(1)[0][0] if servos else "")
