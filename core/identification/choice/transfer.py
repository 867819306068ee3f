"""Transfer of a model: fitted to one mass, gain or unit, its error on each of the others.

A table can be read without loading the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.errors import StoppedEarly
from core.base.json_fields import ArrayOrInfinite, from_plain, plain, plain_fields
from core.identification.choice.model_choice import Variant
from core.identification.request import IdentificationRequest
from core.identification.runs.folds import FOLD_CONDITIONS, balanced_subset, folds, runs_by_value
from core.identification.runs.grouping import Value, named
from core.motion.recording import Recording
from core.servo.model import ServoModel


@dataclass(frozen=True, kw_only=True, eq=False)
class TransferTable:
    """Errors of models fitted to one value of a condition, on each value."""

    condition: str
    variant: str
    """Name of the fitted variant."""
    values: tuple[Value, ...]
    runs: tuple[int, ...]
    """Number of runs with each value; the models are scored on all of them."""
    errors: ArrayOrInfinite
    """Mean absolute error [rad], (values, values): row is the fit, column is the score; the diagonal is a model's own.
    """
    models: tuple[ServoModel, ...] = ()
    """Models fitted to each value; not part of the plain data."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Values as displayed text."""
        return tuple(named(self.condition, value) for value in self.values)

    @property
    def own(self) -> float:
        """Mean of the diagonal [rad]."""
        return float(np.diagonal(self.errors).mean())

    @property
    def elsewhere(self) -> float:
        """Mean off the diagonal [rad]."""
        return float(self.errors[~np.eye(len(self.values), dtype=bool)].mean())

    @property
    def text(self) -> str:
        """Return the table as text: averages, the worst pair, and the best value to fit to."""
        mrad = 1e3 * self.errors
        apart = np.where(np.eye(len(self.values), dtype=bool), -np.inf, mrad)
        worst = np.unravel_index(int(apart.argmax()), apart.shape)
        fitted, judged = (self.labels[int(place)] for place in worst)
        elsewhere = np.where(np.eye(len(self.values), dtype=bool), 0.0, mrad)
        best = self.labels[int(elsewhere.sum(axis=1).argmin())]
        ratio = f", {self.elsewhere / self.own:.2g} times as much" if math.isfinite(self.elsewhere) else ""
        return (
            f"{self.variant} fitted to one {self.condition} has an error of {1e3 * self.own:.1f} mrad there and of "
            f"{1e3 * self.elsewhere:.1f} mrad on the others{ratio}. Worst: fitted to {fitted}, on {judged} "
            f"{mrad[worst]:.1f} mrad, where the fit to it has {mrad[worst[1], worst[1]]:.1f}. "
            f"The fit to {best} transfers best."
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        own, elsewhere = plain(self.own), plain(self.elsewhere)
        return {**plain_fields(self, ("models",)), "own": own, "elsewhere": elsewhere, "text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TransferTable:
        """Read the data of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: The data do not describe a table.
        """
        values = tuple(value if isinstance(value, str) else float(value) for value in data["values"])
        table = from_plain(cls, data, values=values, models=())
        shape = table.errors.shape
        if table.condition not in FOLD_CONDITIONS or shape != (len(values), len(values)) or len(values) < 2:
            raise ValueError("no table of a condition's values")
        return table


def transfer_table(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    condition: str,
    variant: Variant,
    *,
    most_training_runs: int | None = None,
    on_progress: Callable[[str, float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    should_yield: Callable[[], bool] | None = None,
) -> TransferTable:
    """Fit a variant to the runs of each value of a condition, and score it on all runs of each value.

    Args:
        request: Options of the fits.
        recordings: Recordings of one servo.
        condition: Condition, see `FOLD_CONDITIONS`.
        variant: Variant to fit.
        most_training_runs: As for `cross_validate`.
        on_progress: Called with the value that is fitted and the share done.
        should_stop: As for `identify`, but stopping leaves no table.
        should_yield: As for `identify`.

    Raises:
        InputError: The condition does not exist.
        IdentificationError: The condition has a single value, or it was stopped.
    """
    from core.identification.evaluate import evaluate
    from core.identification.identify import identify

    # Nothing is divided here; `folds` knows the conditions' aliases, and why one cannot be used.
    condition = folds(recordings, (condition,)).conditions[0]
    groups = runs_by_value(recordings, condition)
    by_id = {recording.id: recording for recording in recordings}
    asked = variant.asked(request)
    judged = [by_id[run] for runs in groups.values() for run in runs]
    models: list[ServoModel] = []
    rows: list[list[float]] = []
    for place, (value, runs) in enumerate(groups.items()):
        if on_progress is not None:
            on_progress(named(condition, value), place / len(groups))
        train = balanced_subset([by_id[run] for run in runs], most_training_runs, request.seed)
        found = identify(asked, train, should_stop=should_stop, should_yield=should_yield)
        if found.stopped:
            raise StoppedEarly("stopped before every fit of the transfer table was done; start it again")
        models.append(found.results[0].model)
        scores = evaluate(models[-1], judged, dt=request.dt, supply=request.supply, threads=request.threads)
        error = {run.id: run.mae if math.isfinite(run.mae) else math.inf for run in scores.runs}
        rows.append([float(np.mean([error[run] for run in judged])) for judged in groups.values()])
    return TransferTable(
        condition=condition,
        variant=variant.name,
        values=tuple(groups),
        errors=np.array(rows),
        runs=tuple(len(runs) for runs in groups.values()),
        models=tuple(models),
    )
