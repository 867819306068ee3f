# SPDX-License-Identifier: Apache-2.0
"""Domain randomisation in Isaac Lab: each environment's servos are specimens of a fleet.

    servos = EventTermCfg(
        func=specimen_per_env,
        mode="reset",
        params={"asset_cfg": SceneEntityCfg("robot"), "actuators": "arm", "fleet": "mx106.fleet.json"},
    )

for a group of actuators of `servobench_isaaclab` (all parameters of a specimen together, M1–M6). Use

    servos = EventTermCfg(
        func=bam_specimen_per_env,
        mode="reset",
        params={
            "asset_cfg": SceneEntityCfg("robot", joint_names=["elbow"]),
            "actuators": "arm",
            "fleet": "mx106.fleet.json",
        },
    )

for a group of the engine's own BAM drive with the joints `joint_names`, or

    gains, joints = range_events("mx106.fleet.json", SceneEntityCfg("robot", joint_names=["elbow"]))

for the engine's own DC motor of `plain_cfg`: factors of its stiffness and damping, and of the joint's friction and
armature, each drawn independently. `randomize_joint_parameters` draws static, dynamic and viscous friction one after
the other from the same range. Only factors are meaningful for that; the range is the Coulomb friction's. The motor's
torque–speed line has no such event and stays nominal.

Written for Isaac Lab 2.3 (`isaaclab` 2.3.2), the BAM drive for its main branch; needs `servobench_fleet.py` next to it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from isaaclab.envs import mdp  # pyright: ignore[reportMissingImports]
from isaaclab.managers import EventTermCfg  # pyright: ignore[reportMissingImports]

if __package__:
    from .servobench_fleet import Fleet, bam_drive, read_fleet
else:  # copied next to a script, not into a package
    from servobench_fleet import Fleet, bam_drive, read_fleet


def specimen_per_env(env: Any, env_ids: torch.Tensor | None, asset_cfg: Any, actuators: str, fleet: str) -> None:
    """Event that gives each joint of some environments a new specimen.

    Args:
        env: The environment.
        env_ids: Indices of the environments. None: all.
        asset_cfg: The robot.
        actuators: Name of the actuator group.
        fleet: Path of the fleet file.
    """
    known = _fleet(fleet)
    robot = env.scene[asset_cfg.name]
    actuator = robot.actuators[actuators]
    servo = actuator.servo
    chosen = torch.arange(servo.num_envs, device=actuator.inertia.device) if env_ids is None else env_ids
    before = servo.numbers["armature"][chosen].clone()
    servo.become(known.names, known.draws, chosen)
    armature = servo.numbers["armature"][chosen]
    actuator.inertia[chosen] += armature - before
    robot.write_joint_armature_to_sim(armature, joint_ids=actuator.joint_indices, env_ids=chosen)


def bam_specimen_per_env(env: Any, env_ids: torch.Tensor | None, asset_cfg: Any, actuators: str, fleet: str) -> None:
    """Event that gives each joint of some environments with the engine's own BAM drive a new specimen.

    All environments share the nominal delay.

    Args:
        env: The environment.
        env_ids: Indices of the environments. None: all.
        asset_cfg: The robot with the joints of the group.
        actuators: Name of the actuator group.
        fleet: Path of the fleet file.
    """
    from isaaclab.actuators.newton import write_group_parameter  # pyright: ignore[reportMissingImports]

    known = _fleet(fleet)
    robot = env.scene[asset_cfg.name]
    chosen = torch.arange(env.num_envs, device=env.device) if env_ids is None else env_ids
    rows = torch.randint(len(known.draws), (len(chosen), len(asset_cfg.joint_ids))).numpy()
    columns = dict(zip(known.names, known.draws.T, strict=True))
    servo = {**known.nominal, **{name: column[rows] for name, column in columns.items()}}

    def per_joint(value: Any) -> torch.Tensor:
        return torch.as_tensor(np.broadcast_to(value, rows.shape).copy(), dtype=torch.float32, device=env.device)

    for name, value in bam_drive(servo).items():
        write_group_parameter(robot.actuators, actuators, "drive", name, values=per_joint(value), env_ids=chosen)
    where = {"joint_ids": asset_cfg.joint_ids, "env_ids": chosen}
    robot.write_joint_armature_to_sim_index(armature=per_joint(servo["armature"]), **where)
    robot.write_joint_viscous_friction_coefficient_to_sim_index(
        joint_viscous_friction_coeff=per_joint(servo["friction_viscous"]), **where
    )


def range_events(fleet: str, asset_cfg: Any, mode: str = "startup") -> tuple[EventTermCfg, EventTermCfg]:
    """Return the events for the engine's own gains and for its joints; `fleet` is the path of the fleet file."""
    known = _fleet(fleet)
    how = {"operation": "scale", "distribution": "log_uniform"}
    gains = {
        "stiffness_distribution_params": known.factors("stiffness"),
        "damping_distribution_params": known.factors("damping"),
    }
    joints = {
        "friction_distribution_params": known.factors("friction"),
        "armature_distribution_params": known.factors("armature"),
    }
    return (
        EventTermCfg(func=mdp.randomize_actuator_gains, mode=mode, params={"asset_cfg": asset_cfg, **gains, **how}),
        EventTermCfg(func=mdp.randomize_joint_parameters, mode=mode, params={"asset_cfg": asset_cfg, **joints, **how}),
    )


@cache
def _fleet(path: str) -> Fleet:
    return read_fleet(path)
