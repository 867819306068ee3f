"""Thumbnail of a run: measured position and goal, with few points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench_gui.plots.decimate import min_max
from core.motion.recording import Recording

Points = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sketch:
    """Two small curves in the unit square on a common scale, x to the right and y upwards."""

    measured: Points
    """Measured position, (n, 2)."""
    goal: Points
    """Goal, (m, 2)."""


def sketch(recording: Recording, columns: int) -> Sketch:
    """Reduce a recording to two points per column."""
    time = (recording.time - recording.time[0]) / recording.duration
    # A goal that is no angle is not drawn.
    goal = recording.goal_position if recording.command.kind == "position" else recording.position
    low = min(float(recording.position.min()), float(goal.min()))
    high = max(float(recording.position.max()), float(goal.max()))
    span = high - low

    def curve(values: NDArray[np.float64]) -> Points:
        x, y = min_max(time, values, columns)
        flat = np.full(len(y), 0.5) if span <= 0.0 else (y - low) / span
        return np.column_stack((x, flat)).astype(np.float32)

    return Sketch(curve(recording.position), curve(goal))
