"""Run exported scenes in MuJoCo to measure an export's error. Needs the `mujoco` package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError
from core.export.files import slug
from core.export.programs import mujoco_engine
from core.export.protocol import held_commands
from core.export.references import GridRun
from core.export.targets.mujoco.xml import BRAKE_GROUP, DRIVE_GROUP
from core.servo.model import ServoModel


def scene_of(folder: Path | str, model: ServoModel) -> Path:
    """Return the path of the pendulum scene of an export."""
    return Path(folder) / f"{slug(model.title)}.pendulum.xml"


def simulate_in_mujoco(scene: Path, run: GridRun, timestep: float, release_delay: float = 0.0) -> NDArray[np.float64]:
    """Run an exported scene on the trajectory of a run.

    Args:
        scene: The scene's file.
        run: The run.
        timestep: Time step of the engine [s]; goals are held over it.
        release_delay: Delay of a command that releases the motor [s]; the engine delays only goals.

    Returns:
        Positions before each time step [rad].

    Raises:
        ExportError: MuJoCo cannot read the scene, or its command buffer is too short for the time step.
    """
    mujoco = mujoco_engine()
    try:
        engine = mujoco.MjModel.from_xml_path(str(scene))
    except ValueError as error:
        raise ExportError(f"{scene}: MuJoCo rejects it: {error}") from None
    # MuJoCo before 3.7 has no delays.
    delay, held = getattr(engine, "actuator_delay", 0.0), getattr(engine, "actuator_history", np.ones((1, 2)))[:, 0]
    if np.any(delay > np.maximum(held - 1, 0) * timestep + 1e-12):
        raise ExportError(f"{scene}: at a time step of {timestep:g} s a delay is lost: raise nsample")
    engine.opt.timestep = timestep
    data = mujoco.MjData(engine)
    goal, enable = held_commands(run, timestep)
    late = min(round(release_delay / timestep), len(enable))
    driven = np.concatenate((np.full(late, enable[0]), enable[: len(enable) - late]))
    positions = np.empty(len(goal))
    for k in range(len(goal)):
        positions[k] = data.qpos[0]
        data.ctrl[0] = goal[k]
        engine.opt.disableactuator = 1 << (BRAKE_GROUP if driven[k] else DRIVE_GROUP)
        mujoco.mj_step(engine, data)
    return positions
