"""Identification of a robot: a folder for each joint, as of a servo on the bench, and `robot.json` about all."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.base.errors import IdentificationError, InputError, ServoBenchError
from core.base.guards import is_array, is_object
from core.identification.identify import IdentificationRequest
from core.identification.result import Identification, ModelResult
from core.identification.runs.split import Split, split_recordings
from core.motion.simulation import sampling_step
from core.robot.arm import JointServo
from core.robot.files import copy_robot
from core.robot.runs import RobotRuns
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from sessions.results.folder import read_file, write_file
from sessions.results.identifying import Watch, run_identification
from sessions.store import Session

ROBOT = "robot.json"
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

    def model(self, joint: str) -> ServoModel:
        """Return the model of a joint; raises ServoBenchError if its file is gone or damaged."""
        return ServoModel.read(self.joints[joint])

    def servos(self, joints: Iterable[str]) -> dict[str, JointServo]:
        """Return the servos of joints; raises ServoBenchError if a model's file is gone or damaged."""
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
    failed: Mapping[str, str]
    """Reason for each joint that could not be identified."""


def identify_robot(
    session: Session,
    runs: RobotRuns,
    robot: Path,
    request: IdentificationRequest,
    folder: Path,
    watch: Callable[[str, float, float], Watch] = lambda joint, begin, share: Watch(),
) -> RobotIdentification:
    """Identify the servo of each joint, and write a folder for each joint, a copy of the robot's file, and ROBOT.

    The same motions are held out for all joints.

    Args:
        session: Session of the runs.
        runs: Runs of the joints with their loads.
        robot: URDF or MJCF file of the robot.
        request: Settings for each joint; `validation` divides the motions. Each joint has the hash of its own runs.
        folder: Folder to write to.
        watch: Function of the joint, the share done before it and its own share, that returns the callbacks.

    Raises:
        IdentificationError: The folder holds another identification, or no joint can be identified.
        InputError: The robot's file cannot be copied.
    """
    if (folder / ROBOT).exists():
        raise IdentificationError(f"{folder} already holds the identification of a robot; choose another folder")
    if request.substeps is None and request.integrator == "leapfrog":
        sampled = max(sampling_step(run) for run in next(iter(runs.joints.values())))
        request = replace(request, substeps=math.ceil((request.dt or sampled) / LONGEST_STEP - 0.1))
    if len({joint_folder(joint) for joint in runs.joints}) < len(runs.joints):
        raise IdentificationError(
            f"two of the joints {', '.join(runs.joints)} would have folders of one name: rename one"
        )
    split = split_recordings(runs.motions, request.validation, request.seed)
    rule = f"motion={';'.join(dict.fromkeys(split.validation))}" if split.validation else "none"
    found: dict[str, Identification] = {}
    failed: dict[str, str] = {}
    for place, (joint, recordings) in enumerate(runs.joints.items()):
        callbacks = watch(joint, place / len(runs.joints), 1.0 / len(runs.joints))
        data_hash = session.data_hash([run.id for run in recordings])
        one, own = replace(request, validation=rule, data_hash=data_hash), folder / joint_folder(joint)
        try:
            kept = run_identification(recordings, one, own, callbacks)
        except ServoBenchError as error:
            failed[joint] = str(error)
            continue
        if kept.problem:
            raise InputError(kept.problem)
        found[joint] = kept.identification
        if kept.identification.stopped:
            break
    if not found:
        raise IdentificationError("; ".join(f"{joint}: {why}" for joint, why in failed.items()))
    write_file(folder, ROBOT, _to_json(copy_robot(robot, folder).name, split, found, runs))
    return RobotIdentification(split=split, joints=found, failed=failed)


def joint_folder(joint: str) -> str:
    """Return the name of the folder of a joint."""
    return re.sub(r"[^\w.-]|^[.-]", "_", joint)


def _to_json(robot: str, split: Split, found: Mapping[str, Identification], runs: RobotRuns) -> dict[str, Any]:
    def row(joint: str, best: ModelResult) -> dict[str, Any]:
        first = runs.joints[joint][0]
        return {
            "model": f"{joint_folder(joint)}/{best.model.friction}.json",
            "train_mae": best.train_mae,
            "validation_mae": best.validation_mae,
            "settings": first.settings.to_json(),
            "bench": first.bench.to_json(),
        }

    return {
        "robot": robot,
        "training": list(split.train),
        "held_out": list(split.validation),
        "joints": {joint: row(joint, each.recommended) for joint, each in found.items()},
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
        )
    except OSError as error:
        raise IdentificationError(f"{folder}: no identification of a robot ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise IdentificationError(f"{folder / ROBOT}: cannot be read ({error})") from None
