# SPDX-License-Identifier: Apache-2.0
"""Servos with friction M1–M6 on the joints of a Webots robot, in torque mode.

    from controller import Robot
    from servobench_webots import attach

    robot = Robot()
    servos = attach(robot, {"elbow": "mx64-m6.servo.json"}, inertias={"elbow": 0.012})
    while servos.step([0.5]):  # goals in rad
        pass

Webots' own position control moves a joint at a velocity, with all the torque it has, and ignores the joint's friction
meanwhile. Here each joint's motor gets the torque that the servo gives to the load: motor and friction. Run as a
program, it swings the exported pendulum: `servobench_webots.py NAME.servo.json INERTIA`.

Webots tells positions only, and takes torques only. The velocity is the difference of two positions, which is exact in
its integrator; the load is what the last step's acceleration asks for beyond the torque applied, which needs the
inertia that the joint turns, the rotor's included. The engine updates positions with the new velocity: its velocities
stand half a step before its positions. As in `servobench_mujoco`, commands act half a step later, budgets are computed
with the velocity half a step on, and half of what depends on the velocity is taken at the end of the step.

Needs numpy; with numba, where it is installed, the functions are compiled.
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
    static_friction,
)

STAGGERED = 0.5
"""Steps by which velocities stand before positions."""
POSITION, VELOCITY, RATE, TORQUE, EXTERNAL, MOTOR, KNOWN = range(7)


class JointServo:
    """One servo, free of Webots: positions in, torques out, once a step."""

    def __init__(self, servo: str | Path | Mapping[str, Any], step: float, inertia: float) -> None:
        """servo: its file, or that file's content; step [s]; inertia: all that the joint turns, about its axis and
        with the servo's armature [kg·m²]. Raises ValueError."""
        if not (math.isfinite(step) and step > 0.0 and math.isfinite(inertia) and inertia > 0.0):
            raise ValueError(f"a servo with a step of {step} s that turns {inertia} kg·m² is not possible")
        self.bank = Bank([servo], step, STAGGERED)
        self.inertia = inertia
        """May be changed at any time, e.g. with the pose of the arm."""
        self.limit = math.inf
        """Largest torque that the engine applies [N·m]."""
        self._values = np.zeros(7)

    @property
    def motor_torque(self) -> float:
        """Of the motor alone, during the last step [N·m]"""
        return float(self._values[MOTOR])

    @property
    def external_torque(self) -> float:
        """Load that the last step's friction went by [N·m]"""
        return float(self._values[EXTERNAL])

    def reset(self) -> None:
        """Forget what was: the next position is one at rest."""
        self._values[:] = 0.0
        self.bank.fresh = True

    def torque(self, position: float, goal: float, enable: float = 1.0) -> float:
        """Torque to apply during the next step [N·m]; position [rad] now, goal [rad], enable: 1 drives, 0 releases."""
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
        if source == 0:  # never; naming it here puts it into what the compiled function is kept under
            return
        velocity = (position - own[POSITION]) / step
        rate = velocity - own[VELOCITY]
        external = inertia / step * rate - own[TORQUE] if own[KNOWN] > 0.0 else 0.0
        goal = late(past[0], head, p[DELAY] / step + lead)
        enable = late(past[1], head, p[RELEASE_DELAY] / step + lead)
        motor, slope = drive(p, state, position, velocity, goal, enable, step, lead)
        budget = static_friction(p, motor - 0.5 * slope * rate, external, velocity + 0.5 * rate)
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
    """Put servos on motors: name of a RotationalMotor to the servo's file; inertias by the same names [kg·m²].

    Each joint needs a PositionSensor beside its motor, `staticFriction 0` and `dampingConstant 0`: friction is here.
    Raises ValueError for a motor that is not there or does not fit.
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
            raise ValueError(f"basicTimeStep is {robot.getBasicTimeStep()} ms; give the world a whole number of ms")
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
        """Apply the servos' torques and advance by one step; False when Webots ends the simulation.

        goals (joints,) [rad]; enable: 1 drives, 0 releases, one number or (joints,).
        """
        driven = np.broadcast_to(np.asarray(enable, dtype=float), (len(self.names),))
        for servo, motor, sensor, goal, on in zip(self.servos, self._motors, self._sensors, goals, driven, strict=True):
            position = sensor.getValue()
            # A sensor has no value before the first step.
            motor.setTorque(0.0 if math.isnan(position) else servo.torque(position, float(goal), float(on)))
        return self._robot.step(self._milliseconds) != -1


def main(arguments: Sequence[str]) -> None:
    """Swing the exported pendulum; arguments: the servo's file and the inertia its joint turns [kg·m²]."""
    from controller import Robot  # pyright: ignore[reportMissingImports]

    robot = Robot()
    servos = attach(robot, {"servo": arguments[0]}, {"servo": float(arguments[1])})
    while servos.step([math.sin(2.0 * robot.getTime())]):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
