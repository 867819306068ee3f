"""Windows of measured motion, each started again from the measured state.

Two pendulums are chaotic: after a second or two a simulation says nothing about its parameters any more. So recordings
are cut into windows, and in each the simulation starts where the arm was measured. Velocities of drivers are coarse
and late; those at a window's start are the slope of a cubic fitted to the positions around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Array
from core.errors import IdentificationError
from core.smoothing import savitzky_golay
from core.studies.arm.dynamics import simulate_windows
from core.studies.arm.recording import ArmRecording

SMOOTHING = 0.02
"""The cubic at a window's start is fitted to positions this much before and after it [s]."""
MOST_POSITIONS = 8_000_000
"""Of candidates × windows × samples that are kept in memory at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """Windows of one length, of several recordings."""

    length: float
    """[s]"""
    dt: float
    """Of the grid [s]."""
    substeps: int
    """Parts of a step of the grid."""
    every: int
    """Positions are compared every so many steps."""
    torque: Array
    """(n, 2) N·m, recordings one after the other, on the grid"""
    begins: NDArray[np.int64]
    """(w,) where in `torque` each window's recording begins"""
    starts: NDArray[np.int64]
    """(w,) where in `torque` each window begins"""
    states: Array
    """(w, 4) q1, q2 [rad], v1, v2 [rad/s] at the start"""
    measured: Array
    """(w, k, 2) rad, at the start and then every `every` steps"""

    @property
    def steps(self) -> int:
        """Of the grid, in a window."""
        return (self.measured.shape[1] - 1) * self.every

    def residuals(self, rows: Array) -> Array:
        """Simulated less measured positions of candidates (p, len(ARM_ROW)), (w, k − 1, 2, p) rad."""
        simulated = simulate_windows(
            rows,
            self.torque,
            self.begins,
            self.starts,
            self.states,
            self.steps,
            self.dt,
            substeps=self.substeps,
            every=self.every,
        )
        return simulated[:, 1:] - self.measured[:, 1:, :, None]

    def mean_errors(self, rows: Array) -> Array:
        """Mean absolute position error of candidates over both joints, all windows and samples, (p,) rad."""
        share = max(1, MOST_POSITIONS // self.measured.size)
        parts = [rows[place : place + share] for place in range(0, len(rows), share)]
        return np.concatenate([np.abs(self.residuals(part)).mean(axis=(0, 1, 2)) for part in parts])


def cut_windows(
    recordings: Sequence[ArmRecording], length: float, dt: float, *, substeps: int = 1, every: int = 5
) -> Windows:
    """Cut recordings of a torque-controlled arm into windows of a length [s], one after the other.

    dt: grid on which they are simulated [s]. Raises IdentificationError when a recording has no torques or no window
    fits into any.
    """
    compared = max(1, min(every, round(length / dt)))
    steps = max(1, round(length / (dt * compared))) * compared
    around = max(2, round(SMOOTHING / dt))
    torques: list[Array] = []
    begins: list[NDArray[np.int64]] = []
    starts: list[NDArray[np.int64]] = []
    states: list[Array] = []
    measured: list[Array] = []
    begin = 0
    for recording in recordings:
        if recording.torque is None:
            raise IdentificationError(f"recording {recording.id} has no commanded torques to identify an arm from")
        run = recording.resampled(dt)
        assert run.torque is not None
        torques.append(run.torque)
        samples = len(run.time)
        first = np.arange(around, samples - max(steps, around), steps)
        if samples > 2 * around and len(first):
            smooth, slope = (
                savitzky_golay(run.position, 2 * around + 1, 3, derivative=order, step=dt) for order in (0, 1)
            )
            states.append(np.column_stack([smooth[first], slope[first]]))
            measured.append(run.position[first[:, None] + np.arange(0, steps + 1, compared)])
            starts.append(begin + first)
            begins.append(np.full(len(first), begin))
        begin += samples
    if not starts:
        raise IdentificationError(f"no window of {length} s fits into these recordings; choose shorter ones")
    return Windows(
        length=length,
        dt=dt,
        substeps=substeps,
        every=compared,
        torque=np.vstack(torques),
        begins=np.concatenate(begins),
        starts=np.concatenate(starts),
        states=np.vstack(states),
        measured=np.concatenate(measured),
    )
