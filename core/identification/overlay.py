"""Worst and median run of a fit, measured and simulated, for display during a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply


@dataclass(frozen=True, eq=False)
class RunOverlay:
    """One run, measured or also simulated; arrays (n,)."""

    id: str
    trajectory: str
    place: str
    """Place of the run: "worst", "median", or empty for a run that is only measured."""
    time: Array
    """Time from the first sample [s]."""
    measured: Array
    """Measured position [rad]."""
    simulated: Array | None = None
    """Simulated position [rad]."""
    mae: float | None = None
    """Mean absolute error [rad]."""
    initial: Array | None = None
    """Position simulated with the start values of the search [rad]."""


def worst_and_median(
    model: ServoModel,
    recordings: Sequence[Recording],
    initial: ServoModel | None = None,
    *,
    dt: float | None = None,
    supply: Supply = "logged",
) -> tuple[RunOverlay, ...]:
    """Return the run with the largest error and the one with the median error; a single run is the worst.

    initial: model at the start of the search, simulated on the same runs; None: not simulated.
    """
    # Not at the top: the window draws a RunOverlay, and its process loads no compiler.
    from core.identification.evaluate import evaluate
    from core.motion.simulation import on_grid, simulate_recording

    def overlay(recording: Recording, place: str, mae: float) -> RunOverlay:
        run, _ = on_grid(recording, dt)
        return RunOverlay(
            id=recording.id,
            trajectory=recording.trajectory,
            place=place,
            time=run.time - run.time[0],
            measured=np.asarray(run.position, dtype=np.float64),
            simulated=simulate_recording(model, recording, dt, supply).position,
            mae=mae,
            initial=None if initial is None else simulate_recording(initial, recording, dt, supply).position,
        )

    errors = [run.mae for run in evaluate(model, recordings, dt=dt, supply=supply).runs]
    order = sorted(range(len(errors)), key=lambda i: -errors[i] if errors[i] == errors[i] else -np.inf)
    picked = [(order[0], "worst")]
    if len(order) > 1:
        picked.append((order[len(order) // 2], "median"))
    return tuple(overlay(recordings[i], place, errors[i]) for i, place in picked)
