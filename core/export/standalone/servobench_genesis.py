# SPDX-License-Identifier: Apache-2.0
"""Identified servos in Genesis, with friction M1–M6 at run time or as Genesis' own position drive.

    from servobench_genesis import Servos, set_drive

    scene.build(n_envs=1024)
    servos = Servos(scene, robot, {"shoulder": "mx106-m6.servo.json", "elbow": "mx64-m6.servo.json"})
    servos.step(goals)                    # rad, (n_envs, 2) or (2,); the same as servos.update(...) and scene.step()

    drive = set_drive(scene, robot, {"shoulder": "mx106-m1.genesis.json"})  # or Genesis' own drive
    drive.command([0.5])                                                  # rad, until the next command
    drive.release()                                                       # torque off

`Servos` computes control law and motor with `servobench_torch` and sets the joints' force. Friction is the engine's:
before each step, the static part of the budget becomes the joint's frictionloss, and the engine's solver finds the
friction torque together with contacts and all joints (Duclusaud et al., section IV-E). Loads are those of the previous
step. Genesis updates positions with the new velocity, so its velocities lag half a step behind its positions. Therefore
the budget uses the velocity half a step later, and the engine integrates half of the velocity-dependent torque (viscous
friction, back-EMF, velocity gain) implicitly, as damping.

Use one substep per step. Separate friction for each environment needs `RigidOptions(batch_dofs_info=True)`. Written for
Genesis 1.4; needs `servobench_torch.py` next to it. Next to the pendulum,

    python servobench_genesis.py NAME.genesis.xml NAME.servo.json

swings it, releases it and prints its angle.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import math
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import genesis as gs
import numpy as np
import torch

if __package__:
    from .servobench_torch import STAGGERED, TorchServo
else:  # copied next to a script, not into a package
    from servobench_torch import STAGGERED, TorchServo

__all__ = ["Drive", "Servos", "move", "set_drive"]

ServoFile = str | Path | Mapping[str, Any]
DRIVE_FORMAT = "servobench-drive"
DRIVE_NUMBERS = ("kp", "kv", "torque_limit", "armature", "damping", "driven_damping", "frictionloss")
"""N·m/rad, N·m·s/rad, N·m, kg·m², N·m·s/rad, N·m·s/rad, N·m; `driven_damping` is the back-EMF of a driven joint."""
_LARGEST = 1.7976931348623157e308
"""Largest float; JSON integers may be larger."""
IMPEDANCE = (1.0, 0.9999, 0.9999, 0.001, 0.5, 2.0)
"""Impedance of the friction constraint, after its time constant: the stiffest possible, so that joints do not creep."""
SMALLEST_BUDGET = 1e-6
"""Smallest budget [N·m]: at 0 the engine would remove the joint's row from its constraints."""
PROBE = 1e-2
"""Velocity step for the finite-difference slope of the motor torque [rad/s]."""


