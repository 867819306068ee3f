"""Module `controller` of a Webots Python program: `from controller import Robot, Servo`.

Names are those of that generation of Webots. Each method calls the function of `core.studies.webots.api` with the same
name. Programs run by `run_program` also find the functions in this module.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from core.base.errors import InputError
from core.studies.webots import api
from core.studies.webots.robot import SimulatedRobot


class Servo:
    """Servo of the attached robot, by its name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tag = api.wb_robot_get_device(name)

    def getName(self) -> str:
        """Return the name given to the constructor."""
        return self._name

    def setPosition(self, position: float) -> None:
        """Set the target position; float("inf") for velocity control."""
        api.wb_servo_set_position(self._tag, position)

    def setVelocity(self, velocity: float) -> None:
        """Set the velocity."""
        api.wb_servo_set_velocity(self._tag, velocity)

    def setAcceleration(self, acceleration: float) -> None:
        """Set the acceleration limit; −1 for none."""
        api.wb_servo_set_acceleration(self._tag, acceleration)

    def setMotorForce(self, force: float) -> None:
        """Set the force available to the motor."""
        api.wb_servo_set_motor_force(self._tag, force)

    def setControlP(self, p: float) -> None:
        """Set P of the P-controller [1/s]."""
        api.wb_servo_set_control_p(self._tag, p)

    def setForce(self, force: float) -> None:
        """Apply a force to the joint (force control)."""
        api.wb_servo_set_force(self._tag, force)

    def enablePosition(self, ms: int) -> None:
        """Measure the position every `ms` milliseconds."""
        api.wb_servo_enable_position(self._tag, ms)

    def disablePosition(self) -> None:
        """Stop measuring the position."""
        api.wb_servo_disable_position(self._tag)

    def getPositionSamplingPeriod(self) -> int:
        """Return the sampling period of the position [ms], 0 while disabled."""
        return api.wb_servo_get_position_sampling_period(self._tag)

    def getPosition(self) -> float:
        """Return the latest measured position; NaN if there is none."""
        return api.wb_servo_get_position(self._tag)

    def enableMotorForceFeedback(self, ms: int) -> None:
        """Measure the motor's force every `ms` milliseconds."""
        api.wb_servo_enable_motor_force_feedback(self._tag, ms)

    def disableMotorForceFeedback(self) -> None:
        """Stop measuring the motor's force."""
        api.wb_servo_disable_motor_force_feedback(self._tag)

    def getMotorForceFeedbackSamplingPeriod(self) -> int:
        """Return the sampling period of the force [ms], 0 while disabled."""
        return api.wb_servo_get_motor_force_feedback_sampling_period(self._tag)

    def getMotorForceFeedback(self) -> float:
        """Return the latest measured force of the motor itself; NaN if there is none."""
        return api.wb_servo_get_motor_force_feedback(self._tag)


class Robot:
    """The attached robot; programs use it directly or derive from it."""

    def __init__(self) -> None:
        api.wb_robot_init()

    def step(self, ms: int) -> int:
        """Simulate `ms` milliseconds; return −1 once the simulation is over, otherwise 0."""
        return api.wb_robot_step(ms)

    def getServo(self, name: str) -> Servo:
        """Return a servo by its name."""
        return Servo(name)

    def getBasicTimeStep(self) -> float:
        """Return the world's `basicTimeStep` [ms]."""
        return api.wb_robot_get_basic_time_step()

    def getTime(self) -> float:
        """Return the simulated time [s]."""
        return api.wb_robot_get_time()


MODULE = "controller"
"""Name of the module that programs import."""


def controller_module() -> ModuleType:
    """Return the module that programs import, with classes and functions."""
    module = ModuleType(MODULE, __doc__)
    vars(module).update({name: getattr(api, name) for name in api.__all__})
    vars(module).update(Robot=Robot, Servo=Servo)
    return module


def run_program(program: Path, robot: SimulatedRobot, arguments: Sequence[str] = ()) -> int:
    """Run a Python program in its own folder until it ends, or steps beyond the end of the simulation.

    It changes the folder, modules and arguments of this process for good, and may do whatever a program may: run it in
    a process of its own. Exceptions of the program pass through.

    Args:
        program: Path of the program.
        robot: Robot for the program.
        arguments: Arguments of the program.

    Returns:
        Exit code of the program.

    Raises:
        InputError: The file does not exist.
    """
    path = program.resolve()
    if not path.is_file():
        raise InputError(f"{program}: there is no such controller program")
    api.attach(robot)
    sys.modules[MODULE] = controller_module()
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent))
    os.chdir(path.parent)
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0
