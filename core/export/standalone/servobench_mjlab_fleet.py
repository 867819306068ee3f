# SPDX-License-Identifier: Apache-2.0
"""Domain randomisation in mjlab: each world's servos are specimens of a fleet.

    events = {"servos": EventTermCfg(func=specimen_per_world, mode="reset", params={"fleet": "mx106.fleet.json"})}

for joints with the actuator of `servobench_mjlab` (all numbers of a specimen together, M1–M6), or

    events = range_events("mx106.fleet.json", SceneEntityCfg("robot", joint_names=("elbow",)))

for mjlab's own position actuator: ranges of its stiffness, damping and torque limit and of the joint's friction,
damping and armature, each drawn by itself.

Written for mjlab 1.6; needs `servobench_fleet.py` beside it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from mjlab.envs.mdp import dr  # pyright: ignore[reportMissingImports]
from mjlab.managers.event_manager import (  # pyright: ignore[reportMissingImports]
    EventTermCfg,
    RecomputeLevel,
    requires_model_fields,
)

if __package__:
    from .servobench_fleet import Fleet, read_fleet
else:  # copied beside a script and not into a package
    from servobench_fleet import Fleet, read_fleet


@requires_model_fields("dof_frictionloss", "dof_damping", "dof_armature", recompute=RecomputeLevel.set_const_0)
def specimen_per_world(env: Any, env_ids: torch.Tensor | None, fleet: str, asset_name: str = "robot") -> None:
    """Event: make the servos of some worlds other specimens, each joint its own; in place of `friction_per_world`.

    fleet: path of its file. Every actuator of `servobench_mjlab` on the asset is drawn from it.
    """
    known = _fleet(fleet)
    chosen = torch.arange(env.num_envs, device=env.device) if env_ids is None else env_ids.to(env.device).long()
    for actuator in env.scene[asset_name].actuators:
        servo = getattr(actuator, "servo", None)
        if servo is None:
            continue
        before = servo.numbers["armature"][chosen].clone()
        servo.become(known.names, known.draws, chosen)
        change = servo.numbers["armature"][chosen] - before
        actuator.inertia[chosen] += change
        dofs = actuator.dofs
        env.sim.model.dof_armature[chosen[:, None], dofs] = servo.numbers["armature"][chosen]


def range_events(fleet: str, asset_cfg: Any, mode: str = "reset") -> dict[str, EventTermCfg]:
    """Events for the engine's own joints and position actuators, by name; fleet: path of its file."""
    known = _fleet(fleet)

    def of(function: Any, names: dict[str, str]) -> EventTermCfg:
        ranges: dict[str, Any] = {argument: known.ranges[name] for argument, name in names.items()}
        positive = all(low > 0.0 for low, _ in ranges.values())
        how = {"operation": "abs", "distribution": "log_uniform" if positive else "uniform"}
        return EventTermCfg(func=function, mode=mode, params={"asset_cfg": asset_cfg, **ranges, **how})

    return {
        "servo_friction": of(dr.joint_friction, {"ranges": "friction"}),
        "servo_viscous": of(dr.joint_damping, {"ranges": "viscous"}),
        "servo_armature": of(dr.joint_armature, {"ranges": "armature"}),
        "servo_gains": of(dr.pd_gains, {"kp_range": "stiffness", "kd_range": "damping"}),
        "servo_torque_limit": of(dr.effort_limits, {"effort_limit_range": "torque_limit"}),
    }


@cache
def _fleet(path: str) -> Fleet:
    return read_fleet(path)