class Servos:
    """Servos on joints of an entity, in every environment; tensors have shape (environments, joints)."""

    servo: TorchServo
    """Parameters and state, for randomization: `servos.servo.randomize("friction_base", 0.8, 1.2)`."""
    motor_torque: torch.Tensor
    """Motor torque of the last update [N·m]."""
    external_torque: torch.Tensor
    """Load used for the friction of the last update [N·m]."""

    def __init__(self, scene: Any, entity: Any, joints: Mapping[str, ServoFile]) -> None:
        """Put servos on joints and set the joints' armature, damping, friction and force range to the servos'.

        Args:
            scene: A built scene.
            entity: The entity with the joints.
            joints: Servo file, or its content, by name of a hinge or slide joint.

        Raises:
            ValueError: The scene, a joint or a file is unsuitable.
        """
        self._scene, self._entity, self._solver = scene, entity, entity.solver
        self.names, self._dofs = tuple(joints), _prepare(scene, entity, tuple(joints))
        self._step = float(scene.sim.substep_dt)
        self._single = scene.n_envs == 0
        self.servo = TorchServo(
            list(joints.values()), max(scene.n_envs, 1), self._step, lead=STAGGERED, device=gs.device, dtype=gs.tc_float
        )
        self._set("armature", self.servo.numbers["armature"])
        self._set("frictionloss", self.servo.numbers["friction_base"] + SMALLEST_BUDGET)
        self.reset()

    def reset(self, env_ids: Any = None) -> None:
        """Reset the servos' state in some or all environments, e.g. after moving joints by hand."""
        self.servo.reset(env_ids)
        chosen = slice(None) if env_ids is None else env_ids
        velocity = self._get("velocity")
        if env_ids is None:
            self._velocity = velocity.clone()
            self.motor_torque, self.external_torque = torch.zeros_like(velocity), torch.zeros_like(velocity)
            self._stepped = torch.zeros(len(velocity), 1, dtype=torch.bool, device=velocity.device)
        self._velocity[chosen] = velocity[chosen]
        self._stepped[chosen] = False

    def become(self, names: Sequence[str], specimens: Any, env_ids: Any = None) -> None:
        """Turn the servos of some environments into other specimens of a fleet; see `TorchServo.become`.

        Separate armatures for each environment need `RigidOptions(batch_dofs_info=True)`.
        """
        self.servo.become(names, specimens, env_ids)
        self._set("armature", self.servo.numbers["armature"])

    def update(self, goals: Any, enable: Any = 1.0) -> None:
        """Prepare the next `scene.step()`; call it before each step.

        Args:
            goals: Goals [rad], broadcast to (environments, joints).
            enable: 1 drives, 0 releases; broadcast to (environments, joints).
        """
        position, velocity = self._get("position"), self._get("velocity")
        goals, enable = (torch.as_tensor(x).to(position).expand_as(position) for x in (goals, enable))
        viscous = self.servo.numbers["friction_viscous"]
        self.external_torque = torch.where(self._stepped, self._load(), torch.zeros_like(velocity))
        faster = self.servo.propose(goals, position, velocity + PROBE, enable)
        torque = self.servo.motor_torque(goals, position, velocity, enable)
        slope = torch.clamp((torque - faster) / PROBE, min=0.0)
        rate = 0.5 * (velocity - self._velocity)
        loads = torque - slope * rate, self.external_torque
        budget = self.servo.static_friction(velocity + rate, *loads) + self.servo.remembered(*loads)
        damping = 0.5 * (slope + viscous)
        self._set("frictionloss", budget + SMALLEST_BUDGET)
        self._set("damping", damping)
        force = torque - viscous * velocity + damping * velocity
        self._entity.control_dofs_force(force[0] if self._single else force, self._dofs)
        self.motor_torque, self._velocity = torque, velocity.clone()
        self._stepped.fill_(True)

    def step(self, goals: Any, enable: Any = 1.0, steps: int = 1) -> None:
        """Update the servos and step the scene, `steps` times with the same commands."""
        for _ in range(steps):
            self.update(goals, enable)
            self._scene.step()

    def _get(self, name: str) -> torch.Tensor:
        value = getattr(self._entity, f"get_dofs_{name}")(self._dofs)
        return value[None] if self._single else value

    def _set(self, name: str, value: torch.Tensor) -> None:
        shared = self._single or not self._solver._options.batch_dofs_info
        getattr(self._entity, f"set_dofs_{name}")(value[0] if shared else value, self._dofs)

    def _load(self) -> torch.Tensor:
        """Return the torque on each joint in the last step without motor, damping and friction [N·m]."""
        dofs = [self._entity.dof_start + dof for dof in self._dofs]
        # The engine's "actuator force" is the joint's force, damping and friction, without the torque of the armature.
        other = self._solver.get_dofs_force(dofs) - self._solver.get_dofs_actuator_force(dofs)
        return other - self.servo.numbers["armature"] * self._solver.get_dofs_acc(dofs)


