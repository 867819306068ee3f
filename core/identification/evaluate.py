"""Errors of a finished model on recordings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.document.table import Tabular
from core.identification.coverage.findings import Finding
from core.identification.search.objective import CHECKED_SUBSTEPS, Batch
from core.identification.search.timestep import few
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.servo.model import ServoModel
from core.servo.terms import Supply


@dataclass(frozen=True)
class RunScore:
    """Errors of one run: mae, rmse [rad] and the number of samples compared."""

    id: str
    mae: float
    rmse: float
    samples: int


@dataclass(frozen=True, repr=False)
class Evaluation(Tabular):
    """Errors of a model on recordings: means over runs [rad], and each run.

    Example:
        >>> sb.evaluate("xl330:m6", sb.example()).mean_mae < 0.1
        True
    """

    mean_mae: float
    mean_rmse: float
    runs: tuple[RunScore, ...]
    piece: float = 0.0
    """Time after which the simulation restarts from the measured state [s]; 0 for never."""
    cause: Finding | None = None
    """Likeliest causes of a large error, if they were looked for, see `core.identification.coverage.causes`."""

    def heading(self) -> str:
        """Return the mean errors, and the likeliest causes of large ones."""
        means = f"MAE {self.mean_mae * 1e3:.2f} mrad, RMSE {self.mean_rmse * 1e3:.2f} mrad"
        cause = "" if self.cause is None else f". Warning: {self.cause}"
        pieces = f" in pieces of {self.piece:g} s" if self.piece else ""
        return f"{means}, mean over {len(self.runs)} runs{pieces}{cause}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the errors of each run [mrad]."""
        return {
            "run": [run.id for run in self.runs],
            "MAE [mrad]": [run.mae * 1e3 for run in self.runs],
            "RMSE [mrad]": [run.rmse * 1e3 for run in self.runs],
            "samples": [run.samples for run in self.runs],
        }

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "mean_mae": self.mean_mae,
            "mean_rmse": self.mean_rmse,
            "runs": [dict(run.__dict__) for run in self.runs],
        }


UNSTABLE = 0.03
"""Cost of a time step beyond which its motion is not the model's [rad]: twice what a first-order step of 5 ms costs."""
FINER = (4, 16, 64, 256)
"""Factors on the substeps that a warning tries."""
MOST_SAMPLES = 400_000
"""Largest number of samples simulated at once, which limits the memory for many runs."""


def evaluate(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> Evaluation:
    """Simulate the commands of each recording and compare positions over the whole run.

    Args:
        model: The model.
        recordings: The recordings.
        dt: Time between samples [s]. None: that of each recording.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.

    Raises:
        IdentificationError: There are no recordings, or they are of another servo.
    """
    runs: list[RunScore] = []
    for some in _portions(recordings):
        batch = Batch(model, some, dt=dt, supply=supply, threads=threads)
        scores = batch.scores()
        rows = zip(
            batch.ids, scores.mae[:, 0].tolist(), scores.rmse[:, 0].tolist(), batch.samples.tolist(), strict=True
        )
        runs += [RunScore(*row) for row in rows]
    mean_mae, mean_rmse = (float(np.mean([getattr(run, name) for run in runs])) for name in ("mae", "rmse"))
    return Evaluation(mean_mae, mean_rmse, tuple(runs), model.control.piece)


def _portions(recordings: Sequence[Recording]) -> Iterator[Sequence[Recording]]:
    """Yield the recordings in portions of at most MOST_SAMPLES; a run's errors do not depend on other runs."""
    first = samples = 0
    for place, recording in enumerate(recordings):
        samples += recording.samples
        if samples > MOST_SAMPLES and place > first:
            yield recordings[first:place]
            first, samples = place, recording.samples
    yield recordings[first:]


def step_warning(
    model: ServoModel, recordings: Sequence[Recording], *, dt: float | None = None, supply: Supply = "logged"
) -> str:
    """Return a warning about a time step that is too long for the inertia of these runs; empty if it is not."""
    some = few(recordings)
    cost = discretisation_error(model, some, dt=dt, supply=supply)
    if cost <= UNSTABLE:
        return ""
    inertia = model.values["armature"] + min(recording.bench.inertia for recording in recordings)
    finer = (replace(model, substeps=model.substeps * factor) for factor in FINER)
    fine = next((m for m in finer if discretisation_error(m, some, dt=dt, supply=supply) <= UNSTABLE), None)
    size = f"changes the simulated angle by {1e3 * cost:.0f} mrad on average" if math.isfinite(cost) else "diverges"
    remedy = f"use --substeps {fine.substeps}" if fine else "check armature, mass and length"
    return (
        f"the simulation is unstable: its time step ({model.integration}) is too long for an inertia of {inertia:.3g} "
        f"kg·m² and {size}; {remedy}"
    )


def discretisation_error(
    model: ServoModel, recordings: Sequence[Recording], *, dt: float | None = None, supply: Supply = "logged"
) -> float:
    """Mean |θ(Δt) − θ(Δt/10)| over recordings [rad]: the error due to the time step."""
    finer = replace(model, substeps=model.substeps * CHECKED_SUBSTEPS)
    differences = [
        np.abs(
            simulate_recording(model, recording, dt, supply).position
            - simulate_recording(finer, recording, dt, supply).position
        ).mean()
        for recording in recordings
    ]
    return float(np.mean(differences))
