# SPDX-License-Identifier: Apache-2.0
"""Servos with friction M1–M6 on the joints of a PyBullet body.

    from servobench_pybullet import Servos

    robot = p.loadURDF("robot.urdf", useFixedBase=True, flags=p.URDF_USE_INERTIA_FROM_FILE)
    servos = Servos(robot, {"shoulder": "mx106-m6.servo.json", "elbow": "mx64-m6.servo.json"})
    servos.step([0.5, -0.2])  # rad, in the order of the joints; the same as servos.update(...) and p.stepSimulation()

Bullet's joints have no armature, and their only friction is a motor that holds a velocity of 0. This program computes
both as torques. Friction is the torque that stops all joints together within the step, armature included, limited by
each joint's budget (Duclusaud et al., Algorithm 1, lines 4–6). Loads are the current gravity and Coriolis forces, plus
the other torques of the previous step: contacts, limits, applied forces. For a body that is not fixed to the world, all
loads are those of the previous step.

Bullet updates positions with the new velocity, so its velocities lag half a step behind its positions. Therefore a
command acts half a step later, budgets use the velocity half a step later, and velocity-dependent torques (viscous
friction, back-EMF, velocity gain) act with the mean of old and new velocity.

Needs pybullet and numpy; numba makes it faster if installed. Without `URDF_USE_INERTIA_FROM_FILE`, Bullet derives
inertias from a body's shapes. Next to a pendulum's URDF file,

    python servobench_pybullet.py NAME.pybullet.urdf NAME.servo.json

swings it, releases it, and prints its angle.
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
"""Lag of velocities behind positions [steps]."""
UNLIMITED = 1e9
"""Joint velocity at which Bullet clips [rad/s]; its default is 100."""


class Servos:
    """Servos on joints of a body; arrays have shape (joints,), in the order of the joints."""

    motor_torque: np.ndarray
    """Motor torque in the last step [N·m]."""
    friction_torque: np.ndarray
    """Friction torque in the last step, with its viscous part [N·m]."""
    external_torque: np.ndarray
    """Load used for the friction of the last step [N·m]."""

    def __init__(self, body: int, joints: Mapping[str, str | Path | Mapping[str, Any]], client: int = 0) -> None:
        """Put servos on joints. Set the engine's time step first.

        Motors, damping and friction of these joints, and the body's damping in space, become 0.

        Args:
            body: Id of the body.
            joints: Servo file, or its content, by name of a revolute or prismatic joint.
            client: Result of `pybullet.connect`.

        Raises:
            ValueError: The body, a joint, a file or the time step is unsuitable.
        """
        self._client, self._body = {"physicsClientId": client}, body
        engine: Any = pybullet.getPhysicsEngineParameters(**self._client)
        if engine["numSubSteps"] > 1:
            raise ValueError("the engine uses several substeps per step; set numSubSteps to 0")
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
            raise ValueError(f"the body has no joint {', '.join(map(repr, missing))}; available: {', '.join(names)}")
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
        """Parameters of the servos by name, (joints,): `servos.numbers["kp"][0] = 3.0`."""
        return self._bank.numbers

    def reset(self) -> None:
        """Reset the servos' state, e.g. after moving joints by hand."""
        position, self._velocity = self._state()
        self._bank.reset(position[self._own])
        self._inertia = self._known = None
        self.motor_torque, self.friction_torque, self.external_torque = np.zeros((3, len(self.names)))

    def step(self, goals: Any, enable: Any = 1.0) -> None:
        """Set goals [rad] and enable (1 drives, 0 releases), one number or one per joint, and step."""
        self.update(goals, enable)
        pybullet.stepSimulation(**self._client)

    def update(self, goals: Any, enable: Any = 1.0) -> None:
        """Prepare the next `stepSimulation()`; call it once before each; see `step`."""
        goals = np.asarray(goals, dtype=float)
        if not np.isfinite(goals).all():
            raise ValueError(f"a goal of {goals} is not an angle")
        now = pybullet.getPhysicsEngineParameters(**self._client)["fixedTimeStep"]
        if now != self._step:
            raise ValueError(f"the time step changed from {self._step} s to {now} s; create the servos again")
        bank, own = self._bank, self._own
        bank.command(goals, enable)
        position, velocity = self._state()
        bare, known = self._dynamics(position, velocity)
        rate = velocity - self._velocity
        if self._inertia is None or self._known is None:
            total = known.copy()
        else:
            # Torques that the last step's known forces do not explain.
            total = known + self._inertia @ rate / self._step - self._known
        external = total[own]
        armature = bank.numbers["armature"]
        inertia = bare.copy()
        inertia[own, own] += armature
        motor, slope, smooth, damping, budget = drives(
            bank.rows, bank.states, bank.past, bank.head, bank.lead, bank.step,
            position[own], velocity[own], rate[own], external, np.linalg.inv(inertia)[own, own],
        )  # fmt: skip
        # The implicit part of velocity-dependent torques acts like additional inertia.
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
        """Return the joints' inertia matrix, with a free base moving along, and gravity and Coriolis torques."""
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
    """Simulate a URDF file that is fixed to the world.

    Args:
        model: URDF file.
        joints: See `Servos`.
        command: Maps time [s] to goals [rad] and enable, one number or one per joint.
        duration: Duration [s].
        time_step: Time step [s].
        gravity: Gravity [m/s²].

    Returns:
        Positions of the joints before each time step [rad], shape (steps, joints).
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
