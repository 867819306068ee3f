"""Compiled simulation of whole runs of one servo with its load, for one node or for many over many recordings."""

# pyright: basic

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from core.base.arrays import Array
from core.kernel.compilation import kept_on_disk
from core.studies.webots import law
from core.studies.webots.fields import ROTATIONAL, Load, ServoFields

NODE = ("control_p", "max_velocity", "max_force", "acceleration", "damping_constant", "spring_constant")
"""Fields of a node at the beginning of its row."""
ROW = (*NODE, "min_position", "max_position", "min_stop", "max_stop", "armature", "angle_offset")
"""Numbers of a candidate. Disabled limits are infinite; armature [kg·m²] and angle offset [rad] are added to the
load's."""
AT = {name: place for place, name in enumerate(ROW)}
SETUP = ("inertia", "gravity_torque", "offset", "turns", "gain", "step", "position", "velocity")
"""Numbers of a run: load, 1 for a pendulum or 0 for a slide, factor on P, time step [s], start state."""
DIVERGED = 1e3
"""Upper limit of an error, for diverging simulations [rad]."""
_kept = partial(kept_on_disk, folder=Path(__file__).parent, nogil=True, error_model="numpy")


def row_of(node: ServoFields, armature: float = 0.0, angle_offset: float = 0.0) -> Array:
    """Return a node as a candidate, shape (len(ROW),)."""
    limits = (*node.soft_limits, *node.stops)
    return np.array([*(getattr(node, name) for name in NODE), *limits, armature, angle_offset])


@dataclass(frozen=True, kw_only=True, eq=False)
class ServoMotion:
    """Simulated run; sample k is the state before step k and the forces during it. All arrays have shape (n,)."""

    position: Array
    """Position [rad]."""
    velocity: Array
    """Velocity [rad/s]."""
    wanted: Array
    """Vc, the commanded velocity [rad/s]."""
    motor_force: Array
    """Force of the motor [N·m]."""


def simulate_node(
    node: ServoFields,
    load: Load,
    goal: Array,
    enable: Array,
    step: float,
    *,
    position: float | None = None,
    velocity: float = 0.0,
) -> ServoMotion:
    """Simulate a node that follows goals, one every `step` [s].

    Args:
        node: The node.
        load: Its load.
        goal: Goals [rad], shape (n,); infinite for velocity control at maxVelocity.
        enable: 0 sets the motor's force to 0, which leaves spring and damper; shape (n,).
        step: Time step [s].
        position: Start position [rad]. None: the node's.
        velocity: Start velocity [rad/s].
    """
    low, high = node.soft_limits
    begin = node.position if position is None else position
    turns = 1.0 if node.type == ROTATIONAL else 0.0
    setup = np.array([*astuple(load), turns, 1.0, step, begin, velocity])
    return motion_of(row_of(node), setup, np.where(np.isinf(goal), goal, np.clip(goal, low, high)), enable)


def motion_of(row: Array, setup: Array, goal: Array, enable: Array) -> ServoMotion:
    """Simulate a candidate: row (len(ROW),), setup (len(SETUP),), goal and enable (n,) as in `simulate_node`."""
    out = np.empty((len(goal), 4))
    targets, driven = (np.ascontiguousarray(each, dtype=np.float64) for each in (goal, enable))
    _run(row, setup, targets, driven, out)
    return ServoMotion(
        position=out[:, 0].copy(), velocity=out[:, 1].copy(), wanted=out[:, 2].copy(), motor_force=out[:, 3].copy()
    )


def population_errors(
    rows: Array,
    setups: Array,
    first: NDArray[np.int64],
    samples: NDArray[np.int64],
    goal: Array,
    enable: Array,
    measured: Array,
) -> Array:
    """Return the mean absolute position errors of candidates on runs, shape (runs, p) [rad].

    Args:
        rows: Candidates, shape (p, len(ROW)).
        setups: Runs, shape (runs, len(SETUP)).
        first: Index of each run's first sample, shape (runs,).
        samples: Number of each run's samples, shape (runs,).
        goal: Goals of all runs [rad], shape (N,).
        enable: Torque enable of all runs, shape (N,).
        measured: Positions of all runs [rad], shape (N,).
    """
    errors = np.empty((len(setups), len(rows)))
    _population(rows, setups, first, samples, goal, enable, measured, errors)
    return errors


_wanted_velocity = njit(error_model="numpy", inline="always")(law.wanted_velocity)
_reached_velocity = njit(error_model="numpy", inline="always")(law.reached_velocity)
_gravity = njit(error_model="numpy", inline="always")(law.gravity)


@njit(inline="always")
def _as_numbers(row):
    return (row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11])


@njit(inline="always")
def _as_setup(setup):
    return (setup[0], setup[1], setup[2], setup[3], setup[4], setup[5], setup[6], setup[7])


@njit(error_model="numpy")
def _advance(row, setup, goal, enabled, position, velocity, previous):
    p, fastest, most, acceleration, damping, spring, low, high, lower, upper, armature, turned = row
    inertia, gravity_torque, offset, turns, gain, step, _, _ = setup
    force = most if enabled > 0.0 else 0.0
    wanted = 0.0
    if force > 0.0:
        wanted = _wanted_velocity(goal, position, previous, p * gain, fastest, acceleration, low, high, step)
    mass = (inertia + armature) / step
    load = _gravity(gravity_torque, offset + turned, turns, position)
    carried = mass * velocity + load + (0.0 - spring * position)
    reached, motor = _reached_velocity(
        mass + damping, carried, wanted, force, (lower - position) / step, (upper - position) / step
    )
    return min(max(position + step * reached, lower), upper), reached, wanted, motor


@_kept
def _run(row, setup, goal, enable, out):
    numbers, place = _as_numbers(row), _as_setup(setup)
    position, velocity, previous = setup[6], setup[7], 0.0
    for k in range(len(goal)):
        after = _advance(numbers, place, goal[k], enable[k], position, velocity, previous)
        out[k, 0] = position
        out[k, 1] = velocity
        out[k, 2] = after[2]
        out[k, 3] = after[3]
        position, velocity, previous = after[0], after[1], after[2]


@_kept
def _population(rows, setups, first, samples, goal, enable, measured, errors):
    for i in range(len(setups)):
        begin, count = first[i], samples[i]
        place = _as_setup(setups[i])
        for c in range(len(rows)):
            numbers = _as_numbers(rows[c])
            position, velocity, previous, total = setups[i, 6], setups[i, 7], 0.0, 0.0
            for k in range(begin, begin + count):
                away = abs(position - measured[k])
                total += away if away < DIVERGED else DIVERGED
                position, velocity, previous, _ = _advance(
                    numbers, place, goal[k], enable[k], position, velocity, previous
                )
            errors[i, c] = total / count
