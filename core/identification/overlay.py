"""The worst and the median run of a fit, measured and simulated: what a person looks at while a search is under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.identification.sensitivity import simulate_candidates
from core.model import ServoModel
from core.recording import Recording

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunOverlay:
    """One run under a model; arrays (n,) on the grid of the simulation."""

    id: str
    trajectory: str
    place: str
    """"worst" or "median"."""
    mae: float
    """[rad]"""
    time: Array
    """From the first sample [s]."""
    measured: Array
    """[rad]"""
    simulated: Array
    """[rad]"""


def worst_and_median(
    model: ServoModel, recordings: Sequence[Recording], *, dt: float | None = None, supply: str = "logged"
) -> tuple[RunOverlay, ...]:
    """The run with the largest error and the one in the middle; one run alone is the worst."""
    motions = [simulate_candidates(model, recording, None, dt, supply) for recording in recordings]
    errors = [float(np.abs(simulated[0] - measured).mean()) for _, measured, simulated in motions]
    order = sorted(range(len(errors)), key=lambda i: -errors[i] if errors[i] == errors[i] else -np.inf)
    picked = [(order[0], "worst")]
    if len(order) > 1:
        picked.append((order[len(order) // 2], "median"))
    return tuple(
        RunOverlay(
            id=recordings[i].id,
            trajectory=recordings[i].trajectory,
            place=place,
            mae=errors[i],
            time=motions[i][0],
            measured=motions[i][1],
            simulated=motions[i][2][0],
        )
        for i, place in picked
    )
