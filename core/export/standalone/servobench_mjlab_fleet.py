# SPDX-License-Identifier: Apache-2.0
"""Domain randomisation in mjlab: each world's servos are specimens of a fleet.

    events = {"servos": EventTermCfg(func=specimen_per_world, mode="reset", params={"fleet": "mx106.fleet.json"})}

for joints with the actuator of `servobench_mjlab` (all parameters of a specimen together, M1–M6), or

    BamActuatorCfg(..., vin_range=bam_vin_range("mx106.fleet.json"))
    events = {"servos": EventTermCfg(func=bam_specimen_per_world, mode="reset", params={"fleet": "mx106.fleet.json"})}

for Rhoban/bam's own actuator, with one specimen for all joints of a world. The motor is the specimen's: for each world
the actuator has a supply voltage, which stands for U·k_t/R, and gains of error and back-EMF. All worlds share the
nominal friction. Or

    events = range_events("mx106.fleet.json", SceneEntityCfg("robot", joint_names=("elbow",)))

for mjlab's own position actuator: ranges of its stiffness, damping and torque limit and of the joint's friction,
damping and armature, each drawn independently.

Written for mjlab 1.6; needs `servobench_fleet.py` next to it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from mjlab.envs.mdp import dr  # pyright: ignore[reportMissingImports]
from mjlab.managers.event_manager import (  # pyright: ignore[reportMissingImports]
    EventTermCfg,
    RecomputeLevel,
    requires_model_fields,
)

if __package__:
    from .servobench_fleet import Fleet, read_fleet
else:  # copied next to a script, not into a package
    from servobench_fleet import Fleet, read_fleet


@requires_model_fields("dof_frictionloss", "dof_damping", "dof_armature", recompute=RecomputeLevel.set_const_0)
def specimen_per_world(env: Any, env_ids: torch.Tensor | None, fleet: str, asset_name: str = "robot") -> None:
    """Event that gives each joint of some worlds a new specimen; replaces `friction_per_world`.

    Every `servobench_mjlab` actuator of the asset draws from the fleet file at path `fleet`.
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


@requires_model_fields("dof_armature", recompute=RecomputeLevel.set_const_0)
def bam_specimen_per_world(env: Any, env_ids: torch.Tensor | None, fleet: str, asset_name: str = "robot") -> None:
    """Event that gives Rhoban/bam's own actuator the motor and armature of a new specimen, one per world.

    Written for `bam.mjlab.BamActuator` of release 1.0.2; `fleet` is the path of the fleet file.
    """
    known = _fleet(fleet)
    chosen = torch.arange(env.num_envs, device=env.device) if env_ids is None else env_ids.to(env.device).long()
    rows = torch.randint(len(known.draws), (len(chosen),)).numpy()
    supply, back_emf, gain, armature = (
        torch.as_tensor(values[rows, None], dtype=torch.float32, device=env.device) for values in _bam_motors(known)
    )
    asset = env.scene[asset_name]
    for actuator in asset.actuators:
        if not hasattr(actuator, "vin_tensor"):
            continue
        actuator.vin_tensor[chosen] = supply
        actuator.set_gains(chosen, kp_scale=gain, kd_scale=back_emf)
        dofs = asset.indexing.joint_v_adr[actuator.target_ids]
        env.sim.model.dof_armature[chosen[:, None], dofs] = armature


def bam_vin_range(fleet: str) -> tuple[float, float]:
    """Return `BamActuatorCfg.vin_range` [V]: supplies that give the nominal motor the specimens' stall torques."""
    supply = _bam_motors(_fleet(fleet))[0]
    return float(supply.min()), float(supply.max())


def _bam_motors(fleet: Fleet) -> tuple[np.ndarray, ...]:
    """Return what turns the nominal motor into each specimen's, each of shape (draws,).

    Supply voltage [V], factors of back-EMF and error gain, and armature [kg·m²].
    """
    nominal, draws = fleet.nominal, dict(zip(fleet.names, fleet.draws.T, strict=True))
    kt, resistance, kp, armature = (
        draws.get(name, np.full(len(fleet.draws), nominal[name]))
        for name in ("torque_constant", "resistance", "kp", "armature")
    )
    stall = (kt / resistance) / (nominal["torque_constant"] / nominal["resistance"])
    return nominal["supply_voltage"] * stall, stall * kt / nominal["torque_constant"], kp / nominal["kp"], armature


def range_events(fleet: str, asset_cfg: Any, mode: str = "reset") -> dict[str, EventTermCfg]:
    """Return events for the engine's own joints and position actuators; `fleet` is the path of the fleet file."""
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
