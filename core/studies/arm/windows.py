"""Windows of measured motion, each restarted from the measured state.

Double pendulums are chaotic: after a second or two, a simulation no longer depends usefully on its parameters.
Recordings are therefore cut into windows, and in each the simulation starts from the measured state. Velocities
reported by drivers are coarse and late, so the start velocity is the slope of a cubic fitted to the positions around
the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.motion.smoothing import savitzky_golay
from core.studies.arm.dynamics import simulate_windows
from core.studies.arm.recording import ArmRecording

SMOOTHING = 0.02
"""Half width of the cubic fit at a window's start [s]."""
MOST_POSITIONS = 8_000_000
"""Limit of candidates × windows × samples in memory at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """Windows of one length from several recordings."""

    length: float
    """Length of a window [s]."""
    dt: float
    """Time step [s]."""
    substeps: int
    """Substeps of a time step."""
    every: int
    """Number of time steps between compared positions."""
    torque: Array
    """Torques at each time step [N·m], recordings concatenated, shape (n, 2)."""
    begins: NDArray[np.int64]
    """Index in `torque` at which each window's recording begins, shape (w,)."""
    starts: NDArray[np.int64]
    """Index in `torque` at which each window begins, shape (w,)."""
    states: Array
    """q1, q2 [rad], v1, v2 [rad/s] at the start, shape (w, 4)."""
    measured: Array
    """Measured positions at the start and every `every` steps [rad], shape (w, k, 2)."""

    @property
    def steps(self) -> int:
        """Number of time steps in a window."""
        return (self.measured.shape[1] - 1) * self.every

    def residuals(self, rows: Array) -> Array:
        """Return simulated minus measured positions (w, k − 1, 2, p) [rad] of candidates (p, len(ARM_ROW))."""
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
        """Return the candidates' mean absolute position error over joints, windows and samples, (p,) [rad]."""
        share = max(1, MOST_POSITIONS // self.measured.size)
        parts = [rows[place : place + share] for place in range(0, len(rows), share)]
        return np.concatenate([np.abs(self.residuals(part)).mean(axis=(0, 1, 2)) for part in parts])


def cut_windows(
    recordings: Sequence[ArmRecording], length: float, dt: float, *, substeps: int = 1, every: int = 5
) -> Windows:
    """Cut recordings of a torque-controlled arm into consecutive windows of a length [s], with a time step dt [s].

    Raises IdentificationError if a recording has no torques, or no window fits into any recording.
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
        raise IdentificationError(f"no window of {length} s fits into these recordings; choose shorter windows")
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
