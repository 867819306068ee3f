"""Friction of the day: its level, a factor on all friction, from the first runs of each time of recording.

Friction changes as a servo warms up and runs in, and from unit to unit. A few runs show at which level a model follows
them best. The level of a single run scatters, since what the model lacks looks like friction as well, so the levels of
the first runs are averaged, and drawn towards 1 as far as the runs hardly show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.errors import IdentificationError
from core.base.words import counted
from core.identification.evaluate import evaluate
from core.identification.evidence.drift import at_level, shown_levels
from core.identification.runs.folds import TIME, runs_by_value
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply

SCATTER, SPREAD = 0.1, 0.2
"""Standard deviations of the logarithm of the level: of single runs of an STS3215 and an STS3250, and of servos."""


@dataclass(frozen=True, kw_only=True)
class Adaptation:
    """Errors of a model whose friction is adapted to the first runs of each time of recording."""

    first: int
    """Number of runs that each level is taken from."""
    levels: Mapping[str, float]
    """Level by when the first run began; the time is "" for runs that do not state theirs."""
    adapted: Mapping[str, float]
    """Mean absolute error of the other runs at these levels [rad], by id."""
    unadapted: Mapping[str, float]
    """The same at the model's own friction."""

    @property
    def mean_mae(self) -> float:
        """Mean of the adapted errors [rad]."""
        return float(np.mean([*self.adapted.values()]))

    @property
    def text(self) -> str:
        """Levels and mean errors, in one sentence."""
        levels = ", ".join(f"{level:.2f}" for level in self.levels.values())
        before = 1e3 * float(np.mean([*self.unadapted.values()]))
        return (
            f"adapted: friction × {levels} from the first {counted(self.first, 'run')} of "
            f"{counted(len(self.levels), 'time')} of recording; the other {counted(len(self.adapted), 'run')}: "
            f"mean MAE {1e3 * self.mean_mae:.2f} mrad, {before:.2f} without"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"mean_mae": self.mean_mae, **self.__dict__}


def adapted(
    model: ServoModel,
    recordings: Sequence[Recording],
    first: int,
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> Adaptation:
    """Adapt the level of friction to the first runs of each time of recording, and evaluate the other runs.

    Args:
        model: The model.
        recordings: The recordings; those that do not state when they began count as one time, in their order.
        first: Number of runs to adapt to. A time of recording with no more runs is left out.
        dt: Time between samples [s]. None: that of each recording.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.

    Raises:
        IdentificationError: `first` is below 1, or no time of recording has more runs.
    """
    if first < 1:
        raise IdentificationError(f"cannot adapt to {first} runs; use at least 1")
    by_id = {run.id: run for run in recordings}
    dated = runs_by_value(recordings, TIME)
    known = {name for names in dated.values() for name in names}
    groups = {**dated, "": tuple(name for name in by_id if name not in known)}
    levels: dict[str, float] = {}
    errors: dict[str, float] = {}
    others: list[Recording] = []
    for time, names in groups.items():
        runs = [by_id[name] for name in names]
        if len(runs) <= first:
            continue
        logs, spreads = shown_levels(model, runs[:first], dt=dt, supply=supply, threads=threads)
        weights = 1.0 / (spreads**2 + SCATTER**2)
        level = levels[str(time)] = float(np.exp(weights @ logs / (weights.sum() + SPREAD**-2)))
        found = evaluate(at_level(model, level), runs[first:], dt=dt, supply=supply, threads=threads)
        errors |= {run.id: run.mae for run in found.runs}
        others += runs[first:]
    if not others:
        most = max(map(len, groups.values()))
        raise IdentificationError(f"no time of recording has more than {counted(most, 'run')}: adapt to fewer")
    before = evaluate(model, others, dt=dt, supply=supply, threads=threads)
    return Adaptation(first=first, levels=levels, adapted=errors, unadapted={run.id: run.mae for run in before.runs})
