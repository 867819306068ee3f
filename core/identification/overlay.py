"""One run of a fit, measured and simulated, and the runs from the largest to the smallest error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.base.arrays import Array
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply


class JudgedRun(NamedTuple):
    """A run and its error."""

    id: str
    trajectory: str
    mae: float | None = None
    """Mean absolute error [rad]; None without a model."""


@dataclass(frozen=True, eq=False)
class RunOverlay:
    """One run, measured or also simulated; arrays (n,)."""

    id: str
    time: Array
    """Time from the first sample [s]."""
    measured: Array
    """Measured position [rad]."""
    simulated: Array | None = None
    """Simulated position [rad]."""
    initial: Array | None = None
    """Position simulated with the start values of the search [rad]."""


def worst_first(
    model: ServoModel, recordings: Sequence[Recording], *, dt: float | None = None, supply: Supply = "logged"
) -> tuple[JudgedRun, ...]:
    """Return the runs from the largest to the smallest error; those that cannot be simulated come first."""
    # Not at the top: the window draws a RunOverlay, and its process loads no compiler.
    from core.identification.evaluate import evaluate

    scores = evaluate(model, recordings, dt=dt, supply=supply).runs
    judged = zip(recordings, scores, strict=True)
    ordered = sorted(judged, key=lambda pair: -pair[1].mae if pair[1].mae >= 0 else -np.inf)
    return tuple(JudgedRun(run.id, run.trajectory, score.mae) for run, score in ordered)


def overlay(
    model: ServoModel,
    recording: Recording,
    initial: ServoModel | None = None,
    *,
    dt: float | None = None,
    supply: Supply = "logged",
) -> RunOverlay:
    """Simulate a run as in a fit; initial: model at the start of the search, None: not simulated."""
    from core.motion.simulation import on_grid, simulate_recording

    run, _ = on_grid(recording, dt)
    return RunOverlay(
        id=recording.id,
        time=run.time - run.time[0],
        measured=np.asarray(run.position, dtype=np.float64),
        simulated=simulate_recording(model, recording, dt, supply).position,
        initial=None if initial is None else simulate_recording(initial, recording, dt, supply).position,
    )
