"""Judging a finished model on recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.identification.search.objective import CHECKED_SUBSTEPS, Batch
from core.model import ServoModel
from core.recording import Recording
from core.simulation import simulate_recording
from core.tabular import Tabular
from core.terms import Supply


@dataclass(frozen=True)
class RunScore:
    """Error of one run: mae, rmse [rad]; samples compared."""

    id: str
    mae: float
    rmse: float
    samples: int


@dataclass(frozen=True, repr=False)
class Evaluation(Tabular):
    """Errors of a model on recordings: means over runs [rad] and each run."""

    mean_mae: float
    mean_rmse: float
    runs: tuple[RunScore, ...]

    def heading(self) -> str:
        """Return the means."""
        means = f"MAE {self.mean_mae * 1e3:.2f} mrad, RMSE {self.mean_rmse * 1e3:.2f} mrad"
        return f"{means}, mean over {len(self.runs)} runs"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the errors of each run [mrad]."""
        return {
            "run": [run.id for run in self.runs],
            "MAE [mrad]": [run.mae * 1e3 for run in self.runs],
            "RMSE [mrad]": [run.rmse * 1e3 for run in self.runs],
            "samples": [run.samples for run in self.runs],
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mean_mae": self.mean_mae,
            "mean_rmse": self.mean_rmse,
            "runs": [dict(run.__dict__) for run in self.runs],
        }


MOST_SAMPLES = 400_000
"""Made ready at once, so that many runs take little memory beside themselves."""


def evaluate(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> Evaluation:
    """Simulate each recording's commands and compare positions over the whole run."""
    runs: list[RunScore] = []
    for some in _portions(recordings):
        batch = Batch(model, some, dt=dt, supply=supply, threads=threads)
        scores = batch.scores()
        rows = zip(
            batch.ids, scores.mae[:, 0].tolist(), scores.rmse[:, 0].tolist(), batch.samples.tolist(), strict=True
        )
        runs += [RunScore(*row) for row in rows]
    mean_mae, mean_rmse = (float(np.mean([getattr(run, name) for run in runs])) for name in ("mae", "rmse"))
    return Evaluation(mean_mae, mean_rmse, tuple(runs))


def _portions(recordings: Sequence[Recording]) -> Iterator[Sequence[Recording]]:
    """The recordings in portions of at most MOST_SAMPLES, at least one; the scores of a run do not depend on others."""
    first = samples = 0
    for place, recording in enumerate(recordings):
        samples += recording.samples
        if samples > MOST_SAMPLES and place > first:
            yield recordings[first:place]
            first, samples = place, recording.samples
    yield recordings[first:]


def discretisation_error(
    model: ServoModel, recordings: Sequence[Recording], *, dt: float | None = None, supply: Supply = "logged"
) -> float:
    """Mean |θ(Δt) − θ(Δt/10)| over recordings [rad]: what the time step itself costs."""
    finer = replace(model, substeps=model.substeps * CHECKED_SUBSTEPS)
    differences = [
        np.abs(
            simulate_recording(model, recording, dt, supply).position
            - simulate_recording(finer, recording, dt, supply).position
        ).mean()
        for recording in recordings
    ]
    return float(np.mean(differences))
