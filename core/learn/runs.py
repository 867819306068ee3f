"""Recordings of one servo as tensors on one time grid, whole or cut into windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.base.arrays import Array
from core.identification.request import IdentificationRequest
from core.kernel.step import delayed_command
from core.motion.recording import Recording
from core.motion.simulation import held_commands, initial_velocity, on_grid, sampling_interval, smoothed_velocity
from core.servo.terms import SAGS


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs on one grid, padded at the end with their last sample. Tensors are (samples, runs) unless noted."""

    step: float
    """Time between samples [s]."""
    recordings: tuple[Recording, ...]
    """Runs on the grid, R of them."""
    goal: torch.Tensor
    """Command at the beginning of each step [rad]."""
    lasts: torch.Tensor
    """Share of each step during which `goal` holds before the next one."""
    enable: torch.Tensor
    """Share of each step during which the motor is driven."""
    supply: torch.Tensor
    """Supply voltage [V]."""
    position: torch.Tensor
    """Measured position [rad]."""
    velocity: torch.Tensor
    """Measured velocity, smoothed [rad/s]."""
    measured: torch.Tensor
    """1 for samples of the run, 0 for padding."""
    kp: torch.Tensor
    """Gain as written into the servo, (R,)."""
    inertia: torch.Tensor
    """Inertia of the pendulum [kg·m²], (R,)."""
    gravity_torque: torch.Tensor
    """Gravity torque of the horizontal pendulum [N·m], (R,)."""
    angle_offset: torch.Tensor
    """Mounting error in the header of the runs [rad], (R,)."""

    def starting_states(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return position and velocity from which a simulation of whole runs starts, (1, R)."""
        velocity = [initial_velocity(run) for run in self.recordings]
        return self.position[:1], torch.tensor([velocity], dtype=torch.float32)


def runs_of(recordings: Sequence[Recording], request: IdentificationRequest) -> Runs:
    """Put recordings on the grid on which the request compares them."""
    step = sampling_interval(recordings, request.dt)
    grid = [on_grid(recording, step)[0] for recording in recordings]
    longest = max(run.samples for run in grid)
    columns: dict[str, list[Array]] = {}
    for recording, run in zip(recordings, grid, strict=True):
        sags = not SAGS.isdisjoint(request.command_path)
        commands = held_commands(recording, run, step, 1, request.supply, sags=sags)
        position = np.asarray(run.position, dtype=np.float64)
        for name, values in {
            "goal": commands.goal,
            "lasts": commands.lasts,
            "enable": commands.enable,
            "supply": commands.supply,
            "position": position,
            "velocity": smoothed_velocity(position, step),
        }.items():
            columns.setdefault(name, []).append(np.pad(values, (0, longest - run.samples), mode="edge"))
        columns.setdefault("measured", []).append((np.arange(longest) < run.samples).astype(np.float64))
    benches = [run.bench for run in grid]
    numbers = {
        "kp": [run.settings.kp for run in grid],
        **{name: [getattr(bench, name) for bench in benches] for name in ("inertia", "gravity_torque", "angle_offset")},
    }
    return Runs(
        step=step,
        recordings=tuple(grid),
        **{name: torch.tensor(np.array(rows).T, dtype=torch.float32) for name, rows in columns.items()},
        **{name: torch.tensor(values, dtype=torch.float32) for name, values in numbers.items()},
    )


def delayed_goals(runs: Runs, delay: float) -> tuple[torch.Tensor, ...]:
    """Delay goals by `delay` steps, see `core.kernel.step.delayed_command`; returns three tensors (1, steps, R)."""
    whole, last = math.ceil(delay), len(runs.goal) - 1
    goals, lasts = (np.ascontiguousarray(each.double().numpy().T) for each in (runs.goal, runs.lasts))
    found = np.array(
        [
            [delayed_command(goal, held, i, 0, last, whole, whole - delay) for i in range(last + 1)]
            for goal, held in zip(goals, lasts, strict=True)
        ]
    )
    return tuple(torch.tensor(found.transpose(2, 1, 0)[:, None], dtype=torch.float32))


def delayed(values: torch.Tensor, delay: float) -> torch.Tensor:
    """Delay values that are held over each step by `delay` steps, and return their means over each step."""
    held = values.double().numpy()
    whole = np.concatenate([np.zeros_like(held[:1]), np.cumsum(held, axis=0)])
    edges = np.arange(len(held) + 1) - delay
    columns = [np.interp(edges, np.arange(len(held) + 1), column) for column in whole.T]
    early = np.minimum(edges, 0.0)[:, None] * held[0]
    return torch.tensor(np.diff(np.array(columns).T + early, axis=0), dtype=torch.float32)


def in_windows(values: torch.Tensor, length: int) -> torch.Tensor:
    """Cut (samples, R) into windows of `length` samples, (windows, length, R); the last one is padded with zeros."""
    count = -(-len(values) // length)
    padded = torch.nn.functional.pad(values, (0, 0, 0, count * length - len(values)))
    return padded.reshape(count, length, -1)
