"""The `Servo` node of Webots before version 7 (seed 002, section 3.42) as a simulation, and its fit to a model.

The node moves its joint at a velocity, with no more torque than `maxForce`. At each step of ts seconds (3.42.5)

    Vc = P·(Pt − Pc), limited to ±maxVelocity, then to Vp ± acceleration·ts unless acceleration is −1,

and the engine's joint motor reaches Vc at the end of the step if `maxForce` suffices: the torque that takes the joint
there, limited to ±maxForce. A damper acts beside it (3.42.9). There is no friction, no armature, and the servo is stiff
up to its force: nothing of a model fits as it is. The five numbers are therefore fitted to the model's motion over the
bench's grid, and the error is stated. Gains other than the exported one scale `controlP`.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from functools import cache

import numpy as np
from cmaes import CMA
from numba import njit
from numpy.typing import NDArray

from core.bench import Bench
from core.errors import ExportError
from core.export.drive_fit import torque_law
from core.export.grid import GridRun, bench_grid, converged_positions, held_back_grid
from core.model import ServoModel
from core.recording import ServoSettings
from core.trajectories import make_trajectory

Array = NDArray[np.float64]

GENERATIONS, POPULATION, FIRST_STEP = 50, 16, 0.4
SEEDS = (1, 2)
SPAN = math.log(30.0)
"""The fit searches each number from a thirtieth to thirty times its start."""


@dataclass(frozen=True, kw_only=True)
class ServoNode:
    """What a Servo node says of its motor and its damper."""

    control_p: float
    """P [1/s]"""
    max_velocity: float
    """Vd [rad/s]"""
    max_force: float
    """[N·m]"""
    acceleration: float
    """A [rad/s²], −1 for no limit"""
    damping: float
    """B [N·m·s/rad]"""

    def __post_init__(self) -> None:
        limited = self.acceleration == -1.0 or self.acceleration > 0.0
        numbers = all(math.isfinite(value) for value in astuple(self))
        if not (numbers and self.control_p > 0.0 and self.max_velocity > 0.0 and limited):
            raise ExportError(f"a Servo node needs positive controlP, maxVelocity and acceleration (or −1): {self}")
        if not (self.max_force >= 0.0 and self.damping >= 0.0):
            raise ExportError(f"a Servo node has no negative maxForce or dampingConstant: {self}")


@dataclass(frozen=True, kw_only=True)
class Pendulum:
    """What the joint turns."""

    inertia: float
    """About the joint, armature included [kg·m²]"""
    gravity_torque: float
    """With the arm horizontal [N·m]"""
    offset: float
    """Angle that gravity sees at joint angle 0 [rad]"""


def pendulum_of(model: ServoModel, bench: Bench) -> Pendulum:
    """The model's armature on a bench."""
    return Pendulum(
        inertia=bench.inertia + model.values["armature"],
        gravity_torque=bench.gravity_torque,
        offset=bench.angle_offset + model.values.get("q_offset", 0.0),
    )


def simulate_servo_node(node: ServoNode, pendulum: Pendulum, goal: Array, enable: Array, step: float) -> Array:
    """Positions before each step of `step` [s], from rest at 0, (n,) rad.

    goal (n,) [rad]; enable (n,): 0 sets the motor's force to 0, which leaves the damper.
    """
    out = np.empty(len(goal))
    driven = np.ascontiguousarray(enable, dtype=np.float64)
    _simulation()(np.array(astuple(node)), np.array(astuple(pendulum)), goal, driven, step, out)
    return out


@cache
def _simulation():
    """The compiled simulation of `simulate_servo_node`."""

    @njit(nogil=True, error_model="numpy")
    def run(numbers, pendulum, goal, enable, step, out):
        p, fastest, force, acceleration, damping = numbers
        inertia, gravity_torque, offset = pendulum
        position = velocity = previous = 0.0
        for k in range(len(goal)):
            out[k] = position
            wanted = min(max(p * (goal[k] - position), -fastest), fastest)
            if acceleration != -1.0:
                change = acceleration * step
                wanted = previous + min(max(wanted - previous, -change), change)
            available = force if enable[k] > 0.0 else 0.0
            previous = wanted if available > 0.0 else 0.0
            # The engine solves damper and motor together, for the velocity at the end of the step.
            carried = inertia / step * velocity - gravity_torque * math.sin(position + offset)
            needed = (inertia / step + damping) * wanted - carried
            torque = min(max(needed, -available), available)
            velocity = (carried + torque) / (inertia / step + damping)
            position += step * velocity

    return run


