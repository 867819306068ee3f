"""Simulate an arm of two servos in MuJoCo: the engine computes the motion, the stand-alone program the servos.

Each joint may have any servo with any friction model and command path, and laws can be mixed. The effect of an engine's
time step on a servo is described in `core/export/standalone/servobench_mujoco.py`, the program used here. A model's
angle offset belongs to its test bench, not to the arm, and is ignored. Motor inertias are those of the models, not
those of the links.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import ExportError, InputError
from core.export.programs import mujoco_engine, program
from core.export.servo_file import servo_numbers
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.studies.arm.links import ArmLinks
from core.studies.arm.scene import JOINTS, arm_scene

TIMESTEP = 1e-3
"""Default time step of the engine [s]."""
COMMAND_STEP = 5e-3
"""Interval between commands, as in recordings of servos [s]."""


@dataclass(frozen=True, kw_only=True)
class ArmServo:
    """Servo of a joint: its model and the settings written into it."""

    model: ServoModel
    settings: ServoSettings


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmMotion:
    """Motion of a simulated arm; row k is the state at command k, columns are shoulder and elbow."""

    time: Array
    """Time [s], shape (n,)."""
    goal: Array
    """Goals [rad], shape (n, 2)."""
    position: Array
    """Positions [rad], shape (n, 2)."""
    velocity: Array
    """Velocities [rad/s], shape (n, 2)."""
    motor_torque: Array
    """Motor torques in the last step before the command [N·m], shape (n, 2)."""


def simulate_arm(
    links: ArmLinks,
    servos: Sequence[ArmServo],
    goals: ArrayLike,
    command_step: float = COMMAND_STEP,
    timestep: float = TIMESTEP,
    start: ArrayLike | None = None,
) -> ArmMotion:
    """Move an arm from rest along goals.

    Args:
        links: Links of the arm.
        servos: Servos of shoulder and elbow.
        goals: Goals [rad], shape (n, 2).
        command_step: Duration of each goal, a multiple of `timestep` [s].
        timestep: Time step [s].
        start: Start angles [rad], shape (2,). None: the first goal.

    Raises:
        InputError: Impossible goals or times.
        ExportError: MuJoCo is missing, or the simulation becomes unstable.
    """
    wanted = np.asarray(goals, dtype=np.float64)
    if wanted.ndim != 2 or wanted.shape[1] != len(JOINTS) or len(wanted) == 0 or not np.all(np.isfinite(wanted)):
        raise InputError(f"goals of an arm of shape {wanted.shape}: give finite numbers (n, 2), one column per joint")
    if len(servos) != len(JOINTS):
        raise InputError(f"{len(servos)} servos for an arm: give two, shoulder and elbow")
    for servo in servos:
        servo.model.require_goal_angles("an arm")
    steps = _steps(command_step, timestep)
    mujoco = mujoco_engine()
    engine = mujoco.MjModel.from_xml_string(arm_scene(links, timestep))
    data = mujoco.MjData(engine)
    data.qpos[:] = wanted[0] if start is None else start
    files = {name: servo_numbers(s.model, s.settings) for name, s in zip(JOINTS, servos, strict=True)}
    bank = program("servobench_mujoco").attach(engine, data, files)
    states = np.empty((3, *wanted.shape))
    for k, goal in enumerate(wanted):
        states[0, k], states[1, k], states[2, k] = data.qpos, data.qvel, bank.motor_torque
        bank.step(goal, steps=steps)
    if not np.all(np.isfinite(states)) or data.warning.number.any():
        titles = ", ".join(servo.model.title for servo in servos)
        raise ExportError(f"the arm with {titles} cannot be simulated at {timestep} s; use a shorter time step")
    return ArmMotion(
        time=command_step * np.arange(len(wanted), dtype=np.float64),
        goal=wanted,
        position=states[0],
        velocity=states[1],
        motor_torque=states[2],
    )


def _steps(command_step: float, timestep: float) -> int:
    """Return the number of time steps of a command."""
    if not (0.0 < timestep < math.inf and timestep <= command_step < math.inf):
        raise InputError(f"commands every {command_step} s in time steps of {timestep} s: not possible")
    steps = round(command_step / timestep)
    if abs(steps * timestep - command_step) > 1e-9 * command_step:
        raise InputError(f"commands every {command_step} s: not a multiple of the time step of {timestep} s")
    return steps
