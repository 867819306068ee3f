"""An arm of two servos, simulated in MuJoCo: the engine finds the motion, the servos' own program everything else.

Either joint may be any servo with any friction model and command path; both laws mix. What an engine's step does to a
servo is described in `core/export/standalone/servobench_mujoco.py`; this is the same program, run here. An angle
offset that a model was identified with belongs to its test bench, not to the arm, and plays no part; inertias of the
motors are those of the models, not those that come with the links.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.arrays import Array
from core.errors import ExportError, InputError
from core.export.programs import mujoco_engine, program
from core.export.servo_file import servo_numbers
from core.model import ServoModel
from core.recording import ServoSettings
from core.studies.arm.links import ArmLinks
from core.studies.arm.scene import JOINTS, arm_scene

TIMESTEP = 1e-3
"""Of the engine, where nobody asks for another [s]."""
COMMAND_STEP = 5e-3
"""Between commands, as in recordings of servos [s]."""


@dataclass(frozen=True, kw_only=True)
class ArmServo:
    """The servo of a joint: its model and what is written into it."""

    model: ServoModel
    settings: ServoSettings


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmMotion:
    """A simulated arm; row k is the state at command k, columns are shoulder and elbow."""

    time: Array
    """(n,) s"""
    goal: Array
    """(n, 2) rad"""
    position: Array
    """(n, 2) rad"""
    velocity: Array
    """(n, 2) rad/s"""
    motor_torque: Array
    """(n, 2) N·m, during the last step before the command"""


def simulate_arm(
    links: ArmLinks,
    servos: Sequence[ArmServo],
    goals: ArrayLike,
    command_step: float = COMMAND_STEP,
    timestep: float = TIMESTEP,
    start: ArrayLike | None = None,
) -> ArmMotion:
    """Move an arm from rest at `start` (2,) rad, by default the first goal, along goals (n, 2) rad.

    Each goal is commanded for command_step [s], a multiple of timestep [s]. Raises InputError for goals or times that
    are not possible, ExportError when MuJoCo is missing or the simulation leaves the numbers.
    """
    wanted = np.asarray(goals, dtype=np.float64)
    if wanted.ndim != 2 or wanted.shape[1] != len(JOINTS) or len(wanted) == 0 or not np.all(np.isfinite(wanted)):
        raise InputError(f"goals of an arm of shape {wanted.shape}: give finite numbers (n, 2), one column a joint")
    if len(servos) != len(JOINTS):
        raise InputError(f"{len(servos)} servos for an arm: give two, shoulder and elbow")
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
        raise ExportError(f"the arm with {titles} cannot be simulated at {timestep} s; take a shorter time step")
    return ArmMotion(
        time=command_step * np.arange(len(wanted), dtype=np.float64),
        goal=wanted,
        position=states[0],
        velocity=states[1],
        motor_torque=states[2],
    )


def _steps(command_step: float, timestep: float) -> int:
    """Time steps of a command."""
    if not (0.0 < timestep < math.inf and timestep <= command_step < math.inf):
        raise InputError(f"commands every {command_step} s in time steps of {timestep} s: not possible")
    steps = round(command_step / timestep)
    if abs(steps * timestep - command_step) > 1e-9 * command_step:
        raise InputError(f"commands every {command_step} s: not a multiple of the time step of {timestep} s")
    return steps
