# SPDX-License-Identifier: Apache-2.0
"""Domain randomisation in Isaac Lab: each environment's servos are specimens of a fleet.

    servos = EventTermCfg(
        func=specimen_per_env,
        mode="reset",
        params={"asset_cfg": SceneEntityCfg("robot"), "actuators": "arm", "fleet": "mx106.fleet.json"},
    )

for a group of actuators of `servobench_isaaclab` (all numbers of a specimen together, M1–M6), or

    gains, joints = range_events("mx106.fleet.json", SceneEntityCfg("robot", joint_names=["elbow"]))

for the engine's own DC motor of `plain_cfg`: factors of its stiffness and damping, and of the joint's friction and
armature, each drawn by itself. `randomize_joint_parameters` draws static, dynamic and viscous friction one after the
other from the same range: only factors make sense of that, and the range is the Coulomb friction's. The motor's
torque–speed line has no such event and stays the nominal one.

Written for Isaac Lab 2.3 (`isaaclab` 2.3.2); needs `servobench_fleet.py` beside it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from isaaclab.envs import mdp  # pyright: ignore[reportMissingImports]
from isaaclab.managers import EventTermCfg  # pyright: ignore[reportMissingImports]

if __package__:
    from .servobench_fleet import Fleet, read_fleet
else:  # copied beside a script and not into a package
    from servobench_fleet import Fleet, read_fleet


def specimen_per_env(env: Any, env_ids: torch.Tensor | None, asset_cfg: Any, actuators: str, fleet: str) -> None:
    """Event: make the servos of some environments other specimens, each joint its own.

    asset_cfg: the robot; actuators: name of the group; fleet: path of its file.
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


def range_events(fleet: str, asset_cfg: Any, mode: str = "startup") -> tuple[EventTermCfg, EventTermCfg]:
    """Events for the engine's own actuators and joints: the gains', and the joints'; fleet: path of its file."""
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
