# SPDX-License-Identifier: Apache-2.0
"""Servos with friction M1–M6 on the joints of a PyBullet body.

    from servobench_pybullet import Servos

    robot = p.loadURDF("robot.urdf", useFixedBase=True, flags=p.URDF_USE_INERTIA_FROM_FILE)
    servos = Servos(robot, {"shoulder": "mx106-m6.servo.json", "elbow": "mx64-m6.servo.json"})
    servos.step([0.5, -0.2])  # rad, in the order of the joints; the same as servos.update(...) and p.stepSimulation()

Bullet's joints have no armature, and its friction is a motor that holds a velocity of 0. So both are torques here: of
the joint's inertia with the armature, friction is what stops the joints within the step, all of them together, limited
by each joint's budget (Duclusaud et al., Algorithm 1, lines 4–6). Loads are gravity and Coriolis forces now, and what
else moved the joints in the step before: contacts, limits, applied forces. Of a body that is not fixed to the world,
all loads are those of the step before.

Bullet updates positions with the new velocity. Its velocities therefore stand half a step before its positions, and
what acts at a moment acts on two half steps. So a command is taken half a step later, budgets are computed with the
velocity half a step on, and what depends on the velocity (viscous friction, back-EMF, velocity gain) acts with the mean
of the old and the new one.

Needs pybullet and numpy; numba, where it is installed, makes it faster. Without `URDF_USE_INERTIA_FROM_FILE` Bullet
makes inertias of its own from a body's shapes. Beside a pendulum's URDF file,

    python servobench_pybullet.py NAME.pybullet.urdf NAME.servo.json

swings it, releases it, and prints where it is.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
from servobench_servo import Bank, drives, stopping

__all__ = ["Servos", "simulate"]

STAGGERED = 0.5
"""Steps by which velocities stand before positions."""
UNLIMITED = 1e9
"""Largest velocity of a joint that Bullet cuts off [rad/s]; its own is 100."""


class Servos:
    """Servos on joints of a body; arrays are (joints,), in their order."""

    motor_torque: np.ndarray
    """In the last step [N·m]."""
    friction_torque: np.ndarray
    """In the last step, with its viscous part [N·m]."""
    external_torque: np.ndarray
    """Load that the last step's friction went by [N·m]."""

    def __init__(self, body: int, joints: Mapping[str, str | Path | Mapping[str, Any]], client: int = 0) -> None:
        """joints: name of a revolute or prismatic joint to the servo's file, or that file's content; client: of
        `pybullet.connect`.

        Motors, damping and friction of these joints, and the body's damping in space, become 0. Set the time step
        first. Raises ValueError for a body, joint, file or time step that does not fit.
        """
        self._client, self._body = {"physicsClientId": client}, body
        engine: Any = pybullet.getPhysicsEngineParameters(**self._client)
        if engine["numSubSteps"] > 1:
            raise ValueError("the engine makes several substeps of a step; set numSubSteps to 0")
        self._step = float(engine["fixedTimeStep"])
        self._bank = Bank(list(joints.values()), self._step, STAGGERED)
        self._moving, names = [], {}
        for index in range(pybullet.getNumJoints(body, **self._client)):
            about = pybullet.getJointInfo(body, index, **self._client)
            if about[2] in (pybullet.JOINT_SPHERICAL, pybullet.JOINT_PLANAR):
                raise ValueError(f"joint {about[1].decode()!r} turns about more than one axis")
            if about[2] != pybullet.JOINT_FIXED:
                names[about[1].decode()] = len(self._moving)
                self._moving.append(index)
        missing = [name for name in joints if name not in names]
        if missing:
            raise ValueError(f"the body has no joint {', '.join(map(repr, missing))}; there are {', '.join(names)}")
        self.names = tuple(joints)
        self._own = np.array([names[name] for name in joints], dtype=np.int64)
        self._joints = [self._moving[column] for column in self._own]
        self._fixed = len(self._mass(np.zeros(len(self._moving)))) == len(self._moving)
        pybullet.changeDynamics(
            body, -1, linearDamping=0.0, angularDamping=0.0, maxJointVelocity=UNLIMITED, **self._client
        )
        for index in self._joints:
            pybullet.changeDynamics(body, index, jointDamping=0.0, **self._client)
            pybullet.setJointMotorControl2(body, index, pybullet.VELOCITY_CONTROL, force=0.0, **self._client)
        self.reset()

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of the servos by name, (joints,): `servos.numbers["kp"][0] = 3.0`."""
        return self._bank.numbers

    def reset(self) -> None:
        """Forget what was: after joints were moved by hand."""
        position, self._velocity = self._state()
        self._bank.reset(position[self._own])
        self._inertia = self._known = None
        self.motor_torque, self.friction_torque, self.external_torque = np.zeros((3, len(self.names)))

    def step(self, goals: Any, enable: Any = 1.0) -> None:
        """Take goals [rad] and enable (1 drives, 0 releases) of all joints, or one number for each, and step."""
        self.update(goals, enable)
        pybullet.stepSimulation(**self._client)

    def update(self, goals: Any, enable: Any = 1.0) -> None:
        """Prepare the next `stepSimulation()`, to be called once before each; see `step`."""
        goals = np.asarray(goals, dtype=float)
        if not np.isfinite(goals).all():
            raise ValueError(f"a goal of {goals} is no angle")
        now = pybullet.getPhysicsEngineParameters(**self._client)["fixedTimeStep"]
        if now != self._step:
            raise ValueError(f"the time step was {self._step} s when the servos were put on and is {now} s now")
        bank, own = self._bank, self._own
        bank.command(goals, enable)
        position, velocity = self._state()
        bare, known = self._dynamics(position, velocity)
        rate = velocity - self._velocity
        if self._inertia is None or self._known is None:
            total = known.copy()
        else:
            # What the last step's known forces do not explain.
            total = known + self._inertia @ rate / self._step - self._known
        external = total[own]
        armature = bank.numbers["armature"]
        inertia = bare.copy()
        inertia[own, own] += armature
        motor, slope, smooth, damping, budget = drives(
            bank.rows, bank.states, bank.past, bank.head, bank.lead, bank.step,
            position[own], velocity[own], rate[own], external, np.linalg.inv(inertia)[own, own],
        )  # fmt: skip
        # The share of the new velocity in what depends on it, as inertia.
        inertia[own, own] += self._step * damping
        response = self._step * np.linalg.inv(inertia)[:, own]
        total[own] += smooth
        change = self._step * np.linalg.solve(inertia, total)
        friction = stopping(response[own], (velocity + change)[own], budget)
        change = (change + response @ friction)[own]
        applied = smooth + friction - damping * change
        self.motor_torque, self.external_torque = motor - slope * change, external
        self.friction_torque = applied - self.motor_torque
        torque = applied - armature * change / self._step
        pybullet.setJointMotorControlArray(
            self._body, self._joints, pybullet.TORQUE_CONTROL, forces=torque, **self._client
        )
        self._velocity, self._inertia, self._known = velocity, bare, known
        self._known[own] += torque

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        states = pybullet.getJointStates(self._body, self._moving, **self._client)
        return np.array([state[0] for state in states]), np.array([state[1] for state in states])

    def _mass(self, position: np.ndarray) -> np.ndarray:
        return np.array(pybullet.calculateMassMatrix(self._body, list(position), **self._client))

    def _dynamics(self, position: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inertia that the joints turn, a free base going along, and what gravity and velocities do to them."""
        mass, count = self._mass(position), len(position)
        if not self._fixed:
            return np.linalg.inv(np.linalg.inv(mass)[-count:, -count:]), np.zeros(count)
        still = [0.0] * count
        bias = pybullet.calculateInverseDynamics(self._body, list(position), list(velocity), still, **self._client)
        return mass, -np.array(bias)