@dataclass(frozen=True, kw_only=True)
class ServoNodeFit:
    """The node whose motion is closest to a model's, and how far it is from it."""

    node: ServoNode
    errors: Array
    """Mean absolute position error of each run of the grid [rad]"""
    runs: tuple[GridRun, ...]
    held_back_error: float
    """The same over runs the fit did not see [rad]"""

    @property
    def mean_mrad(self) -> float:
        """Mean over the grid [mrad]."""
        return 1e3 * float(self.errors.mean())


def fit_servo_node(
    model: ServoModel, bench: Bench, settings: ServoSettings, step: float, generations: int = GENERATIONS
) -> ServoNodeFit:
    """Fit a node to a model's motion at the engine's step [s]; a few seconds, the same model gives the same result."""
    runs, others = _runs(model, bench_grid(bench, settings), step), _runs(model, held_back_grid(bench, settings), step)
    start = _start(model, bench, settings)

    def node_at(x: Array, base: ServoNode) -> ServoNode:
        return ServoNode(**{name: value * math.exp(y) for (name, value), y in zip(vars(base).items(), x, strict=True)})

    best, best_error = start, float(_errors(runs, start, settings.kp, step).mean())
    for seed in SEEDS:
        bounds = np.tile([-SPAN, SPAN], (5, 1))
        search = CMA(np.zeros(5), FIRST_STEP, bounds=bounds, seed=seed, population_size=POPULATION)
        for _ in range(generations):
            asked = [search.ask() for _ in range(POPULATION)]
            found = [float(_errors(runs, node_at(x, start), settings.kp, step).mean()) for x in asked]
            search.tell(list(zip(asked, found, strict=True)))
            if min(found) < best_error:
                best_error, best = min(found), node_at(asked[int(np.argmin(found))], start)
            if search.should_stop():
                break
    return ServoNodeFit(
        node=best,
        errors=_errors(runs, best, settings.kp, step),
        runs=tuple(run.run for run in runs),
        held_back_error=float(_errors(others, best, settings.kp, step).mean()),
    )


@dataclass(frozen=True, kw_only=True)
class _Run:
    run: GridRun
    pendulum: Array
    goal: Array
    enable: Array
    expected: Array


def _runs(model: ServoModel, grid: list[GridRun], step: float) -> list[_Run]:
    found = []
    for run in grid:
        expected = converged_positions(model, run, step, max(round(step / 1e-4), 1))
        trajectory = make_trajectory(run.trajectory)
        time = step * np.arange(len(expected))
        found.append(
            _Run(
                run=run,
                pendulum=np.array(astuple(pendulum_of(model, run.bench))),
                goal=trajectory.goal(time),
                enable=trajectory.torque_enable(time).astype(np.float64),
                expected=expected,
            )
        )
    return found


def node_errors(model: ServoModel, node: ServoNode, grid: list[GridRun], kp: float, step: float) -> Array:
    """Mean absolute position error of a node that was fitted at gain kp, one number a run of the grid [rad]."""
    return _errors(_runs(model, grid, step), node, kp, step)


def _errors(runs: list[_Run], node: ServoNode, kp: float, step: float) -> Array:
    simulate, errors = _simulation(), np.empty(len(runs))
    numbers = np.array(astuple(node))
    for i, run in enumerate(runs):
        numbers[0] = node.control_p * run.run.settings.kp / kp
        out = np.empty(len(run.goal))
        simulate(numbers, run.pendulum, run.goal, run.enable, step, out)
        errors[i] = np.abs(out - run.expected).mean()
    return errors


def _start(model: ServoModel, bench: Bench, settings: ServoSettings) -> ServoNode:
    """Numbers of the servo's own: its no-load speed, stall torque, and the P that its stiffness over its damping is."""
    law, viscous = torque_law(model, settings), model.values["friction_viscous"]
    damping = law.velocity_gain + law.back_emf + viscous
    return ServoNode(
        control_p=max(law.stiffness / max(damping, 1e-9), 1.0),
        max_velocity=law.no_load_speed,
        max_force=law.limit,
        acceleration=law.limit / (bench.inertia + model.values["armature"]),
        damping=max(viscous, 1e-3 * law.limit / law.no_load_speed),
    )
