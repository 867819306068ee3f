# SPDX-License-Identifier: Apache-2.0
"""Run an exported pendulum in PhysX, without a graphics card and without Isaac Sim.

    python servobench_physx.py NAME.pendulum.usda

swings the pendulum, releases it, and prints its angle. `move` does the same with your own commands. The program shows
how to set a drive's goal and how to release a servo: with a maximum force of 0.

Needs numpy, ovphysx 0.7 or later, and its schemas: pip install ovphysx physx-usd-schemas newton-usd-schemas. PhysX
computes in single precision. Its interface uses degrees; this program uses radians.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import ovphysx
import ovstage
from ovphysx.types import ObjectScope, SimObjectType

__all__ = ["move"]

SCHEMAS = ("PhysxSchema", "OmniUsdPhysicsDeformableSchema")


def move(scene: str | Path, commands: np.ndarray, timestep: float) -> np.ndarray:
    """Move pendulums from rest at 0.

    Call it once per process, because the schemas stay registered.

    Args:
        scene: USD file that holds /Pendulum, /Pendulum1, …
        commands: Goal [rad] and enable (above 0 drives, otherwise releases), shape (pendulums, steps, 2).
        timestep: Time step [s].

    Returns:
        Angles before each time step [rad], shape (pendulums, steps).
    """
    package = distribution("physx-usd-schemas")
    folders = [str(package.locate_file(f"physx_usd_schemas/{name}/resources")) for name in SCHEMAS]
    ovphysx.PhysX.set_cpu_mode(True)
    ovstage.population.register_usd_schemas([*folders, str(ovphysx.newton_schema_root())])
    physx, stage = ovphysx.PhysX(), ovstage.Stage("servobench")
    try:
        ovstage.population.open_usd(stage, str(scene), ordinal=1, domains=ovstage.PopulationDomain.PHYSICS)
        stage.advance_write_floor(ordinal=1).wait()
        physx.wait_task(physx.attach_ovstage(stage, read_ordinal=1))
        physx.wait_all()
        physx.warmup()
        physx.wait_all()
        with ovstage.PathDictionary(stage) as paths:
            joints = _Joints(physx, paths, [f"/Pendulum{number or ''}/Joint" for number in range(len(commands))])
            return _run(physx, joints, commands, timestep)
    finally:
        if physx.is_stage_attached(stage):
            physx.wait_task(physx.detach_ovstage())
        stage.destroy()
        physx.destroy()


class _Joints:
    """Attributes of the pendulums' joints, one number per joint in the order of the paths."""

    def __init__(self, physx: Any, paths: Any, joints: list[str]) -> None:
        self._physx, self._paths = physx, paths
        self._numbers = {path: number for number, path in enumerate(joints)}

    def read(self, attribute: str) -> np.ndarray:
        values = np.full(len(self._numbers), np.nan)
        with self._physx.read_sync(SimObjectType.ARTICULATION_JOINT, [attribute], scope=ObjectScope.ALL) as result:
            for group in result.groups:
                for path, tensor in zip(self._paths.get_path_strings(group.prim_list), group.tensors, strict=True):
                    values[self._numbers[path]] = np.asarray(tensor.numpy()).reshape(-1)[0]
        return values

    def write(self, attribute: str, values: np.ndarray) -> None:
        with self._physx.write_sync(SimObjectType.ARTICULATION_JOINT, attribute) as session:
            for group in session.groups:
                for path, tensor in zip(self._paths.get_path_strings(group.prim_list), group.tensors, strict=True):
                    tensor.fill_(float(values[self._numbers[path]]))
                session.commit_sync(group)


def _run(physx: Any, joints: _Joints, commands: np.ndarray, timestep: float) -> np.ndarray:
    limits, none = joints.read("jointMaxForce"), np.zeros(len(commands))
    joints.write("jointPosition", none)
    joints.write("jointVelocity", none)
    angles = np.empty(commands.shape[:2])
    driven = np.ones(len(commands), dtype=bool)
    for k in range(commands.shape[1]):
        angles[:, k] = np.radians(joints.read("jointPosition"))
        if np.any(driven != (commands[:, k, 1] > 0.0)):
            driven = commands[:, k, 1] > 0.0
            joints.write("jointMaxForce", np.where(driven, limits, 0.0))
        joints.write("jointPositionTarget", np.degrees(commands[:, k, 0]))
        physx.step_sync(timestep)
    return angles


if __name__ == "__main__":
    if len(sys.argv) not in (2, 5):
        sys.exit("usage: python servobench_physx.py NAME.pendulum.usda [COMMANDS.npy TIMESTEP ANGLES.npy]")
    if len(sys.argv) == 5:
        np.save(sys.argv[4], move(sys.argv[1], np.load(sys.argv[2], allow_pickle=False), float(sys.argv[3])))
    else:
        time = 0.001 * np.arange(4000)
        swing = np.stack((np.sin(4.0 * time), time < 2.0), axis=-1)[None]
        for moment, angle in zip(time[::100], move(sys.argv[1], swing, 0.001)[0, ::100], strict=True):
            print(f"{moment:4.1f} s {angle:8.4f} rad")
