"""Each syntax of the MuJoCo export in the versions it is for, from their wheels: `python -m tests.bench.syntaxes`.

Installs each version of MuJoCo into a folder of its own (`--folder`, kept for the next time). Prints for each version,
syntax and servo the mean error over the paper's trajectories at 1 ms, or why the engine refuses the file. A refusal
fails the run only where the syntax is said to be for that version. Takes minutes and the package index.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from core.export import export_model
from core.export.references import GridRun, converged_positions, default_bench
from core.export.targets.mujoco.actuators import loads
from core.export.targets.mujoco.xml import BRAKE_GROUP, DRIVE_GROUP, EXPRESSIBLE, SYNTAXES
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from tests.bench.printing import line

VERSIONS = ("3.1.6", "3.6.0", "3.7.0", "3.8.0", "3.9.0", "3.10.0", "3.11.0", "3.12.0", "3.17.0", "4.0.0")
STEP = 1e-3

RUN = f"""
import sys
import mujoco
import numpy as np

scene, commands, found = sys.argv[1:]
model = mujoco.MjModel.from_xml_path(scene)
positions = []
for goals, driven in np.load(commands):
    data = mujoco.MjData(model)
    for goal, drive in zip(goals, driven):
        positions.append(data.qpos[0])
        data.ctrl[0] = goal
        model.opt.disableactuator = 1 << ({BRAKE_GROUP} if drive else {DRIVE_GROUP})
        mujoco.mj_step(model, data)
np.save(found, np.reshape(positions, (-1, goals.size)))
"""
"""What runs in the other versions, which need nothing of this program."""


def servos(syntax: str) -> dict[str, tuple[ServoModel, dict[str, Any]]]:
    """Servos that use every element of a syntax, with the options of their export."""
    values = {"command_delay": 0.01, "error_gain_ratio": 0.9, "goal_slew": 4.0, "release_braking": 0.5}
    kept = {name: values[name] for name in EXPRESSIBLE[syntax]}
    model = build_model("mx106", "m1", command_path=tuple(kept))
    model = replace(model, parameters=model.parameters.with_values(load_model("mx106", "m1").values | kept))
    found = {"voltage law": (model, {}), "current law": (load_model("erob80_100", "m1"), {})}
    if syntax != "3.1":
        stribeck = load_model("mx106", "m2")
        stribeck = replace(stribeck, parameters=stribeck.parameters.with_values({"alpha": 2.0}))
        found["integral gain"] = (load_model("mx106", "m1"), {"ki": 100.0})
        found["LuGre"] = (stribeck, {"friction": "lugre"})
    return found


def install(version: str, folder: Path) -> Path:
    """Folder to import a version of MuJoCo from."""
    place = folder / f"mujoco-{version}"
    if not place.exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", place, f"mujoco=={version}"]
        if version.startswith("4."):  # whose library is a package of its own
            command.append(f"mujoco-core=={version}")
        subprocess.run(command, check=True)
    return place


def main(arguments: Sequence[str] | None = None) -> int:
    """Export everything once, run it in every version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "servobench-mujoco")
    parser.add_argument("versions", nargs="*", default=VERSIONS, help="of MuJoCo; default: %(default)s")
    chosen = parser.parse_args(arguments)
    paths = [make_trajectory(name) for name in PAPER_TRAJECTORIES]
    time = STEP * np.arange(round(min(path.duration for path in paths) / STEP))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        np.save(folder / "commands.npy", [(path.goal(time), path.torque_enable(time)) for path in paths])
        for syntax in SYNTAXES:
            for name, (model, options) in servos(syntax).items():
                place, settings = folder / syntax / name, model.default_settings()
                export_model(model, "mujoco", place, syntax=syntax, **options)
                (scene,) = place.glob("*.pendulum.xml")
                settings = replace(settings, ki=options.get("ki", 0.0))
                bench = default_bench(model)
                runs = [GridRun(trajectory=t, bench=bench, settings=settings) for t in PAPER_TRAJECTORIES]
                expected = np.stack([converged_positions(model, run, STEP)[: time.size] for run in runs])
                for version in chosen.versions:
                    where = install(version, chosen.folder)
                    done = subprocess.run(
                        [sys.executable, "-c", RUN, scene, folder / "commands.npy", folder / "found.npy"],
                        env={**os.environ, "PYTHONPATH": str(where)},
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    title = f"MuJoCo {version}, syntax {syntax}, {name}"
                    if done.returncode == 0:
                        found = np.load(folder / "found.npy")
                        line(title, f"{1e3 * np.abs(found - expected).mean():.2f} mrad")
                    else:
                        failed += loads(syntax, version)
                        line(title, "refused", " ".join(done.stderr.split("Error:", 1)[-1].split())[:60])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
