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
from core.robot.couplings import followers
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

    What the file says of their armature, damping, friction, springs, torque limits and actuators gives way to the
    servos.

    Args:
        file: URDF or MJCF file.
        servos: Servos by name of the joint.
        timestep: Time step [s].

    Raises:
        InputError: The file cannot be read.
        ExportError: The robot has no such joint, or MuJoCo is not installed.
    """
    mujoco, spec = mujoco_engine(), read_robot(file)
    for name, servo in servos.items():
        joint = spec.joint(name)
        if joint is None:
            raise ExportError(f"{file}: no joint {name!r}")
        joint.armature, joint.frictionloss = servo.model.values["armature"], 0.0
        joint.damping, joint.stiffness = np.zeros_like(joint.damping), np.zeros_like(joint.stiffness)
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
        if servo.model.values.get("backlash"):
            if spec.joint(f"{name}_backlash") is not None:
                raise ExportError(f"{file} has a joint {name}_backlash, the name of the backlash of {name}: rename it")
            joint.parent.add_joint(name=f"{name}_backlash", type=joint.type, axis=joint.axis, pos=joint.pos)
        # The file's own actuator stays the one that its sensors name.
        motor, *others = [each for each in spec.actuators if each.target == name] or [spec.add_actuator(name=name)]
        for each in others:
            spec.delete(each)
        motor.trntype, motor.target = mujoco.mjtTrn.mjTRN_JOINT, name
        motor.set_to_motor()
        motor.ctrllimited = motor.forcelimited = mujoco.mjtLimited.mjLIMITED_FALSE
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

    Joints without a servo move as measured. Those that were not measured move with a measured joint to which they are
    coupled, without effect on it, or rest at the file's zero. Nothing collides, and joints have no end stops.

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
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_EQUALITY
    model.jnt_limited[:] = 0  # but for backlash, which is limited below
    data = mujoco.MjData(model)
    hooks: Any = program("servobench_mujoco").attach(model, data, {n: json.loads(s.text) for n, s in servos.items()})
    own = [model.joint(name).id for name in names]
    plays = {model.joint(f"{name}_backlash").id for name, servo in servos.items() if servo.model.values.get("backlash")}
    coupled = followers(model, names)
    others = [joint for joint in range(model.njnt) if joint not in {*own, *plays, *coupled.joints}]
    rest = [*others, *coupled.joints]
    driven = [names.index(name) for name in servos]
    carried = [k for k in range(len(own) + len(rest)) if k not in driven]
    addresses, dofs = model.jnt_qposadr[[*own, *rest]], model.jnt_dofadr[[*own, *rest]]
    model.dof_armature[dofs[carried]] = CARRIED
    resting = np.tile(model.qpos0[model.jnt_qposadr[rest]], (len(time), 1))
    resting[:, len(others) :] = coupled.zeros + positions @ coupled.ratios.T
    measured = np.column_stack([positions, resting])
    rows = time[0] + timestep * np.arange(int((time[-1] - time[0]) / timestep) + 2)
    held = goals[np.clip(np.searchsorted(time, rows + 1e-9, side="right") - 1, 0, None)][:, driven]
    moved, speeds, accelerations = (
        np.array([np.interp(rows, time, column) for column in each[:, carried].T]).T.reshape(len(rows), -1)
        for each in (measured, *derivatives(time, measured))
    )
    zero = np.zeros(len(names))
    zero[driven] = hooks.joint_zero
    data.qpos[addresses] = measured[0]
    data.qpos[addresses[: len(names)]] += zero
    hooks.reset()
    found = np.empty((len(rows), len(names)))
    for k in range(len(rows)):
        data.qpos[addresses[carried]], data.qvel[dofs[carried]] = moved[k], speeds[k]
        data.qfrc_applied[dofs[carried]] = CARRIED * accelerations[k]
        found[k] = data.qpos[addresses[: len(names)]]
        hooks.step(held[k])
    return np.column_stack([np.interp(time, rows, column) for column in found.T]) - zero
