"""Traces of a result's searches, read from the journal beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.trial import TrialState

from core.base.errors import IdentificationError
from core.identification.search.study import JOURNAL, JOURNAL_SCHEME, generations, open_storage

Array = NDArray[np.float64]

SETTLED = 0.01
"""Relative distance to its end at which a search counts as settled."""

LATE = 0.9
"""Share of the evaluations; a search that settles later may not have converged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchTrace:
    """Trace of one search; values [rad] are those of the objective, including velocities or placed points."""

    friction: str
    repeat: int
    evaluations: Array
    """Evaluations so far, after each generation that was scored on whole runs, (n,)."""
    best: Array
    """Best value so far, (n,)."""
    searched: int
    """Number of these generations in the search itself; later ones refine its end."""
    total: int
    """Total evaluations."""
    surrogate: int
    """Evaluations by the surrogate."""
    descents: int

    @property
    def name(self) -> str:
        """Name such as "M6, repeat 2"."""
        return self.friction.upper() + (f", repeat {self.repeat + 1}" if self.repeat else "")

    @property
    def settled(self) -> int:
        """Evaluations after which the best value stays within SETTLED of the end."""
        return int(self.evaluations[np.argmax(self.best <= (1.0 + SETTLED) * self.best[self.searched - 1])])

    @property
    def late(self) -> bool:
        """True if the search was still improving at its end."""
        return self.settled > LATE * self.total


def read_traces(folder: Path | None) -> tuple[SearchTrace, ...]:
    """Read the searches of a result's journal, in the order of the models.

    Raises:
        IdentificationError: There is no journal, or it is damaged.
    """
    if folder is None or not (folder / JOURNAL).is_file():
        raise IdentificationError(f"there is no {JOURNAL} beside the result")
    try:
        storage = open_storage(f"{JOURNAL_SCHEME}{folder / JOURNAL}")
        # A search repeated with a finer time step has its own study, named after the steps; the last one counts.
        names = [re.fullmatch(r"(m[1-6])/(\d+)(?:/(\d+))?", name) for name in optuna.get_all_study_names(storage)]
        last = {(m[1], int(m[2])): m[0] for m in sorted(filter(None, names), key=lambda m: int(m[3] or 0))}
        traces = [
            trace
            for (friction, repeat), name in last.items()
            if (trace := _trace(friction, repeat, optuna.load_study(study_name=name, storage=storage)))
        ]
    except IdentificationError as error:
        raise IdentificationError(f"{folder / JOURNAL}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, optuna.exceptions.OptunaError) as e:
        raise IdentificationError(f"{JOURNAL} cannot be read as a study ({type(e).__name__})") from None
    if not traces:
        raise IdentificationError(f"{JOURNAL} has no search of a friction model")
    return tuple(sorted(traces, key=lambda trace: (trace.friction, trace.repeat)))


def _trace(friction: str, repeat: int, study: Any) -> SearchTrace | None:
    """Return the trace of a study, None if no generation was scored on whole runs."""
    trials = generations(study)
    counts = np.array([trial.user_attrs["evaluations"] for trial in trials], dtype=np.float64)
    judged = np.array([trial.state == TrialState.COMPLETE for trial in trials], dtype=bool)
    values = np.array([trial.value for trial in trials if trial.state == TrialState.COMPLETE], dtype=np.float64)
    if not np.isfinite(values).any():
        return None
    # Only generations of the search itself have a step size.
    sampled = np.flatnonzero(np.array([trial.user_attrs["sigma"] for trial in trials])[judged] > 0.0)
    return SearchTrace(
        friction=friction,
        repeat=repeat,
        evaluations=counts[judged],
        best=np.minimum.accumulate(np.where(np.isfinite(values), values, np.inf)),
        searched=int(sampled[-1]) + 1 if len(sampled) else len(values),
        total=int(counts[-1]),
        surrogate=int(np.diff(counts, prepend=0.0)[~judged].sum()),
        descents=1 + max(int(trial.user_attrs["descent"]) for trial in trials),
    )
