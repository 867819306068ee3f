"""Worst and median run of a fit, measured and simulated, for display during a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Array
from core.identification.evaluate import evaluate
from core.model import ServoModel
from core.recording import Recording
from core.simulation import on_grid, simulate_recording
from core.terms import Supply


@dataclass(frozen=True, eq=False)
class RunOverlay:
    """One run under a model; arrays (n,) on the grid of the simulation."""

    id: str
    trajectory: str
    place: str
    """Place of the run: "worst" or "median"."""
    mae: float
    """Mean absolute error [rad]."""
    time: Array
    """Time from the first sample [s]."""
    measured: Array
    """Measured position [rad]."""
    simulated: Array
    """Simulated position [rad]."""


def worst_and_median(
    model: ServoModel, recordings: Sequence[Recording], *, dt: float | None = None, supply: Supply = "logged"
) -> tuple[RunOverlay, ...]:
    """Return the run with the largest error and the one with the median error; a single run is the worst."""
    errors = [run.mae for run in evaluate(model, recordings, dt=dt, supply=supply).runs]
    order = sorted(range(len(errors)), key=lambda i: -errors[i] if errors[i] == errors[i] else -np.inf)
    picked = [(order[0], "worst")]
    if len(order) > 1:
        picked.append((order[len(order) // 2], "median"))
    return tuple(_overlay(model, recordings[i], place, errors[i], dt, supply) for i, place in picked)


def _overlay(
    model: ServoModel, recording: Recording, place: str, mae: float, dt: float | None, supply: Supply
) -> RunOverlay:
    run, _ = on_grid(recording, dt)
    return RunOverlay(
        id=recording.id,
        trajectory=recording.trajectory,
        place=place,
        mae=mae,
        time=run.time - run.time[0],
        measured=np.asarray(run.position, dtype=np.float64),
        simulated=simulate_recording(model, recording, dt, supply).position,
    )
