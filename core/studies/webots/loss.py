"""Compare a Webots Servo with friction models M1–M6 on the same runs: the loss in milliradians.

The node is fitted to recordings, or to the motion of an identified model over the bench's grid of export runs. A
quarter of the recordings, or the runs at a load and gain between those of the grid, are held out of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.base.errors import ModelError
from core.base.words import counted
from core.export.approximation import Form, approximate
from core.export.references import GridRun, bench_grid, converged_positions, default_bench, held_back_grid
from core.identification.evaluate import evaluate
from core.identification.runs.conditions import as_own_motor
from core.identification.runs.split import DEFAULT_RULE, split_recordings
from core.motion.recording import Recording
from core.motion.simulation import initial_velocity, on_grid
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model, nominal_model, shipped_models
from core.studies.webots.export.fitted_node import model_runs, start_node
from core.studies.webots.fields import load_of
from core.studies.webots.fitting import (
    ALL_NUMBERS,
    GENERATIONS,
    NODE_NUMBERS,
    FitRun,
    FittedNumber,
    NodeFit,
    fit_node,
    fitted_numbers,
    run_errors,
)

Progress = Callable[[float, str], None]

TIMESTEP = 0.005
"""Default `basicTimeStep` of a node's fit to a model [s]."""
RECORDING_GENERATIONS = 100
"""Generations of a fit to recordings, which has more numbers and more noise than one to a model."""
SMALLEST_ARMATURE = 1e-6
"""Smallest start value, above 0 for a search over logarithms [kg·m²]."""
FITTED_M1 = "M1 fitted"


@dataclass(frozen=True, kw_only=True)
class LossRow:
    """Errors of a friction model on the node's runs."""

    name: str
    friction: str
    train_mae: float
    """Mean error over the runs that the node was fitted to [rad]."""
    validation_mae: float | None
    """Mean error over the held-out runs [rad]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ServoLoss:
    """Fitted node with its errors, and the errors of M1–M6 on the same runs."""

    title: str
    """Description of the runs."""
    kp: float
    """Gain for which the node's P is valid; P scales with the gain."""
    fit: NodeFit
    numbers: tuple[FittedNumber, ...]
    train_mae: float
    """Mean error on the fitted runs [rad]."""
    validation_mae: float | None
    """Mean error on the held-out runs [rad]."""
    train: tuple[str, ...]
    """Ids of the fitted runs."""
    validation: tuple[str, ...]
    rows: tuple[LossRow, ...]

    def lost(self, row: LossRow) -> float:
        """Return the node's error minus a model's on the held-out runs, or on the fitted runs if none [rad]."""
        if self.validation_mae is None or row.validation_mae is None:
            return self.train_mae - row.train_mae
        return self.validation_mae - row.validation_mae

    def to_json(self) -> dict[str, Any]:
        """Return plain data in rad and SI units."""
        return {
            "title": self.title,
            "kp": self.kp,
            "node": dict(vars(self.fit.node)),
            "armature": self.fit.armature,
            "angle_offset": self.fit.angle_offset,
            "numbers": [dict(vars(number)) | {"determined": number.determined} for number in self.numbers],
            "train_mae": self.train_mae,
            "validation_mae": self.validation_mae,
            "train": list(self.train),
            "validation": list(self.validation),
            "models": [dict(vars(row)) | {"lost": self.lost(row)} for row in self.rows],
        }


def no_progress(share: float, text: str) -> None:
    """Ignore the progress."""


def recording_runs(recordings: Sequence[Recording], kp: float, dt: float | None = None) -> list[FitRun]:
    """Convert recordings for a node with P for the gain kp, at their own time step or at dt [s]."""
    found: list[FitRun] = []
    for recording in recordings:
        run, step = on_grid(recording.commanded("position"), dt)
        found.append(
            FitRun(
                id=run.id,
                load=load_of(run.bench),
                gain=run.settings.kp / kp,
                step=step,
                goal=np.ascontiguousarray(run.goal_position, dtype=np.float64),
                enable=run.torque_enable.astype(np.float64),
                measured=np.ascontiguousarray(run.position, dtype=np.float64),
                velocity=initial_velocity(run),
            )
        )
    return found