def simulate(
    model: str | Path,
    joints: Mapping[str, str | Path | Mapping[str, Any]],
    command: Callable[[float], tuple[Any, Any]],
    duration: float,
    time_step: float = 1e-3,
    gravity: float = 9.80665,
) -> np.ndarray:
    """Positions of the joints of a URDF file fixed to the world, one row before each step, (steps, joints) [rad].

    joints: see `Servos`; command: time [s] to goals [rad] and enable, of all joints or one number for each;
    gravity [m/s²].
    """
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setTimeStep(time_step, physicsClientId=client)
        pybullet.setGravity(0.0, 0.0, -gravity, physicsClientId=client)
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE
        body = pybullet.loadURDF(str(model), useFixedBase=True, flags=flags, physicsClientId=client)
        servos = Servos(body, joints, client)
        positions = np.empty((round(duration / time_step), len(joints)))
        for k in range(len(positions)):
            positions[k] = servos._state()[0][servos._own]
            servos.step(*command(k * time_step))
        return positions
    finally:
        pybullet.disconnect(client)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python servobench_pybullet.py NAME.pybullet.urdf NAME.servo.json")
    swing = simulate(sys.argv[1], {"servo": sys.argv[2]}, lambda t: (math.sin(4.0 * t), t < 2.0), 4.0)
    for sample, (angle,) in enumerate(swing[::100]):
        print(f"{0.1 * sample:4.1f} s {angle:8.4f} rad")
