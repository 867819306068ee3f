"""Signals computed from a run before any assessment: smooth velocity and acceleration, motion against its goal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.motion.recording import Recording, require_loads
from core.motion.smoothing import savitzky_golay
from core.servo.catalogue import load_servo

SMOOTHING = 0.05
"""Length of the local parabola from which velocity and acceleration are taken [s]."""

LONGEST_LAG = 0.3
"""Longest lag between a command and the motion [s]."""

AGREED = 0.4
"""Correlation from which motion and goal are related."""


@dataclass(frozen=True, eq=False)
class Signals:
    """One run on a regular grid, all (n,): s, rad, rad/s, rad/s², True where torque is on; goal in its unit."""

    time: Array
    position: Array
    goal: Array
    velocity: Array
    acceleration: Array
    goal_velocity: Array
    enable: NDArray[np.bool_]
    step: float
    """Time step of the grid [s]."""


@lru_cache(maxsize=512)
def signals_of(recording: Recording) -> Signals:
    """Return the derivatives of a run, smoothed over SMOOTHING; raises InputError for a run of unknown load."""
    require_loads(recording)
    step = float(np.median(np.diff(recording.time)))
    run = recording.resampled(step)
    length = max(5, 2 * round(0.5 * SMOOTHING / step) + 1)
    length = min(length, run.samples - 1 + run.samples % 2)
    position, goal = (np.asarray(a, dtype=np.float64) for a in (run.position, run.goal))

    def derivative(values: Array, order: int) -> Array:
        if length < 5:
            return np.zeros(len(values))
        return savitzky_golay(values, length, 2, derivative=order, step=step)

    return Signals(
        time=run.time - run.time[0],
        position=position,
        goal=goal,
        velocity=derivative(position, 1),
        acceleration=derivative(position, 2),
        goal_velocity=derivative(goal, 1),
        enable=run.torque_enable,
        step=step,
    )


def lagged_correlation(
    follower: Array, leader: Array, step: float, longest: float = LONGEST_LAG
) -> tuple[float, float]:
    """Return the lag [s], at most `longest`, at which `follower` best matches `leader`, and the correlation."""
    most = min(round(longest / step), len(leader) // 2)
    if most < 1:
        return math.nan, 0.0
    values = np.zeros(most + 1)
    for k in range(most + 1):
        late, early = follower[k:], leader[: len(leader) - k]
        size = math.sqrt(float(early @ early) * float(late @ late))
        values[k] = float(late @ early) / size if size > 0.0 else 0.0
    best = int(np.argmax(np.abs(values)))
    lag = float(best)
    if 0 < best < most:
        before, here, after = np.abs(values[best - 1 : best + 2]).tolist()
        curve = before - 2.0 * here + after
        lag += 0.5 * (before - after) / curve if curve < 0.0 else 0.0
    return lag * step, float(values[best])


def command_lag(recording: Recording) -> tuple[float, float]:
    """Return the lag of the motion behind the goal [s], and their correlation, −1 to 1.

    They are computed for the longest stretch with torque on. They are NaN and 0 if the goal does not move, the servo
    does not respond, or the command is no angle. The lag is that of the whole chain of command, servo and load, not a
    transport delay, and it increases as the gain decreases.
    """
    s = signals_of(recording)
    driven = spans(s.enable)
    if not driven or recording.command.kind != "position":
        return math.nan, 0.0
    first, last = max(driven, key=lambda span: span[1] - span[0])
    leader, follower = s.goal_velocity[first:last], s.velocity[first:last]
    slowest = 0.01 * load_servo(recording.settings.servo).no_load_speed
    if float(np.sqrt(np.mean(leader**2))) < slowest or float(np.sqrt(np.mean(follower**2))) < 0.3 * slowest:
        return math.nan, 0.0
    return lagged_correlation(follower, leader, s.step)


def spans(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first index and the one after the last of each stretch in which a mask (n,) is True."""
    edges = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


def swapped_sign(recording: Recording) -> bool:
    """Return True if a run moves against its goal, as no position loop does."""
    s = signals_of(recording)
    lag, agreement = command_lag(recording)
    if math.isnan(lag) or not s.enable.any():
        return False
    against = _distance(-s.position, s) < 0.7 * _distance(s.position, s)
    return agreement < -AGREED and against


def _distance(position: Array, s: Signals) -> float:
    return float(np.abs(position - s.goal)[s.enable].mean())
