"""Simulation of a whole robot in MuJoCo with identified servos on its joints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import ExportError
from core.export.programs import mujoco_engine, program
from core.export.servo_file import servo_text
from core.robot.chain import derivatives, read_robot
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

STEP = 0.0025
"""Time step of the simulation [s]."""
CARRIED = 1e6
"""Armature of a joint that moves as measured, next to which no torque counts [kg·m²]."""


@dataclass(frozen=True, kw_only=True)
class JointServo:
    """A servo on a joint."""

    model: ServoModel
    settings: ServoSettings
    bench: Bench | None = None
    """Pendulum as heavy as the joint's load; None for one that suits the servo."""

    @property
    def text(self) -> str:
        """Content of its servo file."""
        return servo_text(self.model, self.settings, backlash=True)


def robot_text(file: Path | str, servos: Mapping[str, JointServo], timestep: float = STEP) -> str:
    """Return the robot as MJCF with one motor on each of these joints, for the servos to drive.

    What the file says of their armature, damping, friction, torque limits and actuators gives way to the servos.

    Args:
        file: URDF or MJCF file.
        servos: Servos by name of the joint.
        timestep: Time step [s].

    Raises:
        InputError: The file cannot be read.
        ExportError: The robot has no such joint, or MuJoCo is not installed.
    """
    mujoco, spec = mujoco_engine(), read_robot(file)
    for actuator in list(spec.actuators):
        if actuator.target in servos:
            spec.delete(actuator)
    for name, servo in servos.items():
        joint = spec.joint(name)
        if joint is None:
            raise ExportError(f"{file}: no joint {name!r}")
        joint.armature, joint.frictionloss = servo.model.values["armature"], 0.0
        joint.damping = np.zeros_like(joint.damping)
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
        if servo.model.values.get("backlash"):
            joint.parent.add_joint(name=f"{name}_backlash", type=joint.type, axis=joint.axis, pos=joint.pos)
        motor = spec.add_actuator(name=name, trntype=mujoco.mjtTrn.mjTRN_JOINT, target=name)
        motor.set_to_motor()
    spec.option.timestep = timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.compile()
    return str(spec.to_xml())


def simulate_robot(
    file: Path | str,
    servos: Mapping[str, JointServo],
    names: Sequence[str],
    time: Array,
    goals: Array,
    positions: Array,
    timestep: float = STEP,
) -> Array:
    """Return how the whole robot moves by its goals, (n, joints) [rad], from where it stood first.

    Joints without a servo move as measured. Nothing collides, and joints have no end stops.

    Args:
        file: URDF or MJCF file.
        servos: Servos by name of the joint.
        names: Joints of the columns.
        time: Times [s], (n,).
        goals: Goals [rad], (n, joints), held from their time on.
        positions: Measured angles [rad], (n, joints).
        timestep: Time step [s].

    Raises:
        InputError: The file cannot be read.
        ExportError: The robot has no such joint, or MuJoCo is not installed.
    """
    mujoco = mujoco_engine()
    model = mujoco.MjModel.from_xml_string(robot_text(file, servos, timestep))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    driven = [names.index(name) for name in servos]
    carried = [k for k, name in enumerate(names) if name not in servos]
    hooks: Any = program("servobench_mujoco").attach(model, data, {n: json.loads(s.text) for n, s in servos.items()})
    addresses = [int(model.joint(name).qposadr[0]) for name in names]
    dofs = [int(model.joint(names[k]).dofadr[0]) for k in carried]
    model.dof_armature[dofs] = CARRIED
    rows = time[0] + timestep * np.arange(int((time[-1] - time[0]) / timestep) + 2)
    held = goals[np.clip(np.searchsorted(time, rows + 1e-9, side="right") - 1, 0, None)][:, driven]
    moved, speeds, accelerations = (
        np.column_stack([np.interp(rows, time, column) for column in each[:, carried].T]) if carried else each[:0]
        for each in (positions, *derivatives(time, positions))
    )
    zero = np.zeros(len(names))
    zero[driven] = hooks.joint_zero
    data.qpos[addresses] = positions[0] + zero
    hooks.reset()
    found = np.empty((len(rows), len(names)))
    places = [addresses[k] for k in carried]
    for k in range(len(rows)):
        if carried:
            data.qpos[places], data.qvel[dofs] = moved[k], speeds[k]
            data.qfrc_applied[dofs] = CARRIED * accelerations[k]
        found[k] = data.qpos[addresses]
        hooks.step(held[k])
    return np.column_stack([np.interp(time, rows, column) for column in found.T]) - zero
