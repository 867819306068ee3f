"""A run in the size of a stamp: measured position over the goal, few enough points for one row of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bench_gui.plots.decimate import min_max

if TYPE_CHECKING:
    from core.recording import Recording

Points = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sketch:
    """Two curves in the unit square, x to the right, y upwards, on one scale; kept by run, so they are small."""

    measured: Points
    """(n, 2)"""
    goal: Points
    """(m, 2)"""


def sketch(recording: Recording, columns: int) -> Sketch:
    """Reduce a recording to two points a column."""
    time = (recording.time - recording.time[0]) / recording.duration
    low = min(float(recording.position.min()), float(recording.goal_position.min()))
    high = max(float(recording.position.max()), float(recording.goal_position.max()))
    span = high - low

    def curve(values: NDArray[np.float64]) -> Points:
        x, y = min_max(time, values, columns)
        flat = np.full(len(y), 0.5) if span <= 0.0 else (y - low) / span
        return np.column_stack((x, flat)).astype(np.float32)

    return Sketch(curve(recording.position), curve(recording.goal_position))
