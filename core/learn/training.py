"""Training through roll-outs, and roll-outs of whole runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager

import torch

from core.learn.runs import Runs, in_windows
from core.learn.servos import Inputs, LearnedServo, Moved

WINDOW = 0.5
"""Duration of the roll-outs of training [s]: long enough for friction to show in the position."""
LEARNING_RATE = 2e-2
STEEPEST = 1.0
"""Norm to which gradients are clipped: some windows start just before the shaft sticks or breaks loose."""


@contextmanager
def repeatable(seed: int) -> Generator[None]:
    """Compute on one processor and with random numbers of their own, which a repetition gets again."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def roll_out(servo: LearnedServo, inputs: Inputs, start: Moved) -> torch.Tensor:
    """Return the positions before each step of `inputs`, (windows, steps, runs) [rad]."""
    positions: list[torch.Tensor] = []
    moved = start
    for k in range(inputs[0].shape[1]):
        positions.append(moved.position)
        moved = servo.advance(*moved, tuple(each[:, k] for each in inputs))
    return torch.stack(positions, dim=1)


@torch.no_grad()
def whole_errors(servo: LearnedServo, runs: Runs) -> dict[str, float]:
    """Return the mean absolute position error of each whole run by its id [rad], infinite if it diverges."""
    inputs, (position, velocity) = servo.inputs(runs), runs.starting_states()
    found = roll_out(servo, inputs, Moved(position, velocity, servo.at_rest(position, velocity)))[0]
    errors = (found - runs.position).abs() * runs.measured
    means = (errors.sum(dim=0) / runs.measured.sum(dim=0)).tolist()
    ids = [recording.id for recording in runs.recordings]
    return {run: mean if math.isfinite(mean) else math.inf for run, mean in zip(ids, means, strict=True)}


@torch.no_grad()
def measured_states(servo: LearnedServo, runs: Runs, inputs: Inputs, length: int) -> Moved:
    """Return the measured states at the beginnings of windows of `length` steps, (windows, R).

    The rest of the state, such as a limited goal, comes from commands and the measured motion before.
    """
    position, velocity = runs.position[:1], runs.velocity[:1]
    state, states = servo.at_rest(position, velocity), []
    for k in range(len(runs.position)):
        if k % length == 0:
            states.append(state)
        position, velocity = runs.position[k : k + 1], runs.velocity[k : k + 1]
        state = servo.advance(position, velocity, state, tuple(each[:, k] for each in inputs)).state
    # A part that does not depend on the runs is still (1, 1) there.
    rows = [torch.cat([each.expand(1, runs.position.shape[1]) for each in part]) for part in zip(*states, strict=True)]
    return Moved(runs.position[::length], runs.velocity[::length], tuple(rows))


def train(
    servo: LearnedServo, runs: Runs, iterations: int, on_iteration: Callable[[float], bool] = lambda loss: True
) -> None:
    """Train a servo's net so that windows of the runs, started from measured states, follow the measured positions.

    Args:
        servo: The servo, which is changed.
        runs: Runs to learn from.
        iterations: Number of gradient steps; each sees every window.
        on_iteration: Called after each with the mean error [rad]; False stops.
    """
    length = max(2, round(WINDOW / runs.step))
    inputs = servo.inputs(runs)
    start = measured_states(servo, runs, inputs, length)
    cut = tuple(in_windows(each[0], length) for each in inputs)
    wanted, weights = in_windows(runs.position, length), in_windows(runs.measured, length)
    optimiser = torch.optim.Adam(servo.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=iterations)
    for _ in range(iterations):
        loss = ((roll_out(servo, cut, start) - wanted).abs() * weights).sum() / weights.sum()
        optimiser.zero_grad()
        loss.backward()
        if torch.isfinite(torch.nn.utils.clip_grad_norm_(servo.parameters(), STEEPEST)):
            optimiser.step()
        schedule.step()
        if not on_iteration(loss.item()):
            return
