"""The module `controller` of a Webots Python program: `from controller import Robot, Servo`.

Names are those of the classes of that generation of Webots; each method is the function of `core.studies.webots.api` of
the same name. A program that `run_program` runs finds the functions there too.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from core.errors import InputError
from core.studies.webots import api
from core.studies.webots.robot import SimulatedRobot


class Servo:
    """A servo of the attached robot, by its name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tag = api.wb_robot_get_device(name)

    def getName(self) -> str:
        """The name it was asked for by."""
        return self._name

    def setPosition(self, position: float) -> None:
        """Target position; float("inf") for velocity control."""
        api.wb_servo_set_position(self._tag, position)

    def setVelocity(self, velocity: float) -> None:
        """Velocity to move at."""
        api.wb_servo_set_velocity(self._tag, velocity)

    def setAcceleration(self, acceleration: float) -> None:
        """Acceleration to change velocity with; −1 for no limit."""
        api.wb_servo_set_acceleration(self._tag, acceleration)

    def setMotorForce(self, force: float) -> None:
        """Force that is available to the motor."""
        api.wb_servo_set_motor_force(self._tag, force)

    def setControlP(self, p: float) -> None:
        """P of the P-controller [1/s]."""
        api.wb_servo_set_control_p(self._tag, p)

    def setForce(self, force: float) -> None:
        """Force control."""
        api.wb_servo_set_force(self._tag, force)

    def enablePosition(self, ms: int) -> None:
        """Measure the position every so many milliseconds."""
        api.wb_servo_enable_position(self._tag, ms)

    def disablePosition(self) -> None:
        """Measure the position no more."""
        api.wb_servo_disable_position(self._tag)

    def getPositionSamplingPeriod(self) -> int:
        """Of the position's measurement [ms], 0 while it is disabled."""
        return api.wb_servo_get_position_sampling_period(self._tag)

    def getPosition(self) -> float:
        """The most recent measurement; NaN where there is none."""
        return api.wb_servo_get_position(self._tag)

    def enableMotorForceFeedback(self, ms: int) -> None:
        """Measure the motor's force every so many milliseconds."""
        api.wb_servo_enable_motor_force_feedback(self._tag, ms)

    def disableMotorForceFeedback(self) -> None:
        """Measure the motor's force no more."""
        api.wb_servo_disable_motor_force_feedback(self._tag)

    def getMotorForceFeedbackSamplingPeriod(self) -> int:
        """Of the force's measurement [ms], 0 while it is disabled."""
        return api.wb_servo_get_motor_force_feedback_sampling_period(self._tag)

    def getMotorForceFeedback(self) -> float:
        """The most recent measurement of the motor's own force; NaN where there is none."""
        return api.wb_servo_get_motor_force_feedback(self._tag)


class Robot:
    """The attached robot; programs derive theirs from it or use it as it is."""

    def __init__(self) -> None:
        api.wb_robot_init()

    def step(self, ms: int) -> int:
        """Simulate so many milliseconds; −1 once the simulation is over, else 0."""
        return api.wb_robot_step(ms)

    def getServo(self, name: str) -> Servo:
        """The servo of a name."""
        return Servo(name)

    def getBasicTimeStep(self) -> float:
        """`basicTimeStep` of the world [ms]."""
        return api.wb_robot_get_basic_time_step()

    def getTime(self) -> float:
        """Simulated so far [s]."""
        return api.wb_robot_get_time()


MODULE = "controller"
"""What programs import."""


def controller_module() -> ModuleType:
    """The module that programs import: the classes and the functions."""
    module = ModuleType(MODULE, __doc__)
    vars(module).update({name: getattr(api, name) for name in api.__all__})
    vars(module).update(Robot=Robot, Servo=Servo)
    return module


def run_program(program: Path, robot: SimulatedRobot, arguments: Sequence[str] = ()) -> int:
    """Run a Python file, in its own folder, until it ends or goes on after the simulation's end; its exit code.

    It changes this process for good, its folder, its modules and its arguments, and may do whatever a program may:
    give it a process of its own. Whatever it raises passes through; raises InputError where there is no such file.
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