class Drive:
    """Genesis' own position drive on joints of an entity; use `set_drive`."""

    def __init__(self, entity: Any, dofs: Sequence[int], numbers: Mapping[str, Mapping[str, float]]) -> None:
        """Store the drives: `numbers` by joint name, in the order of the entity's `dofs`."""
        self._entity = entity
        self._dofs = dict(zip(numbers, dofs, strict=True))
        self._released = {name: drive["damping"] for name, drive in numbers.items()}
        self._driven = {name: drive["damping"] + drive["driven_damping"] for name, drive in numbers.items()}

    def command(self, goals: Any, joints: Sequence[str] | None = None, envs: Any = None) -> None:
        """Drive joints to goals until the next command.

        Args:
            goals: Goals [rad], shape (joints,) or (environments, joints).
            joints: Names of the joints. None: all.
            envs: Indices of the environments. None: all.
        """
        self._entity.control_dofs_position(goals, self._damp(joints, envs, self._driven), envs)

    def release(self, joints: Sequence[str] | None = None, envs: Any = None) -> None:
        """Switch the torque off until the next command: an open circuit, only friction remains."""
        dofs = self._damp(joints, envs, self._released)
        shape = (len(dofs),) if envs is None else (len(envs), len(dofs))
        self._entity.control_dofs_force(torch.zeros(shape, dtype=gs.tc_float, device=gs.device), dofs, envs)

    def _damp(self, joints: Sequence[str] | None, envs: Any, damping: Mapping[str, float]) -> list[int]:
        names = list(self._dofs) if joints is None else list(joints)
        dofs = [self._dofs[name] for name in names]
        values = [damping[name] for name in names]
        self._entity.set_dofs_damping(values if envs is None else [values] * len(envs), dofs, envs)
        return dofs


def set_drive(scene: Any, entity: Any, joints: Mapping[str, ServoFile]) -> Drive:
    """Give joints of a built scene a servo's drive, friction and armature.

    Args:
        scene: A built scene.
        entity: The entity with the joints.
        joints: Drive file, or its content, by joint name.

    Raises:
        ValueError: A joint or file is unsuitable.
    """
    files = {name: _read_drive(file) for name, file in joints.items()}
    dofs = _prepare(scene, entity, tuple(joints))
    column = {number: [file[number] for file in files.values()] for number in DRIVE_NUMBERS}
    for name in ("kp", "kv", "armature", "damping", "frictionloss"):
        getattr(entity, f"set_dofs_{name}")(_for_all(scene, entity, column[name]), dofs)
    limits = _for_all(scene, entity, column["torque_limit"])
    entity.set_dofs_force_range(-limits, limits, dofs)
    return Drive(entity, dofs, files)


def _for_all(scene: Any, entity: Any, values: Sequence[float]) -> torch.Tensor:
    """Return the joints' values, repeated for each environment if environments have their own."""
    row = torch.tensor(values, dtype=gs.tc_float, device=gs.device)
    return row.expand(scene.n_envs, -1) if scene.n_envs and entity.solver._options.batch_dofs_info else row


