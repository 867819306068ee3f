"""Functions of a Webots controller, with their names of seed 002, section 3.42.13, over simulated servos.

As in C there is one robot a program: `attach` says which, or `wb_robot_init` makes one of a single default servo on
the bench's pendulum. What each function does to a servo is in `core.studies.webots.servo`.
"""

from __future__ import annotations

from contextvars import ContextVar

from core.errors import InputError
from core.studies.webots.fields import ServoFields
from core.studies.webots.robot import SimulatedRobot, bench_robot
from core.studies.webots.servo import ServoDevice

INFINITY = inf = float("inf")
"""A target position for velocity control (3.42.6)."""

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
    """Let the functions below speak to this robot."""
    _ROBOT.set(robot)


def attached() -> SimulatedRobot:
    """The robot that a controller speaks to; raises InputError before `wb_robot_init` and after `wb_robot_cleanup`."""
    robot = _ROBOT.get()
    if robot is None:
        raise InputError("there is no robot; call wb_robot_init() first")
    return robot


def wb_robot_init() -> int:
    """Begin; a program that was given no robot gets one of a default servo on 0.5 kg at 0.15 m."""
    if _ROBOT.get() is None:
        attach(bench_robot(ServoFields()))
    return 0


def wb_robot_cleanup() -> None:
    """End; the robot is let go."""
    _ROBOT.set(None)


def wb_robot_step(ms: int) -> int:
    """Simulate so many milliseconds; −1 once the simulation is over, else 0."""
    return attached().step(ms)


def wb_robot_get_basic_time_step() -> float:
    """`basicTimeStep` of the world [ms]."""
    return float(attached().basic_time_step)


def wb_robot_get_time() -> float:
    """Simulated so far [s]."""
    return attached().time


def wb_robot_get_device(name: str) -> int:
    """Tag of the servo of a name; raises InputError for an unknown one."""
    robot = attached()
    return robot.servos.index(robot.device(name)) + 1


def _servo(tag: int) -> ServoDevice:
    servos = attached().servos
    if not 1 <= tag <= len(servos):
        raise InputError(f"there is no device with the tag {tag!r}; wb_robot_get_device gives tags")
    return servos[tag - 1]


def wb_servo_set_position(tag: int, position: float) -> None:
    """Target position, clipped to the soft limits; INFINITY for velocity control. Ends force control."""
    _servo(tag).set_position(position)


def wb_servo_set_velocity(tag: int, velocity: float) -> None:
    """Velocity to move at, within ±maxVelocity; in velocity control its sign is the direction."""
    _servo(tag).set_velocity(velocity)


def wb_servo_set_acceleration(tag: int, acceleration: float) -> None:
    """Acceleration to change velocity with; −1 for no limit."""
    _servo(tag).set_acceleration(acceleration)


def wb_servo_set_motor_force(tag: int, force: float) -> None:
    """Force that is available to the motor, at most maxForce."""
    _servo(tag).set_motor_force(force)


def wb_servo_set_control_p(tag: int, p: float) -> None:
    """P of the P-controller [1/s]."""
    _servo(tag).set_control_p(p)


def wb_servo_set_force(tag: int, force: float) -> None:
    """Force control: this force on the joint, at most the current motor force, until the next target position."""
    _servo(tag).set_force(force)


def wb_servo_enable_position(tag: int, ms: int) -> None:
    """Measure the position every so many milliseconds."""
    servo = _servo(tag)
    servo.position_sampling.enable(ms, servo.time)


def wb_servo_disable_position(tag: int) -> None:
    """Measure the position no more."""
    _servo(tag).position_sampling.disable()


def wb_servo_get_position_sampling_period(tag: int) -> int:
    """Period of the position's measurement [ms], 0 while it is disabled."""
    return _servo(tag).position_sampling.period


def wb_servo_get_position(tag: int) -> float:
    """The most recent measurement [rad or m]; NaN, which is undefined, where there is none."""
    return _servo(tag).position_sampling.value


def wb_servo_enable_motor_force_feedback(tag: int, ms: int) -> None:
    """Measure the motor's force every so many milliseconds."""
    servo = _servo(tag)
    servo.force_sampling.enable(ms, servo.time)


def wb_servo_disable_motor_force_feedback(tag: int) -> None:
    """Measure the motor's force no more."""
    _servo(tag).force_sampling.disable()


def wb_servo_get_motor_force_feedback_sampling_period(tag: int) -> int:
    """Period of the force's measurement [ms], 0 while it is disabled."""
    return _servo(tag).force_sampling.period


def wb_servo_get_motor_force_feedback(tag: int) -> float:
    """The most recent measurement of the motor's own force [N·m or N]; NaN, undefined, where there is none."""
    return _servo(tag).force_sampling.value
