"""What exported scenes do in MuJoCo, against the identified model: the export's error, measured.

Needs the `mujoco` package.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.bench import Bench
from core.errors import ExportError
from core.export.files import slug
from core.export.grid import GridRun, converged_positions
from core.export.mujoco_xml import BRAKE_GROUP, DRIVE_GROUP, read_setup
from core.export.programs import mujoco_engine
from core.model import ServoModel
from core.recording import ServoSettings
from core.trajectories import PAPER_TRAJECTORIES, make_trajectory

CHECK_STEP = 1e-4
"""Time step of the check [s]."""


def scene_of(folder: Path | str, model: ServoModel) -> Path:
    """Path of the pendulum scene that an export of the model wrote into a folder."""
    return Path(folder) / f"{slug(model.title)}.pendulum.xml"


def errors_in_mujoco(folder: Path | str, model: ServoModel, timestep: float = CHECK_STEP) -> dict[str, float]:
    """Re-import an export and re-simulate the four trajectories in MuJoCo.

    Returns the mean absolute position error against the converged model by trajectory [mrad]; timestep [s].
    Raises ExportError when the folder holds no export of the model or MuJoCo is not installed.
    """
    scene = scene_of(folder, model)
    setup = read_setup(scene)
    bench, settings = Bench.from_json(dict(setup["bench"])), ServoSettings.from_json(setup["settings"])
    errors = {}
    for name in PAPER_TRAJECTORIES:
        run = GridRun(trajectory=name, bench=bench, settings=settings)
        expected = converged_positions(model, run, timestep)
        actual = simulate_in_mujoco(scene, name, timestep, model.values.get("command_delay", 0.0))
        errors[name] = 1e3 * float(np.abs(actual - expected[: len(actual)]).mean())
    return errors


def simulate_in_mujoco(
    scene: Path, trajectory: str, timestep: float, release_delay: float = 0.0
) -> NDArray[np.float64]:
    """Positions of an exported scene on a trajectory, one before each step [rad]; release_delay [s]."""
    mujoco = mujoco_engine()
    try:
        engine = mujoco.MjModel.from_xml_path(str(scene))
    except ValueError as error:
        raise ExportError(f"{scene}: MuJoCo does not take it: {error}") from None
    engine.opt.timestep = timestep
    data = mujoco.MjData(engine)
    path = make_trajectory(trajectory)
    time = timestep * np.arange(round(path.duration / timestep))
    goal = path.goal(time)
    driven = path.torque_enable(np.maximum(time - release_delay, 0.0))
    positions = np.empty(len(time))
    for k in range(len(time)):
        positions[k] = data.qpos[0]
        data.ctrl[0] = goal[k]
        engine.opt.disableactuator = 1 << (BRAKE_GROUP if driven[k] else DRIVE_GROUP)
        mujoco.mj_step(engine, data)
    return positions
