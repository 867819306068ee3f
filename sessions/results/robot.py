"""Identification of a robot: a folder for each joint, as of a servo on the bench, and `robot.json` about all.

Reading a result does not load the compiler.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.errors import IdentificationError, InputError, ServoBenchError, StoppedEarly
from core.base.guards import is_array, is_object
from core.base.units import milliradians
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, ModelResult
from core.identification.runs.split import Split, split_recordings
from core.identification.search.start import start_values
from core.motion.recording import JOINT
from core.robot.defaults import KEPT, kept_robot
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import RICHEST
from sessions.results.folder import FOLDER, OnProgress, Stops, read_file, result_folders, results_home, write_file
from sessions.results.identification import load_identification

if TYPE_CHECKING:
    from core.robot.arm import JointServo
    from core.robot.runs import RobotRuns
    from sessions.results.identifying import Watch
    from sessions.store import Session

ROBOT = "robot.json"
SHARED = "all_joints"
"""Folder of the model of all joints."""
LONGEST_STEP = 0.005
"""Longest time step of the simulations [s], unless the request states one.

Robots are often sampled at 50 Hz. At this step, the models of an SO-101 cost 0.02 mrad; the choice for each fit, made
for runs of a bench, took up to 64 steps a sample.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotModel:
    """Models of a robot's joints."""

    file: Path
    """Copy of the robot's URDF or MJCF file; the file itself in older results."""
    training: tuple[str, ...]
    """Motions to which the models were fitted."""
    held_out: tuple[str, ...]
    joints: Mapping[str, Path]
    """File of each joint's recommended model."""
    settings: Mapping[str, ServoSettings]
    """Settings of each joint's servo in its first run."""
    benches: Mapping[str, Bench]
    """Pendulum as heavy as each joint's load."""
    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Mean absolute error of each joint by motion [rad]; older results have none."""
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Reason for each joint that could not be identified."""

    def model(self, joint: str) -> ServoModel:
        """Return the model of a joint; raises ServoBenchError if its file is gone or damaged."""
        return ServoModel.read(self.joints[joint])

    def servos(self, joints: Iterable[str]) -> dict[str, JointServo]:
        """Return the servos of joints; raises ServoBenchError if a model's file is gone or damaged."""
        from core.robot.arm import JointServo

        return {
            joint: JointServo(model=self.model(joint), settings=self.settings[joint], bench=self.benches[joint])
            for joint in joints
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotIdentification:
    """Result of `identify_robot`."""

    split: Split
    """Training and held-out motions."""
    joints: Mapping[str, Identification]
    errors: Mapping[str, Mapping[str, float]]
    """Mean absolute error of each joint's recommended model by motion [rad]."""
    failed: Mapping[str, str]
    """Reason for each joint that could not be identified."""
    not_reached: tuple[str, ...] = ()
    """Joints after the one during which it was stopped."""

    @property
    def stopped(self) -> str | None:
        """Joint during which it was stopped, or None."""
        return next((joint for joint, each in self.joints.items() if each.stopped), None)


@dataclass(frozen=True, kw_only=True)
class JointRow:
    """Figures of an identified joint. Errors in rad."""

    joint: str
    friction: str
    """Recommended friction model."""
    train_mae: float
    validation_mae: float | None
    determined: int
    """Number of parameters that the motions narrow, of `parameters`."""
    parameters: int
    errors: Mapping[str, float]
    """Mean absolute error by motion; empty if it is not stored."""

    @classmethod
    def of(cls, joint: str, found: ModelResult, errors: Mapping[str, float]) -> JointRow:
        """Return the figures of a joint's recommended model; errors: mean absolute error by motion."""
        return cls(
            joint=joint,
            friction=found.model.friction,
            train_mae=found.train_mae,
            validation_mae=found.validation_mae,
            determined=sum(p.narrowed for p in found.evidence.parameters),
            parameters=len(found.evidence.parameters),
            errors=errors,
        )

    @property
    def worst(self) -> tuple[str, float] | None:
        """Motion with the largest error and its error; None if the errors are not stored."""
        return max(self.errors.items(), key=lambda each: each[1]) if self.errors else None


def identify_robot(
    session: Session,
    runs: RobotRuns,
    robot: Path,
    request: IdentificationRequest,
    folder: Path,
    on_progress: OnProgress = lambda done, text: None,
    should_stop: Callable[[], bool] = lambda: False,
    should_yield: Callable[[], bool] = lambda: False,
    share: bool = True,
) -> RobotIdentification:
    """Identify the servo of each joint, and write a folder for each joint, a copy of the robot's file, and ROBOT.

    The same motions are held out for all joints.

    With `share`, one model is first fitted to the motions of all joints, whose different loads determine more values
    than those of one. It is kept in the folder SHARED, and each joint then starts from it (partial pooling: the
    request's prior holds values that a joint does not determine at those of all). Only the joints' models are polished.

    Args:
        session: Session of the runs.
        runs: Runs of the joints with their loads.
        robot: URDF or MJCF file of the robot.
        request: Settings for each joint; `validation` divides the motions. Each joint has the hash of its own runs.
        folder: Folder to write to.
        on_progress: See `OnProgress`.
        should_stop: See `Stops`; the joints identified before a stop are kept.
        should_yield: See `Stops`.
        share: The joints have servos of one type.

    Raises:
        IdentificationError: The folder holds another identification, or no joint can be identified.
        StoppedEarly: It was stopped before the first joint.
        InputError: The robot's file cannot be copied.
    """
    from core.motion.simulation import sampling_step
    from core.robot.files import copy_robot
    from sessions.results.identifying import run_identification

    names = [SHARED, *runs.joints]
    if any((folder / name).exists() for name in (ROBOT, *map(joint_folder, names))):
        raise IdentificationError(f"{folder} already holds the identification of a robot; choose another folder")
    if request.substeps is None and request.integrator == "leapfrog":
        sampled = max(sampling_step(run) for run in next(iter(runs.joints.values())))
        request = replace(request, substeps=math.ceil((request.dt or sampled) / LONGEST_STEP - 0.1))
    if len({joint_folder(name) for name in names}) < len(names):
        raise IdentificationError(f"two of {', '.join(names)} would have folders of one name: rename a joint")
    parts = dict(runs.joints)
    if share and len(parts) > 1:
        parts = {SHARED: tuple(run for each in parts.values() for run in each), **parts}
    split = split_recordings(runs.motions, request.validation, request.seed)
    rule = f"motion={';'.join(dict.fromkeys(split.validation))}" if split.validation else "none"
    stops: Stops = {"should_stop": should_stop, "should_yield": should_yield}
    found: dict[str, Identification] = {}
    failed: dict[str, str] = {}
    total, done = sum(map(len, parts.values())), 0
    for joint, recordings in parts.items():
        watch = _watch(joint, done / total, len(recordings) / total, on_progress, stops)
        done += len(recordings)
        data_hash = session.data_hash([run.id for run in recordings])
        one = replace(request, validation=rule, data_hash=data_hash, polish=request.polish and joint != SHARED)
        own = folder / joint_folder(joint)
        try:
            kept = run_identification(recordings, one, own, watch)
        except ServoBenchError as error:
            failed[joint] = str(error)
            continue
        if kept.problem:
            raise InputError(kept.problem)
        found[joint] = kept.identification
        if kept.identification.stopped:
            if joint == SHARED:
                raise StoppedEarly("stopped before a joint was identified")
            break
        if joint == SHARED:
            request = replace(request, start=_start(found.pop(joint).recommended.model, request.servo))
    if not found:
        raise IdentificationError("; ".join(f"{joint}: {why}" for joint, why in failed.items()))
    errors = {joint: errors_by_motion(runs, joint, each.recommended.model) for joint, each in found.items()}
    left = tuple(joint for joint in runs.joints if joint not in {*found, *failed})
    kept = RobotIdentification(split=split, joints=found, errors=errors, failed=failed, not_reached=left)
    write_file(folder, ROBOT, _to_json(copy_robot(robot, folder).name, kept, runs))
    return kept


def _watch(joint: str, begin: float, share: float, on_progress: OnProgress, stops: Stops) -> Watch:
    """Return the callbacks of a joint's identification; begin, share: shares of the work before it and its own."""
    from sessions.results.identifying import Watch

    return Watch(
        progressed=lambda step: on_progress(
            begin + share * step.done,
            f"{joint}, {step.model.upper()}: {milliradians(step.generation.overall_best_value)} mrad",
        ),
        staged=lambda done, text: on_progress(begin + share * done, f"{joint}: {text}"),
        **stops,
    )


def shipped_start(servo: str) -> tuple[tuple[str, float], ...]:
    """Return the values of a servo's richest shipped model as a start of each joint; empty if it has none.

    The zero is left out, because it belongs to another mounting.
    """
    return _start(load_model(servo, RICHEST), servo) if RICHEST in shipped_models(servo) else ()


def _start(model: ServoModel, servo: str) -> tuple[tuple[str, float], ...]:
    values, _ = start_values(model, servo)
    return tuple({**values, "q_offset": 0.0}.items())


def errors_by_motion(runs: RobotRuns, joint: str, model: ServoModel, **options: Any) -> dict[str, float]:
    """Return the mean absolute error of a joint in each motion [rad]; options: as for `evaluate`."""
    from core.identification.evaluate import evaluate

    found = evaluate(model, runs.joints[joint], **options).runs
    return {motion.id: run.mae for motion, run in zip(runs.motions, found, strict=True)}


def whole_robot_errors(
    known: RobotModel,
    runs: RobotRuns,
    robot: str | Path,
    on_motion: Callable[[float, str], None] = lambda done, motion: None,
) -> dict[str, dict[str, float]]:
    """Return the error of each joint by motion [rad] if the whole robot is simulated in MuJoCo at once.

    The motions are the held-out ones, or all if none was held out.

    Args:
        known: Models of the joints.
        runs: Runs of the joints.
        robot: URDF or MJCF file.
        on_motion: Function of the share done and the next motion.
    """
    from core.robot.arm import simulate_robot
    from core.robot.chain import Chain

    servos = known.servos(runs.joints)
    there = {joint.name for joint in Chain(robot).joints}
    found: dict[str, dict[str, float]] = {joint: {} for joint in servos}
    motions = [each for each in runs.motions if each.id in known.held_out] or runs.motions
    for place, motion in enumerate(motions):
        on_motion(place / len(motions), motion.id)
        names = [joint for joint in motion.runs if joint in there]
        positions = motion.positions(names)
        own = {joint: replace(servo, settings=motion.runs[joint].settings) for joint, servo in servos.items()}
        moved = simulate_robot(robot, own, names, motion.time, motion.goals(names), positions)
        for joint in servos:
            column = names.index(joint)
            found[joint][motion.id] = float(np.abs(moved[:, column] - positions[:, column]).mean())
    return found


def joint_folder(joint: str) -> str:
    """Return the name of the folder of a joint."""
    return re.sub(r"[^\w.-]|^[.-]", "_", joint)


def _to_json(robot: str, found: RobotIdentification, runs: RobotRuns) -> dict[str, Any]:
    def row(joint: str, best: ModelResult) -> dict[str, Any]:
        first = runs.joints[joint][0]
        return {
            "model": f"{joint_folder(joint)}/{best.model.friction}.json",
            "train_mae": best.train_mae,
            "validation_mae": best.validation_mae,
            "errors": found.errors[joint],
            "settings": first.settings.to_json(),
            "bench": first.bench.to_json(),
        }

    return {
        "robot": robot,
        "training": list(found.split.train),
        "held_out": list(found.split.validation),
        "joints": {joint: row(joint, each.recommended) for joint, each in found.joints.items()},
        "failed": dict(found.failed),
    }


def read_robot(folder: Path) -> RobotModel:
    """Read the models of a robot that `identify_robot` wrote.

    Raises:
        IdentificationError: The folder holds none, or they are damaged.
    """
    try:
        data = read_file(folder, ROBOT)
        if not (is_object(data) and is_object(data["joints"]) and is_array(data["training"])):
            raise ValueError("it is no robot")
        return RobotModel(
            file=folder / str(data["robot"]),
            training=tuple(map(str, data["training"])),
            held_out=tuple(map(str, data["held_out"])),
            joints={joint: folder / str(row["model"]) for joint, row in data["joints"].items()},
            settings={joint: ServoSettings.from_json(row["settings"]) for joint, row in data["joints"].items()},
            benches={joint: Bench.from_json(row["bench"]) for joint, row in data["joints"].items()},
            errors={
                joint: {str(motion): float(error) for motion, error in row.get("errors", {}).items()}
                for joint, row in data["joints"].items()
            },
            failed={str(joint): str(reason) for joint, reason in data.get("failed", {}).items()},
        )
    except OSError as error:
        raise IdentificationError(f"{folder}: no identification of a robot ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IdentificationError(f"{folder / ROBOT}: cannot be read ({error})") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptRobot:
    """Stored result of `identify_robot`."""

    folder: Path
    known: RobotModel
    rows: tuple[JointRow, ...]
    models: tuple[ServoModel, ...]
    """Recommended model of each joint, whose provenance names the joint."""


def read_kept_robot(folder: Path) -> KeptRobot:
    """Read a result with the figures of each joint.

    Raises:
        IdentificationError: The folder holds none, or a joint's folder is gone or damaged.
    """
    known = read_robot(folder)
    found = {joint: load_identification(model.parent).recommended for joint, model in known.joints.items()}
    rows = (JointRow.of(joint, each, known.errors.get(joint, {})) for joint, each in found.items())
    models = ((joint, known.model(joint)) for joint in found)
    marked = (replace(model, provenance={**model.provenance, JOINT: joint}) for joint, model in models)
    return KeptRobot(folder=folder, known=known, rows=tuple(rows), models=tuple(marked))


def newest_robot(results: Path) -> KeptRobot | None:
    """Return the newest readable result of a robot in a session's folder for results, or None."""
    for folder in result_folders(results / FOLDER, ROBOT):
        try:
            return read_kept_robot(folder)
        except ServoBenchError:
            continue
    return None


def robot_file(session: Path) -> Path:
    """Return the robot's file of a session's newest result, else the one kept in its folder.

    Raises:
        InputError: There is neither.
    """
    for folder in result_folders(results_home(session) / FOLDER, ROBOT):
        with contextlib.suppress(IdentificationError):
            if (file := read_robot(folder).file).exists():
                return file
    if (file := kept_robot(session)) is not None:
        return file
    raise InputError(
        "the load on these joints is not known without the robot's file: identify the joints, or put the file into the "
        f"session's folder as {' or '.join(KEPT)}"
    )
