# SPDX-License-Identifier: Apache-2.0
"""Servos with identified friction (M1–M6) as drives of Newton's actuators.

    import newton
    from servobench_newton import add_servo

    builder = newton.ModelBuilder()
    ...
    add_servo(builder, joint, "mx106.servo.json", load_inertia=0.02)   # for each joint, before finalize
    model = builder.finalize()

Then step `model.actuators` before the solver as ever; goals are `control.joint_target_q`, and `control.torque_off` of 1
releases a joint's motor. Law, motor, command path and friction are `servobench_torch`'s. The drive gives the sum of
motor and friction torque, so any solver of Newton will do; the joint's own friction, limits of effort and targets'
gains stay 0. A solver does not say how a joint is loaded. The load of the last step follows from its motion,

    τ_e = J·(v − v_previous)/Δt − τ_applied,        J = load_inertia + armature

and friction is clipped to what stops this J within the step (Algorithm 1, lines 4–6). Choose J rather too small: the
estimate is stable as long as J is less than a third above the inertia the joint really has.

Registered for USD as `ServoBenchDriveAPI`: attributes `newton:torqueConstant`, … and `newton:loadInertia`, as in the
servo's file. Needs newton 1.6 or later, torch, and `servobench_torch.py` beside it; not for CUDA graphs or gradients.
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
from servobench_torch import BRISTLE_NUMBERS, CONTACTS, FORMAT, NUMBERS, TorchServo, read_servo

API = "ServoBenchDriveAPI"
STAGGERED = 0.5
"""Steps by which velocities stand before positions in solvers that update positions with the new velocity."""
FIELDS = (*NUMBERS, *BRISTLE_NUMBERS, "joint_zero", "load_inertia")
"""Numbers of each joint, SI units."""


def add_servo(builder: Any, joint: int, servo: str | Path | Mapping[str, Any], load_inertia: float) -> None:
    """Put a servo on a revolute or prismatic joint of a model that is being built.

    load_inertia: of what turns with the joint, without the armature, which is in the file [kg·m²]. Raises ValueError
    for a file that is not a servo's.
    """
    data = read_servo(servo)
    dof, place = builder.joint_qd_start[joint], builder.joint_q_start[joint]
    builder.joint_armature[dof] = data["armature"]
    builder.joint_friction[dof] = builder.joint_target_ke[dof] = builder.joint_target_kd[dof] = 0.0
    kept = {name: data[name] for name in (*NUMBERS, *BRISTLE_NUMBERS, "joint_zero", "law", "contact")}
    builder.add_actuator(DriveServoBench, index=dof, pos_index=place, load_inertia=load_inertia, **kept)


class DriveServoBench(DriveBase):
    """Servos of one law and one contact; `servo` computes them, a row for each joint."""

    SHARED_PARAMS = {"law", "contact"}  # noqa: RUF012

    @dataclass
    class State(DriveBase.State):
        """The servos keep their state themselves; a reset goes to them."""

        drive: Any = None

        def reset(self, mask: Any = None) -> None:
            """Forget the past of some joints."""
            self.drive.forget(None if mask is None else wp.to_torch(mask).bool())

        def assign(self, other: Any) -> None:
            """There is one state."""

    @classmethod
    def resolve_arguments(cls, args: dict[str, Any]) -> dict[str, Any]:
        """Check the numbers of a servo; raises ValueError for what is none."""
        rigid = {"contact": "rigid", **dict.fromkeys(BRISTLE_NUMBERS, 1.0)}
        data = {**rigid, **args, "format": FORMAT, "version": 2}
        inertia = data.get("load_inertia")
        if not isinstance(inertia, (int, float)) or not 0.0 <= inertia < float("inf"):
            raise ValueError(f"load_inertia = {inertia!r} must be a finite number of at least 0")
        read = read_servo(data)
        return {name: read[name] for name in (*FIELDS, "law", "contact")}

    def __init__(self, law: str, contact: str, **numbers: Any) -> None:
        self._law, self._contact, self._given = law, contact, numbers
        self.servo: TorchServo | None = None
        """Numbers and state, for randomization; there from the first step on."""
        self.custom_inputs = ("torque_off",)

    def is_stateful(self) -> bool:
        """Servos remember commands, errors and speeds."""
        return True

    def is_graphable(self) -> bool:
        """PyTorch computes them."""
        return False

    def state(self, num_actuators: int, device: Any) -> DriveServoBench.State:
        """A handle of the one state there is."""
        return DriveServoBench.State(drive=self)

    def forget(self, chosen: torch.Tensor | None) -> None:
        """Forget the past of some joints, (joints,) booleans; None: of all."""
        if self.servo is not None:
            self.servo.reset(chosen)
            self._moved[slice(None) if chosen is None else chosen] = False

    def _begin(self, dt: float) -> TorchServo:
        given = {name: wp.to_torch(values)[:, None] for name, values in self._given.items()}
        first = {name: float(values[0, 0]) for name, values in given.items() if name != "load_inertia"}
        data = {"format": FORMAT, "version": 2, "law": self._law, "contact": self._contact, **first}
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
        """Write motor plus friction torque into `forces` [N·m]; raises ValueError for another time step than before."""
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
            # Back-EMF and velocity gain act with the mean velocity of the step, as far as this inertia foretells it.
            inertia = self.inertia + 0.5 * dt * servo.motor_damping()
            net = motor + load + servo.applied_friction(inertia, velocity, motor, load)
            applied = net * self.inertia / inertia - load
            self._velocity, self._applied = velocity, applied
            self._moved = torch.ones_like(self._moved)
            wp.to_torch(forces).copy_(applied[:, 0])

    def update_state(self, current_state: Any, next_state: Any) -> None:
        """Take the step as done."""
        if self.servo is not None:
            self.servo.accept()


def pendulum(builder: Any, mass: float, distance: float, inertia: float, angle: float = 0.0) -> int:
    """Add a pendulum that turns about -y and hangs down at 0; returns its joint.

    mass [kg], distance of its centre [m] and inertia about it [kg·m²]; angle at which the centre hangs [rad].
    """
    centre = wp.vec3(distance * math.sin(angle), 0.0, -distance * math.cos(angle))
    body = builder.add_link(mass=mass, com=centre, inertia=wp.mat33(inertia, 0, 0, 0, inertia, 0, 0, 0, inertia))
    joint = builder.add_joint_revolute(parent=-1, child=body, axis=wp.vec3(0.0, -1.0, 0.0))
    builder.add_articulation([joint])
    return joint


def _taken(values: Any, indices: Any) -> torch.Tensor:
    """Values at indices, (joints, 1)."""
    return wp.to_torch(values)[wp.to_torch(indices).long()][:, None].clone()


register_actuator_component(API, DriveServoBench, ComponentKind.DRIVE)
