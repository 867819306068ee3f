# SPDX-License-Identifier: Apache-2.0
"""Servos with identified friction (M1–M6) as actuators of mjlab, on MuJoCo Warp.

    actuators=(ServoBenchActuatorCfg(target_names_expr=("elbow",), servo="elbow.servo.json"),)     # in the articulation
    events={"friction": EventTermCfg(func=friction_per_world, mode="startup")}                     # in the environment

`servobench_torch` computes control law and motor, which drive a `motor` actuator. Friction is the engine's: in each
step, the budget without its viscous part becomes the joint's `dof_frictionloss`, and the engine applies no more than
what stops the joint (Duclusaud et al., Algorithm 1, lines 4–6). The budget needs the load, which the engine knows only
after solving the step, so the load of the last solved step is used.

MuJoCo updates positions with the new velocity, so its velocities lag half a step behind its positions. Three measures
make time steps of 5 ms accurate: a command acts half a step later, budgets use the velocity half a step later, and the
engine integrates half of the velocity-dependent torque (viscous friction, back-EMF, velocity gain) implicitly, as
`dof_damping`. Read the motor's torque from `motor_torque`: the actuator's force differs slightly.

An elastoplastic contact (Cisneros et al.) is a spring and a damper before it slips. The engine has no such friction.
This program computes it at the velocity predicted from the joint's own inertia and last load, and passes it on as a
torque and its slope, with the motor's torque and as `dof_damping`. The deflection then follows from the resulting
velocity.

The load is every torque on the joint except its own motor, viscous friction and friction constraint:

    τ_e = qfrc_smooth − actuator_force − qfrc_damper + qfrc_constraint − friction rows of the joint's DOF

Friction rows belong to DOFs, not to joints, and the rows of a world have no fixed order, so they are gathered by id.

Written for mjlab 1.6 with mujoco_warp 3.11; needs `servobench_torch.py` next to it.
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
else:  # copied next to a script, not into a package
    from servobench_torch import CONTACTS, STAGGERED, TorchServo, read_servo

MODEL_FIELDS = ("dof_frictionloss", "dof_damping")
"""Fields of the engine's model that each world needs separately, see `friction_per_world`."""
STOP_WITHIN_A_STEP = (1e-5, 1.0)
"""solreffriction: the engine raises the time constant to two steps, which stops the joint within one."""
DO_NOT_CREEP = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""solimpfriction: the stiffest impedance of the engine."""
SMALLEST_FRICTION = 1e-9
"""Smallest friction [N·m]: a joint compiled without friction would get no friction row."""

ServoFile = str | Path | Mapping[str, Any]


@requires_model_fields(*MODEL_FIELDS)
def friction_per_world(env: Any, env_ids: Any) -> None:
    """Startup event that gives each world its own joint friction, which the actuators set."""


@dataclass(kw_only=True)
class ServoBenchActuatorCfg(ActuatorCfg):
    """Configuration of a group of identified servos."""

    servo: ServoFile | dict[str, ServoFile]
    """Servo file of all joints of the group, or files by joint name pattern; they hold armature and friction."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.transmission_type != TransmissionType.JOINT:
            raise ValueError("an identified servo drives a joint; transmission_type must be JOINT")
        if not self.armature is self.frictionloss is self.viscous_damping is None:
            raise ValueError("armature, frictionloss and viscous_damping are in the servo's file; leave them out")

    def build(self, entity: Any, target_ids: list[int], target_names: list[str]) -> ServoBenchActuator:
        """Return the actuator of the matched joints."""
        return ServoBenchActuator(self, entity, target_ids, target_names)

    def servo_of(self, joint: str) -> dict[str, Any]:
        """Return the servo of a joint; raise ValueError unless exactly one pattern matches its name."""
        if isinstance(self.servo, dict) and "format" not in self.servo:
            found = [file for pattern, file in self.servo.items() if re.fullmatch(pattern, joint)]
            if len(found) != 1:
                raise ValueError(f"joint {joint!r}: {len(found)} servo patterns match, exactly one must")
            return read_servo(found[0])
        return read_servo(self.servo)


class ServoBenchActuator(Actuator[ServoBenchActuatorCfg]):
    """Servos of one group; `servo` computes them, `torque_enable` switches their torque."""

    servo: TorchServo
    """Parameters and state, for randomization: `actuator.servo.randomize("friction_base", 0.8, 1.2, env_ids)`."""
    torque_enable: torch.Tensor
    """Writable: 1 drives the motor, 0 releases it, shape (num_envs, num_joints)."""
    motor_torque: torch.Tensor
    """Motor torque of this step [N·m], shape (num_envs, num_joints)."""
    external_torque: torch.Tensor
    """Load of the last step [N·m], shape (num_envs, num_joints)."""
    inertia: torch.Tensor
    """Writable: inertia that turns with the joint in the initial pose, armature included [kg·m²], shape (num_envs,
    num_joints). Update it when a world's armature changes."""
    dofs: torch.Tensor
    """Indices of the joints in the engine's DOF arrays, shape (num_joints,)."""

    def edit_spec(self, spec: Any, target_names: list[str]) -> None:
        """Add a motor to each joint and set up the joint's friction constraint."""
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
            # The servo's law limits its torque; a range in the engine would only clip it again.
            motor.ctrllimited = motor.forcelimited = False
            joint = spec.joint(name)
            joint.solref_friction = STOP_WITHIN_A_STEP
            joint.solimp_friction = DO_NOT_CREEP
            self._mjs_actuators.append(motor)

    def initialize(self, mj_model: Any, model: Any, data: Any, device: str) -> None:
        """Create the servos once the model is compiled."""
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
        """Return the motors' force [N·m] for the goals in `cmd`, and write this step's friction into the model."""
        self._require_fields_per_world()
        servo, velocity = self.servo, cmd.vel
        torque = servo.propose(cmd.position_target, cmd.pos, velocity, self.torque_enable)
        external = self._external_torque()
        falling = servo.motor_damping()
        change = torch.where(self._moved, STAGGERED * (velocity - self._before), 0.0)
        loads = torque - falling * change, external
        excess = servo.remembered(*loads)
        friction = servo.static_friction(velocity + change, *loads) + excess
        viscous = servo.numbers["friction_viscous"]
        damping = self._implicit(falling + viscous)
        force = torque + (damping - viscous) * velocity
        if servo.contacts != {"rigid"}:
            sliding, at_rest = servo.dry_friction(*loads)
            half = self._implicit(falling)
            inertia = self.inertia + servo.timestep * half
            bristle, slope = servo.bristle_friction(inertia, velocity, torque + external, (sliding + excess, at_rest))
            # The engine's contact solver ignores damping; a larger slope would make its contact forces wrong.
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
        """Advance the servos after the engine's step."""
        self.servo.accept()
        self._before.copy_(self._velocity)
        self._moved.fill_(True)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Reset the servos of some environments."""
        super().reset(env_ids)
        self.servo.reset(env_ids)
        self._moved[slice(None) if env_ids is None else env_ids] = False

    def _implicit(self, falling: torch.Tensor) -> torch.Tensor:
        """Return the part of a damping that is integrated implicitly: half, or more where half would overshoot."""
        stiffness = falling * self.servo.timestep / self.inertia
        return falling * torch.where(stiffness <= 1.0, STAGGERED, 1.0 - STAGGERED / stiffness)

    def _external_torque(self) -> torch.Tensor:
        """Return each joint's load in the last solved step [N·m]."""
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
