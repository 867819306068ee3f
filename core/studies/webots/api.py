"""Functions of a Webots controller, named as in section 3.42.13 of the manual, for simulated servos.

As in C there is one robot per program: `attach` selects it, or `wb_robot_init` creates one with a single default servo
on the bench's pendulum. The effect of each function on a servo is described in `core.studies.webots.servo`.
"""

from __future__ import annotations

from contextvars import ContextVar

from core.base.errors import InputError
from core.studies.webots.fields import ServoFields
from core.studies.webots.robot import SimulatedRobot, bench_robot
from core.studies.webots.servo import ServoDevice

INFINITY = inf = float("inf")
"""Target position for velocity control (3.42.6)."""

__all__ = [
    "INFINITY",
    "inf",
    "wb_robot_cleanup",
    "wb_robot_get_basic_time_step",
    "wb_robot_get_device",
    "wb_robot_get_time",
    "wb_robot_init",
    "wb_robot_step",
    "wb_servo_disable_motor_force_feedback",
    "wb_servo_disable_position",
    "wb_servo_enable_motor_force_feedback",
    "wb_servo_enable_position",
    "wb_servo_get_motor_force_feedback",
    "wb_servo_get_motor_force_feedback_sampling_period",
    "wb_servo_get_position",
    "wb_servo_get_position_sampling_period",
    "wb_servo_set_acceleration",
    "wb_servo_set_control_p",
    "wb_servo_set_force",
    "wb_servo_set_motor_force",
    "wb_servo_set_position",
    "wb_servo_set_velocity",
]

_ROBOT: ContextVar[SimulatedRobot | None] = ContextVar("robot", default=None)


def attach(robot: SimulatedRobot) -> None:
    """Select the robot for the functions below."""
    _ROBOT.set(robot)


def attached() -> SimulatedRobot:
    """Return the selected robot; raise InputError before `wb_robot_init` and after `wb_robot_cleanup`."""
    robot = _ROBOT.get()
    if robot is None:
        raise InputError("there is no robot; call wb_robot_init() first")
    return robot


def wb_robot_init() -> int:
    """Initialise; without a selected robot, create one with a default servo on 0.5 kg at 0.15 m."""
    if _ROBOT.get() is None:
        attach(bench_robot(ServoFields()))
    return 0


def wb_robot_cleanup() -> None:
    """End the program and release the robot."""
    _ROBOT.set(None)


def wb_robot_step(ms: int) -> int:
    """Simulate `ms` milliseconds; return −1 once the simulation is over, otherwise 0."""
    return attached().step(ms)


def wb_robot_get_basic_time_step() -> float:
    """Return the world's `basicTimeStep` [ms]."""
    return float(attached().basic_time_step)


def wb_robot_get_time() -> float:
    """Return the simulated time [s]."""
    return attached().time


def wb_robot_get_device(name: str) -> int:
    """Return the tag of a servo by its name; raise InputError if unknown."""
    robot = attached()
    return robot.servos.index(robot.device(name)) + 1


def _servo(tag: int) -> ServoDevice:
    servos = attached().servos
    if not 1 <= tag <= len(servos):
        raise InputError(f"there is no device with the tag {tag!r}; get tags from wb_robot_get_device")
    return servos[tag - 1]


def wb_servo_set_position(tag: int, position: float) -> None:
    """Set the target position, clipped to the soft limits; INFINITY for velocity control. Ends force control."""
    _servo(tag).set_position(position)


def wb_servo_set_velocity(tag: int, velocity: float) -> None:
    """Set the velocity, within ±maxVelocity; in velocity control its sign is the direction."""
    _servo(tag).set_velocity(velocity)


def wb_servo_set_acceleration(tag: int, acceleration: float) -> None:
    """Set the acceleration limit; −1 for none."""
    _servo(tag).set_acceleration(acceleration)


def wb_servo_set_motor_force(tag: int, force: float) -> None:
    """Set the force available to the motor, at most maxForce."""
    _servo(tag).set_motor_force(force)


def wb_servo_set_control_p(tag: int, p: float) -> None:
    """Set P of the P-controller [1/s]."""
    _servo(tag).set_control_p(p)


def wb_servo_set_force(tag: int, force: float) -> None:
    """Apply a force to the joint, at most the current motor force, until the next target position."""
    _servo(tag).set_force(force)


def wb_servo_enable_position(tag: int, ms: int) -> None:
    """Measure the position every `ms` milliseconds."""
    servo = _servo(tag)
    servo.position_sampling.enable(ms, servo.time)


def wb_servo_disable_position(tag: int) -> None:
    """Stop measuring the position."""
    _servo(tag).position_sampling.disable()


def wb_servo_get_position_sampling_period(tag: int) -> int:
    """Return the sampling period of the position [ms], 0 while disabled."""
    return _servo(tag).position_sampling.period


def wb_servo_get_position(tag: int) -> float:
    """Return the latest measured position [rad or m]; NaN if there is none."""
    return _servo(tag).position_sampling.value


def wb_servo_enable_motor_force_feedback(tag: int, ms: int) -> None:
    """Measure the motor's force every `ms` milliseconds."""
    servo = _servo(tag)
    servo.force_sampling.enable(ms, servo.time)


def wb_servo_disable_motor_force_feedback(tag: int) -> None:
    """Stop measuring the motor's force."""
    _servo(tag).force_sampling.disable()


def wb_servo_get_motor_force_feedback_sampling_period(tag: int) -> int:
    """Return the sampling period of the force [ms], 0 while disabled."""
    return _servo(tag).force_sampling.period


def wb_servo_get_motor_force_feedback(tag: int) -> float:
    """Return the latest measured force of the motor itself [N·m or N]; NaN if there is none."""
    return _servo(tag).force_sampling.value
