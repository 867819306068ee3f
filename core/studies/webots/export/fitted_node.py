"""Fit the `Servo` node of Webots before version 7 (section 3.42 of its manual) to a model.

The node moves its joint at a velocity, with no more torque than `maxForce` (`core.studies.webots.law`). It has no
friction and no armature, and the servo is stiff up to its force, so none of a model's numbers can be used directly.
Five numbers are therefore fitted to the model's motion over the bench's grid of runs, and the error is stated. Gains
other than the exported one scale `controlP`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.export.drives.fit import torque_law
from core.export.references import GridRun, bench_grid, converged_positions, held_back_grid
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.studies.webots.fields import Load, ServoFields, load_of
from core.studies.webots.fitting import (
    GENERATIONS,
    NODE_NUMBERS,
    FitRun,
    FittedNumber,
    fit_node,
    fitted_numbers,
    run_errors,
)
from core.studies.webots.kernel import row_of


@dataclass(frozen=True, kw_only=True)
class ServoNodeFit:
    """Node whose motion is closest to a model's, with its errors."""

    node: ServoFields
    errors: Array
    """Mean absolute position error of each run of the grid [rad]."""
    runs: tuple[GridRun, ...]
    held_back_error: float
    """Mean error over held-out runs [rad]."""
    numbers: tuple[FittedNumber, ...]

    @property
    def mean_mrad(self) -> float:
        """Mean error over the grid of runs [mrad]."""
        return 1e3 * float(self.errors.mean())


def load_of_model(model: ServoModel, bench: Bench) -> Load:
    """Return a bench's load with the model's armature, at its identified angle offset."""
    return load_of(bench, model.values["armature"], model.values.get("q_offset", 0.0))


def fit_servo_node(
    model: ServoModel, bench: Bench, settings: ServoSettings, step: float, generations: int = GENERATIONS
) -> ServoNodeFit:
    """Fit a node to a model's motion at the engine's time step [s]; deterministic, takes a few seconds."""
    grid = bench_grid(bench, settings)
    runs = model_runs(model, grid, settings.kp, step)
    others = model_runs(model, held_back_grid(bench, settings), settings.kp, step)
    start = start_node(model, bench, settings)
    fit = fit_node(runs, start, generations=generations)
    return ServoNodeFit(
        node=fit.node,
        errors=fit.errors,
        runs=tuple(grid),
        held_back_error=float(run_errors(others, fit.row[None]).mean()),
        numbers=tuple(fitted_numbers(fit, start, runs, NODE_NUMBERS)),
    )


def model_runs(model: ServoModel, grid: list[GridRun], kp: float, step: float) -> list[FitRun]:
    """Return a model's converged motion in each run, for a node whose P is valid at the gain kp."""
    found: list[FitRun] = []
    for run in grid:
        expected = converged_positions(model, run, step, held=True)
        trajectory = make_trajectory(run.trajectory)
        time = step * np.arange(len(expected))
        found.append(
            FitRun(
                id=run.title,
                load=load_of_model(model, run.bench),
                gain=run.settings.kp / kp,
                step=step,
                goal=trajectory.goal(time),
                enable=trajectory.torque_enable(time).astype(np.float64),
                measured=expected,
            )
        )
    return found


def node_errors(model: ServoModel, node: ServoFields, grid: list[GridRun], kp: float, step: float) -> Array:
    """Return the mean absolute position error in each run [rad] of a node fitted at gain kp."""
    return run_errors(model_runs(model, grid, kp, step), row_of(node)[None])[:, 0]


def start_node(model: ServoModel, bench: Bench, settings: ServoSettings) -> ServoFields:
    """Return a node with the servo's own numbers: no-load speed, stall torque, and stiffness over damping as P.

    The torque is limited to the rated stall torque if the identified motor's is larger, because a node uses its torque
    at any speed.
    """
    law, viscous = torque_law(model, settings), model.values["friction_viscous"]
    damping = law.velocity_gain + law.back_emf + viscous
    force = min(law.limit, model.spec.stall_torque)
    return ServoFields(
        control_p=max(law.stiffness / max(damping, 1e-9), 1.0),
        max_velocity=law.no_load_speed,
        max_force=force,
        acceleration=force / (bench.inertia + model.values["armature"]),
        damping_constant=max(viscous, 1e-3 * force / law.no_load_speed),
    )
