# SPDX-License-Identifier: Apache-2.0
"""Servos with identified friction (M1–M6) as drives of Newton's actuators.

    import newton
    from servobench_newton import add_servo

    builder = newton.ModelBuilder()
    ...
    add_servo(builder, joint, "mx106.servo.json", load_inertia=0.02)   # for each joint, before finalize
    model = builder.finalize()

Then step `model.actuators` before the solver as usual. Goals are `control.joint_target_q`; `control.torque_off` of 1
releases a joint's motor. Control law, motor, command path and friction come from `servobench_torch`. The drive outputs
the sum of motor and friction torque, so it works with any solver of Newton. The joint's own friction, effort limits and
target gains stay 0. Solvers do not report the load of a joint. The load of the last step follows from its motion,

    τ_e = J·(v − v_previous)/Δt − τ_applied,        J = load_inertia + armature

and friction is clipped to the torque that stops this J within the step (Duclusaud et al., Algorithm 1, lines 4–6).
Estimate J rather too low: the load estimate is stable as long as J exceeds the joint's true inertia by less than a
third.

Registered for USD as `ServoBenchDriveAPI`, with attributes `newton:torqueConstant`, … and `newton:loadInertia` as in
the servo file. Needs newton 1.6 or later, torch, and `servobench_torch.py` next to it. Does not support CUDA graphs or
gradients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
import warp as wp  # pyright: ignore[reportMissingImports]
from newton.actuators import (  # pyright: ignore[reportMissingImports]
    ComponentKind,
    DriveBase,
    register_actuator_component,
)
from servobench_torch import (
    BRISTLE_NUMBERS,
    CONTACTS,
    FORMAT,
    NO_CURRENT_LIMIT,
    NUMBERS,
    VERSIONS,
    TorchServo,
    read_servo,
)

API = "ServoBenchDriveAPI"
STAGGERED = 0.5
"""Lag of velocities behind positions, in steps, in solvers that update positions with the new velocity."""
FIELDS = (*NUMBERS, *BRISTLE_NUMBERS, "joint_zero", "load_inertia")
"""Parameters of each joint, SI units."""
NEWER = {
    "control_period": 0.0,
    "angle_ignored": 0.0,
    "speed_feedback": 0.0,
    "current_limit": NO_CURRENT_LIMIT,
    "output_offset": 0.0,
    "pulse_sag": 0.0,
    "load_memory": 0.0,
}
"""Parameters that robots written for earlier versions lack, and their values for these."""


def add_servo(builder: Any, joint: int, servo: str | Path | Mapping[str, Any], load_inertia: float) -> None:
    """Put a servo on a revolute or prismatic joint of a model that is being built.

    Args:
        builder: Newton's `ModelBuilder`.
        joint: Index of the joint.
        servo: Servo file, or its content.
        load_inertia: Inertia that turns with the joint, without the armature, which is in the file [kg·m²].

    Raises:
        ValueError: The file is not a servo file.
    """
    data = read_servo(servo)
    dof, place = builder.joint_qd_start[joint], builder.joint_q_start[joint]
    builder.joint_armature[dof] = data["armature"]
    builder.joint_friction[dof] = builder.joint_target_ke[dof] = builder.joint_target_kd[dof] = 0.0
    kept = {name: data[name] for name in (*NUMBERS, *BRISTLE_NUMBERS, "joint_zero", "law", "contact")}
    builder.add_actuator(DriveServoBench, index=dof, pos_index=place, load_inertia=load_inertia, **kept)


class DriveServoBench(DriveBase):
    """Servos with the same law and contact; `servo` computes them, one row per joint."""

    SHARED_PARAMS = {"law", "contact"}  # noqa: RUF012

    @dataclass
    class State(DriveBase.State):
        """Handle of the servos, which keep their own state."""

        drive: Any = None

        def reset(self, mask: Any = None) -> None:
            """Reset the servos of some joints."""
            self.drive.forget(None if mask is None else wp.to_torch(mask).bool())

        def assign(self, other: Any) -> None:
            """Do nothing: there is only one state."""

    @classmethod
    def resolve_arguments(cls, args: dict[str, Any]) -> dict[str, Any]:
        """Check the parameters of a servo; raise ValueError if they are invalid."""
        rigid = {"contact": "rigid", **dict.fromkeys(BRISTLE_NUMBERS, 1.0)}
        data = {**rigid, **NEWER, **args, "format": FORMAT, "version": VERSIONS[-1]}
        inertia = data.get("load_inertia")
        if not isinstance(inertia, (int, float)) or not 0.0 <= inertia < float("inf"):
            raise ValueError(f"load_inertia = {inertia!r} must be a finite number of at least 0")
        read = read_servo(data)
        return {name: read[name] for name in (*FIELDS, "law", "contact")}

    def __init__(self, law: str, contact: str, **numbers: Any) -> None:
        self._law, self._contact, self._given = law, contact, numbers
        self.servo: TorchServo | None = None
        """Parameters and state, for randomization; set at the first step."""
        self.custom_inputs = ("torque_off",)

    def is_stateful(self) -> bool:
        """Return True: servos keep commands, errors and speeds."""
        return True

    def is_graphable(self) -> bool:
        """Return False: PyTorch computes the servos, outside CUDA graphs."""
        return False

    def state(self, num_actuators: int, device: Any) -> DriveServoBench.State:
        """Return a handle of the servos' only state."""
        return DriveServoBench.State(drive=self)

    def forget(self, chosen: torch.Tensor | None) -> None:
        """Reset the joints marked in a boolean mask (joints,). None: all."""
        if self.servo is not None:
            self.servo.reset(chosen)
            self._moved[slice(None) if chosen is None else chosen] = False

    def _begin(self, dt: float) -> TorchServo:
        given = {name: wp.to_torch(values)[:, None] for name, values in self._given.items()}
        first = {name: float(values[0, 0]) for name, values in given.items() if name != "load_inertia"}
        data = {"format": FORMAT, "version": VERSIONS[-1], "law": self._law, "contact": self._contact, **first}
        count, device = len(given["load_inertia"]), given["load_inertia"].device
        servo = TorchServo([data], count, dt, lead=STAGGERED, contacts=CONTACTS, device=device)
        for name in (*NUMBERS, *BRISTLE_NUMBERS):
            servo.nominal[name] = given[name].clone()
            servo.numbers[name] = given[name].clone()
        servo.joint_zero = given["joint_zero"]
        servo.refresh()
        self.inertia = given["load_inertia"] + servo.numbers["armature"]
        self._velocity, self._applied = torch.zeros_like(self.inertia), torch.zeros_like(self.inertia)
        self._moved = torch.zeros_like(self.inertia, dtype=torch.bool)
        self.servo = servo
        return servo

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        target_pos_indices, target_vel_indices, forces, state, dt, device=None, *, custom_inputs=None,
    ) -> None:  # fmt: skip
        """Write motor plus friction torque into `forces` [N·m]; raise ValueError if the time step changed."""
        with torch.no_grad():
            servo = self.servo or self._begin(dt)
            if dt != servo.timestep:
                raise ValueError(f"the time step is {dt:g} s, was {servo.timestep:g} s: finalize the model again")
            position, velocity = _taken(positions, pos_indices), _taken(velocities, vel_indices)
            off = (custom_inputs or {}).get("torque_off")
            enable = None if off is None else 1.0 - _taken(off, vel_indices)
            motor = servo.propose(_taken(target_pos, target_pos_indices), position, velocity, enable)
            load = self.inertia * (velocity - self._velocity) / dt - self._applied
            load = torch.where(self._moved, load, torch.zeros_like(load))
            # Back-EMF and velocity gain act with the mean velocity of the step, as predicted from this inertia.
            inertia = self.inertia + 0.5 * dt * servo.motor_damping()
            net = motor + load + servo.applied_friction(inertia, velocity, motor, load)
            applied = net * self.inertia / inertia - load
            self._velocity, self._applied = velocity, applied
            self._moved = torch.ones_like(self._moved)
            wp.to_torch(forces).copy_(applied[:, 0])

    def update_state(self, current_state: Any, next_state: Any) -> None:
        """Accept the proposed step."""
        if self.servo is not None:
            self.servo.accept()


def pendulum(builder: Any, mass: float, distance: float, inertia: float, angle: float = 0.0) -> int:
    """Add a pendulum that turns about -y and hangs down at 0; return its joint.

    Args:
        builder: Newton's `ModelBuilder`.
        mass: Mass [kg].
        distance: Distance of the centre of mass from the joint [m].
        inertia: Inertia about the centre of mass [kg·m²].
        angle: Angle at which the centre of mass hangs [rad].
    """
    centre = wp.vec3(distance * math.sin(angle), 0.0, -distance * math.cos(angle))
    body = builder.add_link(mass=mass, com=centre, inertia=wp.mat33(inertia, 0, 0, 0, inertia, 0, 0, 0, inertia))
    joint = builder.add_joint_revolute(parent=-1, child=body, axis=wp.vec3(0.0, -1.0, 0.0))
    builder.add_articulation([joint])
    return joint


def _taken(values: Any, indices: Any) -> torch.Tensor:
    """Return the values at indices, shape (joints, 1)."""
    return wp.to_torch(values)[wp.to_torch(indices).long()][:, None].clone()


register_actuator_component(API, DriveServoBench, ComponentKind.DRIVE)