def move(
    model: str | Path, servos: Sequence[str | Path], commands: np.ndarray, time_step: float, precision: str = "64"
) -> np.ndarray:
    """Move pendulums side by side, each from rest at 0. Starts Genesis, so call it once per process.

    Args:
        model: MJCF file.
        servos: Servo or drive file of each joint of the model.
        commands: Goal [rad] and enable, shape (runs, steps, 2). All joints have the same number of runs, those of the
            first joint come first. The joints of an environment are driven together.
        time_step: Time step [s].
        precision: "32" or "64".

    Returns:
        Angles before each time step [rad], shape (runs, steps).
    """
    gs.init(backend=gs.cpu, precision=precision, logging_level="error")
    option = ET.parse(model).getroot().find("option")
    gravity = (0.0, 0.0, -9.80665) if option is None else tuple(map(float, option.attrib["gravity"].split()))
    scene = gs.Scene(
        sim_options=gs.options.SimOptions(dt=time_step, gravity=gravity),
        rigid_options=gs.options.RigidOptions(batch_dofs_info=True, enable_collision=False),
        show_viewer=False,
    )
    robot = scene.add_entity(gs.morphs.MJCF(file=str(model)))
    runs, steps = commands.shape[:2]
    scene.build(n_envs=runs // len(servos))
    is_drive = json.loads(Path(servos[0]).read_text(encoding="utf-8")).get("format") == DRIVE_FORMAT
    names = [joint.name for joint in robot.joints if joint.n_dofs == 1]
    driver = (set_drive if is_drive else Servos)(scene, robot, dict(zip(names, servos, strict=True)))
    goals, enables = commands.reshape(len(servos), -1, steps, 2).transpose(3, 2, 1, 0)
    angles = np.empty_like(goals)
    for k in range(steps):
        angles[k] = robot.get_dofs_position().cpu().numpy()
        driven = enables[k] > 0.0
        if isinstance(driver, Servos):
            driver.update(goals[k], driven)
        else:
            on, off = np.flatnonzero(driven[:, 0]), np.flatnonzero(~driven[:, 0])
            if len(on):
                driver.command(goals[k, on], envs=on)
            if len(off):
                driver.release(envs=off)
        scene.step()
    return angles.transpose(2, 1, 0).reshape(runs, steps)


def _prepare(scene: Any, entity: Any, names: tuple[str, ...]) -> list[int]:
    """Prepare joints for a servo and return their degrees of freedom."""
    if not scene.is_built:
        raise ValueError("build the scene first")
    if scene.sim.substeps != 1:
        raise ValueError(f"the scene has {scene.sim.substeps} substeps per step; use a shorter step with one substep")
    if scene.n_envs > 1 and not entity.solver._options.batch_dofs_info:
        raise ValueError("separate friction for each environment needs RigidOptions(batch_dofs_info=True)")
    known = {joint.name: joint for joint in entity.joints}
    dofs = []
    for name in names:
        joint = known.get(name)
        if joint is None or joint.n_dofs != 1:
            raise ValueError(f"the entity has no hinge or slide joint {name!r}; it has {', '.join(known)}")
        joint.set_sol_params((2.0 * float(scene.sim.substep_dt), *IMPEDANCE))
        dofs.append(int(joint.dofs_idx_local[0]))
    no_limit = _for_all(scene, entity, [math.inf] * len(dofs))
    entity.set_dofs_force_range(-no_limit, no_limit, dofs)
    return dofs


def _read_drive(source: ServoFile) -> dict[str, float]:
    data = dict(source) if isinstance(source, Mapping) else json.loads(Path(source).read_text(encoding="utf-8"))
    if data.get("format") != DRIVE_FORMAT or data.get("version") != 1:
        raise ValueError(f"{source}: not a drive of version 1")
    wrong = [
        name
        for name in DRIVE_NUMBERS
        if not isinstance(data.get(name), (int, float)) or not 0 <= data[name] <= _LARGEST
    ]
    if wrong:
        raise ValueError(f"{source}: {', '.join(f'{name} = {data.get(name)!r}' for name in wrong)}: impossible value")
    return {name: float(data[name]) for name in DRIVE_NUMBERS}


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(
            "usage: python servobench_genesis.py SCENE.xml SERVO.json [[SERVO.json…] COMMANDS.npy STEP ANGLES.npy]"
        )
    if sys.argv[-1].endswith(".npy"):
        scene_file, *servo_files, commands_file, step, angles_file = sys.argv[1:]
        np.save(angles_file, move(scene_file, servo_files, np.load(commands_file, allow_pickle=False), float(step)))
    else:
        time = 0.002 * np.arange(2000)
        swing = np.stack((np.sin(4.0 * time), time < 2.0), axis=-1)[None]
        for moment, angle in zip(time[::50], move(sys.argv[1], sys.argv[2:], swing, 0.002)[0, ::50], strict=True):
            print(f"{moment:4.1f} s {angle:8.4f} rad")
