# SPDX-License-Identifier: Apache-2.0
"""Servos with identified friction (M1–M6) as actuators of Isaac Lab.

    actuators = {
        "arm": servo_cfg(
            {"shoulder": "mx106.servo.json", "elbow": "mx64.servo.json"},  # by joint name or pattern
            physics_dt=0.005,                                              # SimulationCfg.dt, not the decimated step
            load_inertia={"shoulder": 0.020, "elbow": 0.004},              # kg·m² about the joint, without armature
        )
    }

The goal is the joint position target. Velocity and effort targets are ignored, because the servo has no such inputs.
Control law, motor, command path and friction come from `servobench_torch`. The engine's joint friction is set to 0, and
the engine gets the sum of motor and friction torque. It does not report the load of a joint. The load of the last step
follows from its motion,

    τ_e = J·(v − v_previous)/Δt − τ_applied,        J = load_inertia + armature

and friction is clipped to the torque that stops this J within the step (Duclusaud et al., Algorithm 1, lines 4–6). The
friction of an elastoplastic contact (Cisneros et al.) is evaluated at the velocity of this J at the end of the step.
Estimate J rather too low: the load estimate is stable as long as J exceeds the joint's true inertia by less than a
third.

The engine updates positions with the new velocity, so its velocities lag half a step behind its positions. Therefore
goals act half a step later, and velocity-dependent torques use the velocity half a step later.

`plain_cfg` configures the engine's own DC motor instead, with Coulomb–viscous friction in the engine.

Written for Isaac Lab 2.3 (`isaaclab` 2.3.2); its names are also those of 3.0. Needs `servobench_torch.py` next to it.
Annotations must stay evaluated in this file: `configclass` reads them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from isaaclab.actuators import ActuatorBase, ActuatorBaseCfg, DCMotorCfg  # pyright: ignore[reportMissingImports]
from isaaclab.utils.configclass import configclass  # pyright: ignore[reportMissingImports]

if __package__:
    from .servobench_torch import CONTACTS, STAGGERED, TorchServo, read_servo
else:  # copied next to a script, not into a package
    from servobench_torch import CONTACTS, STAGGERED, TorchServo, read_servo


def servo_cfg(
    servos: Mapping[str, str | Path | Mapping[str, Any]],
    physics_dt: float,
    load_inertia: float | dict[str, float],
    **options: Any,
) -> "ServoBenchActuatorCfg":
    """Configure a group of servos.

    Args:
        servos: Servo files, or their content, by joint name or pattern; each joint matches one pattern.
        physics_dt: Time step of the simulation [s].
        load_inertia: Inertia that turns with each joint, without the armature, which is in the file [kg·m²].
        options: Other fields of the configuration.

    Raises:
        ValueError: A file is not a servo file.
    """
    files = {pattern: read_servo(file) for pattern, file in servos.items()}
    return ServoBenchActuatorCfg(
        joint_names_expr=list(files),
        servos=files,
        physics_dt=physics_dt,
        load_inertia=load_inertia,
        armature={pattern: file["armature"] for pattern, file in files.items()},
        **options,
    )


def plain_cfg(file: str | Path, joint_names_expr: list[str], **options: Any) -> DCMotorCfg:
    """Configure the engine's own DC motor from a `.dcmotor.json`, which uses the names of Isaac Lab 2.

    The velocity target of the joints must stay 0. Raises ValueError for any other file.
    """
    numbers = json.loads(Path(file).read_text(encoding="utf-8"))
    if not isinstance(numbers, dict) or numbers.pop("format", None) != "servobench-dcmotor":
        raise ValueError(f"{file}: not the numbers of a DC motor")
    numbers.pop("zero_offset", None)
    if "actuator_effort_limit" in DCMotorCfg.__dataclass_fields__:
        numbers |= {f"actuator_{name}": numbers.pop(name) for name in ("effort_limit", "velocity_limit")}
    return DCMotorCfg(joint_names_expr=joint_names_expr, **numbers, **options)


class ServoBenchActuator(ActuatorBase):
    """Servos of one group; `servo` computes them, `torque_enable` switches their torque."""

    cfg: "ServoBenchActuatorCfg"
    servo: TorchServo
    """Parameters and state, for randomization: `actuator.servo.randomize("friction_base", 0.8, 1.2, env_ids)`."""
    torque_enable: torch.Tensor
    """Writable: 1 drives the motor, 0 releases it, shape (num_envs, num_joints)."""
    external_torque: torch.Tensor
    """Load of the last step [N·m], shape (num_envs, num_joints)."""
    inertia: torch.Tensor
    """Writable: inertia of load and armature [kg·m²], shape (num_envs, num_joints)."""

    def __init__(self, cfg: "ServoBenchActuatorCfg", *args: Any, **kwargs: Any) -> None:
        super().__init__(cfg, *args, **kwargs)
        numbers = [_servo_of(cfg.servos, name) for name in self.joint_names]
        self.servo = TorchServo(
            numbers, self._num_envs, cfg.physics_dt, lead=STAGGERED, contacts=CONTACTS, device=self._device
        )
        self.inertia = self._parse_joint_parameter(cfg.load_inertia, None) + self.servo.numbers["armature"]
        self.torque_enable = torch.ones_like(self.inertia)
        self.external_torque = torch.zeros_like(self.inertia)
        self._previous_velocity = torch.zeros_like(self.inertia)
        self._moved = torch.zeros(self._num_envs, 1, dtype=torch.bool, device=self._device)

    def reset(self, env_ids: Sequence[int] | torch.Tensor | slice | None) -> None:
        """Reset the servos of some environments."""
        chosen = slice(None) if env_ids is None else env_ids
        self.servo.reset(chosen)
        self._moved[chosen] = False

    def compute(self, control_action: Any, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> Any:
        """Replace the goals in `control_action` by the torque on the joint [N·m]; call it once per step."""
        before = torch.where(self._moved, self._previous_velocity, joint_vel)
        motor = self.servo.staggered_torque(
            control_action.joint_positions, joint_pos, joint_vel, before, self.inertia, self.torque_enable
        )
        load = self.inertia * (joint_vel - self._previous_velocity) / self.servo.timestep - self.applied_effort
        self.external_torque = torch.where(self._moved, load, torch.zeros_like(load))
        friction = self.servo.applied_friction(self.inertia, joint_vel, motor, self.external_torque)
        self._previous_velocity.copy_(joint_vel)
        self._moved.fill_(True)
        self.computed_effort = motor
        self.applied_effort = motor + friction
        control_action.joint_efforts = self.applied_effort
        control_action.joint_positions = None
        control_action.joint_velocities = None
        return control_action


@configclass
class ServoBenchActuatorCfg(ActuatorBaseCfg):
    """Configuration of a group of identified servos; `servo_cfg` fills it from files."""

    class_type: type = ServoBenchActuator
    servos: dict = MISSING  # pyright: ignore[reportAssignmentType]
    """Contents of servo files by joint name pattern."""
    physics_dt: float = MISSING  # pyright: ignore[reportAssignmentType]
    """Time step of the simulation [s]."""
    load_inertia: dict | float = MISSING  # pyright: ignore[reportAssignmentType]
    """Inertia that turns with each joint, without its armature [kg·m²]."""
    stiffness: dict | float | None = 0.0
    damping: dict | float | None = 0.0
    friction: dict | float | None = 0.0
    dynamic_friction: dict | float | None = 0.0
    viscous_friction: dict | float | None = 0.0


def _servo_of(servos: Mapping[str, Any], joint: str) -> Any:
    found = [servo for pattern, servo in servos.items() if re.fullmatch(pattern, joint)]
    if len(found) != 1:
        raise ValueError(f"joint {joint!r}: {len(found)} servo patterns match, exactly one must")
    return found[0]
