# SPDX-License-Identifier: Apache-2.0
"""Servos with identified friction (M1–M6) as actuators of mjlab, on MuJoCo Warp.

    actuators=(ServoBenchActuatorCfg(target_names_expr=("elbow",), servo="elbow.servo.json"),)     # in the articulation
    events={"friction": EventTermCfg(func=friction_per_world, mode="startup")}                     # in the environment

The control law and the motor are computed by `servobench_torch` and drive a `motor` actuator. Friction is the engine's
own: each step its budget without the viscous part becomes the joint's `dof_frictionloss`, and the engine then applies
no more than what stops the joint (Algorithm 1, lines 4–6). The budget needs the load, which the engine only knows once
it has solved the step: the load of the last solved step is taken.

MuJoCo updates positions with the new velocity: its velocities stand half a step before its positions, and what acts at
a moment acts on two half steps. So that steps of 5 ms do, a command is taken half a step later, budgets are computed
with the velocity half a step on, and of what falls with the velocity (viscous friction, back-EMF, velocity gain) the
engine integrates a half implicitly, as `dof_damping`. `motor_torque` is the motor's; the actuator's force is not quite.

An elastoplastic contact (Cisneros et al.) is a spring and a damper before it slips. The engine has no such friction,
so it is found here, at the velocity the joint will have by its own inertia and last load, and handed over as a torque
and its slope: with the motor's torque and as `dof_damping`. The deflection then follows from the velocity that became
of it.

The load is everything that turns the joint but its own motor, viscous friction and friction constraint:

    τ_e = qfrc_smooth − actuator_force − qfrc_damper + qfrc_constraint − friction rows of the joint's DOF

A friction row belongs to a DOF, not to a joint, and rows of worlds come in any order, so they are gathered by their id.

Written for mjlab 1.6 with mujoco_warp 3.11; needs `servobench_torch.py` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from mjlab.actuator.actuator import (  # pyright: ignore[reportMissingImports]
    Actuator,
    ActuatorCfg,
    ActuatorCmd,
    TransmissionType,
)
from mjlab.managers.event_manager import requires_model_fields  # pyright: ignore[reportMissingImports]
from mjlab.utils.spec import create_motor_actuator  # pyright: ignore[reportMissingImports]
from mujoco import mjtConstraint  # pyright: ignore[reportMissingImports, reportAttributeAccessIssue]

if __package__:
    from .servobench_torch import CONTACTS, STAGGERED, TorchServo, read_servo
else:  # copied beside a script and not into a package
    from servobench_torch import CONTACTS, STAGGERED, TorchServo, read_servo

MODEL_FIELDS = ("dof_frictionloss", "dof_damping")
"""Of the engine's model; each world needs its own, see `friction_per_world`."""
STOP_WITHIN_A_STEP = (1e-5, 1.0)
"""solreffriction: the engine makes the time constant two steps, which asks to stop the joint within one."""
DO_NOT_CREEP = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""solimpfriction: the stiffest impedance the engine knows."""
SMALLEST_FRICTION = 1e-9
"""A joint without any friction when the model is compiled would get no place for a friction row [N·m]."""

ServoFile = str | Path | Mapping[str, Any]


@requires_model_fields(*MODEL_FIELDS)
def friction_per_world(env: Any, env_ids: Any) -> None:
    """Startup event that gives each world its own joint friction; the actuators fill it in."""


@dataclass(kw_only=True)
class ServoBenchActuatorCfg(ActuatorCfg):
    """A group of identified servos."""

    servo: ServoFile | dict[str, ServoFile]
    """Servo file of all joints of the group, or by patterns of joint names; armature and friction are in it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.transmission_type != TransmissionType.JOINT:
            raise ValueError("an identified servo drives a joint; transmission_type must be JOINT")
        if not self.armature is self.frictionloss is self.viscous_damping is None:
            raise ValueError("armature, frictionloss and viscous_damping are in the servo's file; leave them out")

    def build(self, entity: Any, target_ids: list[int], target_names: list[str]) -> ServoBenchActuator:
        """The actuator of the joints the patterns found."""
        return ServoBenchActuator(self, entity, target_ids, target_names)

    def servo_of(self, joint: str) -> dict[str, Any]:
        """Numbers of a joint's servo; raises ValueError when none or several fit its name."""
        if isinstance(self.servo, dict) and "format" not in self.servo:
            found = [file for pattern, file in self.servo.items() if re.fullmatch(pattern, joint)]
            if len(found) != 1:
                raise ValueError(f"joint {joint!r}: {len(found)} of the servo patterns fit, exactly one must")
            return read_servo(found[0])
        return read_servo(self.servo)


