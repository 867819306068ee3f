# SPDX-License-Identifier: Apache-2.0
"""Servos with friction M1–M6 on the joints of a Webots robot, in torque mode.

    from controller import Robot
    from servobench_webots import attach

    robot = Robot()
    servos = attach(robot, {"elbow": "mx64-m6.servo.json"}, inertias={"elbow": 0.012})
    while servos.step([0.5]):  # goals in rad
        pass

Webots' own position control moves a joint at a set velocity with all available torque, and ignores the joint's friction
while it does. This program instead sets each motor to the torque that the servo applies to the load: motor plus
friction. Run as a program, it swings the exported pendulum: `servobench_webots.py NAME.servo.json INERTIA`.

Webots reports only positions and accepts only torques. The velocity is the difference of two positions, which is exact
for its integrator. The load is the torque of the last step's acceleration beyond the applied torque; this needs the
inertia that the joint turns, rotor included. The engine updates positions with the new velocity, so its velocities lag
half a step behind its positions. As in `servobench_mujoco`, commands act half a step later, budgets use the velocity
half a step later, and half of the velocity-dependent torque is taken at the end of the step.

Needs numpy; compiles its functions with numba if that is installed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from servobench_servo import (
    DELAY,
    KV_FRICTION,
    RELEASE_DELAY,
    SOURCE,
    Bank,
    compiled,
    drive,
    late,
    remembered,
    static_friction,
)

STAGGERED = 0.5
"""Lag of velocities behind positions [steps]."""
POSITION, VELOCITY, RATE, TORQUE, EXTERNAL, MOTOR, KNOWN = range(7)


class JointServo:
    """One servo, independent of Webots: positions in, torques out, once per step."""

    def __init__(self, servo: str | Path | Mapping[str, Any], step: float, inertia: float) -> None:
        """Load a servo.

        Args:
            servo: Servo file, or its content.
            step: Time step [s].
            inertia: Total inertia about the joint's axis, with the servo's armature [kg·m²].

        Raises:
            ValueError: The file is not a servo file, or a number is impossible.
        """
        if not (math.isfinite(step) and step > 0.0 and math.isfinite(inertia) and inertia > 0.0):
            raise ValueError(f"a servo with a step of {step} s that turns {inertia} kg·m² is not possible")
        self.bank = Bank([servo], step, STAGGERED)
        self.inertia = inertia
        """Total inertia [kg·m²]; may change at any time, e.g. with the pose of the arm."""
        self.limit = math.inf
        """Largest torque that the engine applies [N·m]."""
        self._values = np.zeros(7)

    @property
    def motor_torque(self) -> float:
        """Motor torque during the last step [N·m]."""
        return float(self._values[MOTOR])

    @property
    def external_torque(self) -> float:
        """Load used for the friction of the last step [N·m]."""
        return float(self._values[EXTERNAL])

    def reset(self) -> None:
        """Reset the state: the joint is at rest at the next position."""
        self._values[:] = 0.0
        self.bank.fresh = True

    def torque(self, position: float, goal: float, enable: float = 1.0) -> float:
        """Return the torque for the next step [N·m], from position and goal [rad]; `enable` 1 drives, 0 releases."""
        bank, values = self.bank, self._values
        if not values[KNOWN]:
            bank.reset(np.array([position]))
            values[POSITION] = position
        bank.command(goal, enable)
        _update(
            bank.rows[0], bank.states[0], bank.past[0], bank.head, bank.lead, bank.step, self.inertia, self.limit,
            position, values,
        )  # fmt: skip
        return float(values[TORQUE])


def _make_update(source: int) -> Any:
    def update(p, state, past, head, lead, step, inertia, limit, position, own):
        if source == 0:  # never; naming it here makes it part of the compiled function's cache key
            return
        velocity = (position - own[POSITION]) / step
        rate = velocity - own[VELOCITY]
        external = inertia / step * rate - own[TORQUE] if own[KNOWN] > 0.0 else 0.0
        goal = late(past[0], head, p[DELAY] / step + lead)
        enable = late(past[1], head, p[RELEASE_DELAY] / step + lead)
        motor, slope = drive(p, state, position, velocity, goal, enable, step, lead)
        mean = motor - 0.5 * slope * rate
        budget = static_friction(p, mean, external, velocity + 0.5 * rate)
        budget += remembered(p, state, mean, external, step, lead) if own[KNOWN] > 0.0 else 0.0
        slope += p[KV_FRICTION]
        # (inertia/step + implicit)·(new velocity − velocity) = drive + external + friction
        stiffness = slope * step / inertia
        implicit = slope * (0.5 if stiffness <= 1.0 else 1.0 - 0.5 / stiffness)
        lag = inertia / step + implicit
        without = motor - p[KV_FRICTION] * velocity + external
        friction = -min(max(lag * velocity + without, -budget), budget)
        torque = inertia / step * (without + friction) / lag - external
        own[POSITION] = position
        own[VELOCITY] = velocity
        own[RATE] = rate
        own[TORQUE] = min(max(torque, -limit), limit)
        own[EXTERNAL] = external
        own[MOTOR] = motor
        own[KNOWN] = 1.0

    return compiled(update)


_update = _make_update(SOURCE)


def attach(
    robot: Any, motors: Mapping[str, str | Path | Mapping[str, Any]], inertias: Mapping[str, float]
) -> WebotsServos:
    """Put servos on motors.

    Each joint needs a PositionSensor next to its motor, and `staticFriction 0` and `dampingConstant 0`, because this
    program computes the friction.

    Args:
        robot: The controller's `Robot`.
        motors: Servo file, or its content, by name of a RotationalMotor.
        inertias: Total inertia of each joint, armature included, by the same names [kg·m²].

    Raises:
        ValueError: A motor is missing or unsuitable.
    """
    return WebotsServos(robot, motors, inertias)


class WebotsServos:
    """Servos on the joints of a robot, in the order of `names`."""

    def __init__(
        self, robot: Any, motors: Mapping[str, str | Path | Mapping[str, Any]], inertias: Mapping[str, float]
    ) -> None:
        self.names = tuple(motors)
        self._robot = robot
        self._milliseconds = int(robot.getBasicTimeStep())
        if self._milliseconds < 1 or self._milliseconds != robot.getBasicTimeStep():
            raise ValueError(f"basicTimeStep is {robot.getBasicTimeStep()} ms; set it to a whole number of ms")
        self.servos: list[JointServo] = []
        self._motors, self._sensors = [], []
        for name, servo in motors.items():
            motor = robot.getDevice(name)
            sensor = motor.getPositionSensor() if motor else None
            if motor is None or sensor is None or name not in inertias:
                missing = "motor" if motor is None else "PositionSensor" if sensor is None else "inertia"
                raise ValueError(f"{name!r}: there is no {missing} of this name")
            sensor.enable(self._milliseconds)
            joint = JointServo(servo, 1e-3 * self._milliseconds, inertias[name])
            joint.limit = motor.getMaxTorque()
            motor.setTorque(0.0)
            self.servos.append(joint)
            self._motors.append(motor)
            self._sensors.append(sensor)

    def step(self, goals: Sequence[float], enable: float | Sequence[float] = 1.0) -> bool:
        """Apply the servos' torques and advance by one step; return False when Webots ends the simulation.

        Args:
            goals: Goals [rad], shape (joints,).
            enable: 1 drives, 0 releases; one number or shape (joints,).
        """
        driven = np.broadcast_to(np.asarray(enable, dtype=float), (len(self.names),))
        for servo, motor, sensor, goal, on in zip(self.servos, self._motors, self._sensors, goals, driven, strict=True):
            position = sensor.getValue()
            # A sensor has no value before the first step.
            motor.setTorque(0.0 if math.isnan(position) else servo.torque(position, float(goal), float(on)))
        return self._robot.step(self._milliseconds) != -1


def main(arguments: Sequence[str]) -> None:
    """Swing the exported pendulum; arguments are the servo file and the joint's inertia [kg·m²]."""
    from controller import Robot  # pyright: ignore[reportMissingImports]

    robot = Robot()
    servos = attach(robot, {"servo": arguments[0]}, {"servo": float(arguments[1])})
    while servos.step([math.sin(2.0 * robot.getTime())]):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