def loss_on_recordings(
    recordings: Sequence[Recording],
    models: Mapping[str, ServoModel] | None = None,
    *,
    validation: str = DEFAULT_RULE,
    dt: float | None = None,
    generations: int = RECORDING_GENERATIONS,
    progress: Progress = no_progress,
) -> ServoLoss:
    """Fit a node, the servo's armature and the bench's angle to recordings, and judge models on them.

    Args:
        recordings: Recordings of one servo.
        models: Models by name. None: the catalogue's models of the servo.
        validation: Rule of `split_recordings`.
        dt: Time step [s]. None: that of the recordings.
        generations: Generations of each search.
        progress: Called with the completed share and a description.

    Raises:
        ServoBenchError: Recordings of several servos, or of one that the catalogue does not have.
    """
    servos = sorted({recording.settings.servo for recording in recordings})
    if len(servos) != 1:
        raise ModelError(f"a node is fitted to recordings of one servo, these are of {', '.join(servos) or 'none'}")
    spec = load_servo(servos[0])
    compared = published_models(servos[0]) if models is None else models
    split = split_recordings(recordings, validation)
    # Models are also judged on runs of another actuator, especially of a node.
    train, held = ([as_own_motor(r) for r in recordings if r.id in ids] for ids in (split.train, split.validation))
    nominal = nominal_model(spec)
    middle = sorted(recordings, key=lambda r: r.bench.gravity_torque)[len(recordings) // 2]
    kept = nominal.default_settings()
    supply = max(kept.supply_voltage, *(recording.settings.supply_voltage for recording in recordings))
    start = start_node(nominal, middle.bench, replace(kept, supply_voltage=supply))
    armature = max(nominal.values["armature"], SMALLEST_ARMATURE)
    runs, others = (recording_runs(part, spec.default_kp, dt) for part in (train, held))
    progress(0.0, "fitting the node")
    fit = fit_node(runs, start, names=ALL_NUMBERS, armature=armature, generations=generations)
    numbers = fitted_numbers(fit, start, runs, ALL_NUMBERS, armature)
    rows: list[LossRow] = []
    for i, (name, model) in enumerate(compared.items()):
        progress((i + 1) / (len(compared) + 1), f"simulating {name}")
        judged = [evaluate(model, part, dt=dt).mean_mae if part else None for part in (train, held)]
        rows.append(_row(name, model, judged[0], judged[1]))
    return ServoLoss(
        title=f"{counted(len(recordings), 'recording')} of {spec.title}",
        kp=spec.default_kp,
        fit=fit,
        numbers=tuple(numbers),
        train_mae=float(fit.errors.mean()),
        validation_mae=float(run_errors(others, fit.row[None]).mean()) if others else None,
        train=split.train,
        validation=split.validation,
        rows=tuple(rows),
    )


def loss_on_model(
    model: ServoModel,
    models: Mapping[str, ServoModel] | None = None,
    *,
    bench: Bench | None = None,
    settings: ServoSettings | None = None,
    step: float = TIMESTEP,
    generations: int = GENERATIONS,
    progress: Progress = no_progress,
) -> ServoLoss:
    """Fit a node to a model's motion over the bench's grid of runs, and judge other models on it.

    Args:
        model: Model whose motion is the reference.
        models: Models by name. None: the catalogue's models and an M1 fitted to the model.
        bench: Pendulum. None: one that suits the servo.
        settings: Settings of the servo. None: the catalogue's.
        step: `basicTimeStep` [s].
        generations: Generations of each search.
        progress: Called with the completed share and a description.
    """
    model.require_goal_angles("a Servo node")
    load, kept = bench or default_bench(model), settings or model.default_settings()
    grids = bench_grid(load, kept), held_back_grid(load, kept)
    runs, others = (model_runs(model, grid, kept.kp, step) for grid in grids)
    start = start_node(model, load, kept)
    progress(0.0, "fitting the node")
    fit = fit_node(runs, start, generations=generations)
    numbers = fitted_numbers(fit, start, runs, NODE_NUMBERS)
    compared = dict(published_models(model.servo) if models is None else models)
    if models is None and model.friction != "m1":
        progress(0.3, "fitting M1")
        compared[FITTED_M1] = approximate(model, load, kept, Form(kept=model.command_path)).model
    rows: list[LossRow] = []
    for i, (name, other) in enumerate(compared.items()):
        progress(0.4 + 0.6 * i / len(compared), f"simulating {name}")
        train, held = (_distance(other, part, grid, step) for part, grid in zip((runs, others), grids, strict=True))
        rows.append(_row(name, other, train, held))
    return ServoLoss(
        title=f"motion of {model.title}",
        kp=kept.kp,
        fit=fit,
        numbers=tuple(numbers),
        train_mae=float(fit.errors.mean()),
        validation_mae=float(run_errors(others, fit.row[None]).mean()),
        train=tuple(run.id for run in runs),
        validation=tuple(run.id for run in others),
        rows=tuple(rows),
    )


def published_models(servo: str) -> dict[str, ServoModel]:
    """Return the catalogue's models of a servo by friction name, M1 first."""
    return {friction.upper(): load_model(servo, friction) for friction in shipped_models(servo)}


def _distance(model: ServoModel, runs: Sequence[FitRun], grid: Sequence[GridRun], step: float) -> float:
    """Return the mean absolute difference between a model's motion at the time step and the runs [rad]."""
    return float(
        np.mean(
            [
                np.abs(converged_positions(model, at, step, held=True, step=step) - run.measured).mean()
                for run, at in zip(runs, grid, strict=True)
            ]
        )
    )


def _row(name: str, model: ServoModel, train: float | None, held: float | None) -> LossRow:
    assert train is not None
    return LossRow(name=name, friction=model.friction, train_mae=train, validation_mae=held)
