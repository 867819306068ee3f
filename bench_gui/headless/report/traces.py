"""The course of a result's searches, from the journal beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import IdentificationError
from core.identification.search.study import JOURNAL, JOURNAL_SCHEME, generations, open_storage

Array = NDArray[np.float64]

SETTLED = 0.01
"""A search has settled once it is so close to what it ends with."""

LATE = 0.9
"""A search that settles after this share of its evaluations might have gone on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchTrace:
    """How one search went. Values in rad are what it made small, a share of velocity or placed points included."""

    friction: str
    repeat: int
    evaluations: Array
    """Candidates evaluated so far, after each generation judged on whole runs, (n,)."""
    best: Array
    """Best value so far, (n,)."""
    searched: int
    """Of these generations, those up to the last one of the search itself; what follows refines its end."""
    total: int
    """Candidates evaluated in all."""
    surrogate: int
    """Of them, those judged by the surrogate."""
    descents: int

    @property
    def name(self) -> str:
        """For example "M6, repeat 2"."""
        return self.friction.upper() + (f", repeat {self.repeat + 1}" if self.repeat else "")

    @property
    def settled(self) -> int:
        """Evaluations after which the best value is within SETTLED of what the search ends with."""
        return int(self.evaluations[np.argmax(self.best <= (1.0 + SETTLED) * self.best[self.searched - 1])])

    @property
    def late(self) -> bool:
        """Whether it was still falling when it ended."""
        return self.settled > LATE * self.total


def read_traces(folder: Path | None) -> tuple[SearchTrace, ...]:
    """Searches of the journal in a result's folder, in the models' order; raises IdentificationError."""
    if folder is None or not (folder / JOURNAL).is_file():
        raise IdentificationError(f"there is no {JOURNAL} beside the result")
    import optuna

    try:
        storage = open_storage(f"{JOURNAL_SCHEME}{folder / JOURNAL}")
        # A search that came again with a finer step has a study of its own, named after the steps; the last one counts.
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
        raise IdentificationError(f"{JOURNAL} holds no search of a friction model")
    return tuple(sorted(traces, key=lambda trace: (trace.friction, trace.repeat)))


def _trace(friction: str, repeat: int, study: Any) -> SearchTrace | None:
    """None for a search that has not judged one generation on whole runs."""
    from optuna.trial import TrialState

    trials = generations(study)
    counts = np.array([trial.user_attrs["evaluations"] for trial in trials], dtype=np.float64)
    judged = np.array([trial.state == TrialState.COMPLETE for trial in trials], dtype=bool)
    values = np.array([trial.value for trial in trials if trial.state == TrialState.COMPLETE], dtype=np.float64)
    if not np.isfinite(values).any():
        return None
    # Starts and refined ends are evaluated without a step size.
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