class ServoBenchActuator(Actuator[ServoBenchActuatorCfg]):
    """Servos of one group; `servo` computes them, `torque_enable` switches them."""

    servo: TorchServo
    """Their numbers and state, for randomization: `actuator.servo.randomize("friction_base", 0.8, 1.2, env_ids)`."""
    torque_enable: torch.Tensor
    """1 where the motor is driven, 0 where it is released, (num_envs, num_joints); write to it."""
    motor_torque: torch.Tensor
    """Of this step [N·m], (num_envs, num_joints)."""
    external_torque: torch.Tensor
    """Load of the last step [N·m], (num_envs, num_joints)."""
    inertia: torch.Tensor
    """Of what turns with the joint in the initial pose, armature included [kg·m²], (num_envs, num_joints); write to it
    when a world's armature is changed."""
    dofs: torch.Tensor
    """Places of the joints in the engine's arrays, (num_joints,)."""

    def edit_spec(self, spec: Any, target_names: list[str]) -> None:
        """Add a motor to each joint and make the joint's friction fit to hold it."""
        for name in target_names:
            numbers = self.cfg.servo_of(name.split("/")[-1])
            motor = create_motor_actuator(
                spec,
                name,
                effort_limit=1.0,
                armature=numbers["armature"],
                frictionloss=max(numbers["friction_base"], SMALLEST_FRICTION) if numbers["contact"] == "rigid" else 0.0,
                viscous_damping=numbers["friction_viscous"],
            )
            # The servo's law limits its torque; a range of the engine would only cut it again.
            motor.ctrllimited = motor.forcelimited = False
            joint = spec.joint(name)
            joint.solref_friction = STOP_WITHIN_A_STEP
            joint.solimp_friction = DO_NOT_CREEP
            self._mjs_actuators.append(motor)

    def initialize(self, mj_model: Any, model: Any, data: Any, device: str) -> None:
        """Make the servos once the model is compiled."""
        super().initialize(mj_model, model, data, device)
        self._model, self._data = model, data
        numbers = [self.cfg.servo_of(name) for name in self._target_names]
        timestep = float(mj_model.opt.timestep)
        self.servo = TorchServo(numbers, data.nworld, timestep, lead=STAGGERED, contacts=CONTACTS, device=device)
        self.dofs = self.entity.indexing.joint_v_adr[self.target_ids].long()
        shape = (data.nworld, len(numbers))
        self.inertia = torch.tensor(mj_model.dof_M0, device=device, dtype=torch.float)[self.dofs].repeat(shape[0], 1)
        self.torque_enable = torch.ones(shape, device=device)
        self.motor_torque = torch.zeros(shape, device=device)
        self.external_torque = torch.zeros(shape, device=device)
        self._velocity = torch.zeros(shape, device=device)
        self._before = torch.zeros(shape, device=device)
        self._moved = torch.zeros(data.nworld, 1, device=device, dtype=torch.bool)

    def compute(self, cmd: ActuatorCmd) -> torch.Tensor:
        """Force of the motors [N·m] for the goals in `cmd`; writes this step's friction into the model."""
        self._require_fields_per_world()
        servo, velocity = self.servo, cmd.vel
        torque = servo.propose(cmd.position_target, cmd.pos, velocity, self.torque_enable)
        external = self._external_torque()
        falling = servo.motor_damping()
        change = torch.where(self._moved, STAGGERED * (velocity - self._before), 0.0)
        friction = servo.static_friction(velocity + change, torque - falling * change, external)
        viscous = servo.numbers["friction_viscous"]
        damping = self._implicit(falling + viscous)
        force = torque + (damping - viscous) * velocity
        if servo.contacts != {"rigid"}:
            dry = servo.dry_friction(torque - falling * change, external)
            half = self._implicit(falling)
            inertia = self.inertia + servo.timestep * half
            bristle, slope = servo.bristle_friction(inertia, velocity, torque + external, dry)
            # The engine finds contact forces as if there were no damping; more of it than this would mislead them.
            slope = torch.minimum(slope, self.inertia / servo.timestep)
            ahead = velocity + servo.timestep / inertia * (torque + external + bristle)
            bristled, softened = torque + half * velocity + bristle + slope * ahead, half + slope
            friction = torch.where(servo.is_rigid, friction, 0.0)
            force = torch.where(servo.is_rigid, force, bristled)
            damping = torch.where(servo.is_rigid, damping, softened)
        self._model.dof_frictionloss[:, self.dofs] = friction
        self._model.dof_damping[:, self.dofs] = damping
        self.motor_torque, self.external_torque, self._velocity = torque, external, velocity
        return force

    def update(self, dt: float) -> None:
        """The engine has stepped: so have the servos."""
        self.servo.accept()
        self._before.copy_(self._velocity)
        self._moved.fill_(True)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Forget the past of some environments."""
        super().reset(env_ids)
        self.servo.reset(env_ids)
        self._moved[slice(None) if env_ids is None else env_ids] = False

    def _implicit(self, falling: torch.Tensor) -> torch.Tensor:
        """Part of a damping the engine integrates implicitly: a half; more where a half would overshoot."""
        stiffness = falling * self.servo.timestep / self.inertia
        return falling * torch.where(stiffness <= 1.0, STAGGERED, 1.0 - STAGGERED / stiffness)

    def _external_torque(self) -> torch.Tensor:
        """Load of each joint in the last solved step [N·m]."""
        data, efc = self._data, self._data.efc
        kind, force, dof = efc.type[:], efc.force[:], efc.id[:]
        live = torch.arange(kind.shape[1], device=kind.device) < data.nefc[:][:, None]
        is_friction = live & (kind == int(mjtConstraint.mjCNSTR_FRICTION_DOF))
        by_dof = torch.zeros_like(data.qfrc_smooth[:])
        by_dof.scatter_add_(1, torch.where(is_friction, dof, 0).long(), torch.where(is_friction, force, 0.0))
        load = data.qfrc_smooth[:] - data.qfrc_damper[:] + data.qfrc_constraint[:] - by_dof
        return load[:, self.dofs] - data.actuator_force[:, self.global_ctrl_ids]

    def _require_fields_per_world(self) -> None:
        engine = getattr(self._model, "struct", self._model)
        if engine.dof_frictionloss.shape[0] != self._data.nworld:
            raise RuntimeError(
                "all worlds share one joint friction: add EventTermCfg(func=friction_per_world, mode='startup') to the "
                "environment's events, or call sim.expand_model_fields(MODEL_FIELDS)"
            )
