"""Export to PyBullet: a program that puts servos with friction M1–M6 on the joints of a body, and a pendulum.

Bullet's joints have no armature, and no friction other than a motor that holds a velocity of 0. The program,
`core/export/standalone/servobench_pybullet.py`, computes both as torques.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import slug
from core.export.notes import settings_note
from core.export.programs import engine, program, require_unchanged
from core.export.protocol import held_commands, measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_text, standalone_text
from core.export.targets.mujoco.xml import xml_text
from core.export.targets.urdf import JOINT, robot_element
from core.servo.model import ServoModel

PROGRAMS = ("servobench_pybullet.py", "servobench_servo.py")
LONGEST_STEP = 0.005
"""Longest time step for which the program was measured [s]."""


def write_pybullet(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the programs, the servo's numbers and a pendulum; raise ExportError for impossible options."""
    settings = settings_of(model, options, "pybullet")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    servo, pendulum = f"{name}.servo.json", f"{name}.pybullet.urdf"
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        servo: servo_text(model, settings),
        pendulum: xml_text(robot_element(name, None, bench, offset)),
    }
    meanings = {
        PROGRAMS[0]: "puts servos on the joints of a body; needs pybullet and numpy, faster with numba",
        PROGRAMS[1]: "the servo itself, which the program above uses",
        servo: "parameters of this servo",
        pendulum: f"pendulum, {bench.mass:g} kg at {bench.length:g} m, a complete robot (URDF)",
    }
    notes = [
        "Bullet's joints have no armature. Its torque is computed from the joint's predicted acceleration, which lacks "
        "this step's contacts: a joint that hits something hard yields in that step as if its armature were smaller.",
        "`Servos` sets Bullet's own damping of the body to 0 and raises its joint velocity limit out of reach.",
        f"For time steps of up to {LONGEST_STEP * 1e3:g} ms, which includes PyBullet's default of 1/240 s. Commands "
        "given for a step act half a step later on average.",
        "For a body that is not fixed to the world, all loads, gravity included, are those of the previous step.",
        "For torque off, pass `enable` 0 per joint; the motor then behaves as an identified released one.",
        settings_note(model, settings),
    ]
    return exported(folder, model, "pybullet", "PyBullet", contents, meanings, notes, _usage(servo, pendulum))


def _held(commands: NDArray[np.float64], step: float, moment: float) -> NDArray[np.float64]:
    return commands[round(moment / step)]


def check_pybullet(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the exported pendulum with the exported servo in PyBullet."""
    engine("pybullet", "PyBullet", "pybullet")
    require_unchanged(folder, PROGRAMS)
    name = slug(model.title)

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> Iterator[NDArray[np.float64]]:
        scene, servo = place / f"{name}.pybullet.urdf", place / f"{name}.servo.json"
        for run in runs:
            commands = np.stack(held_commands(run, step), axis=1)
            move = program("servobench_pybullet").simulate
            yield move(
                scene,
                {JOINT: servo},
                partial(_held, commands, step),
                step * len(commands),
                step,
                run.bench.gravity,
            )[:, 0]

    rollout = rollout_of_files(model, folder, options, write_pybullet, simulate)
    return measured(model, options, "pybullet", f"run in PyBullet {version('pybullet')}", rollout, engine="PyBullet")


def _usage(servo: str, pendulum: str) -> str:
    return f"""\
For revolute and prismatic joints of a body:

```python
import pybullet as p
from servobench_pybullet import Servos

robot = p.loadURDF("robot.urdf", useFixedBase=True, flags=p.URDF_USE_INERTIA_FROM_FILE)
servos = Servos(robot, {{"shoulder": "{servo}", "elbow": "{servo}"}})
while True:
    servos.step([0.5, -0.2])  # rad, in the order of the joints; in place of p.stepSimulation()
```

With other bodies or motors, call `servos.update(goals)` for each and then `p.stepSimulation()` once. `motor_torque`,
`friction_torque` and `external_torque` hold the torques of the last step.
`python servobench_pybullet.py {pendulum} {servo}` swings the pendulum, releases it and prints its angle.
"""


EXPORTER = Exporter(
    target="pybullet",
    title="PyBullet",
    description="M1–M6, control law and command path as identified: a program that sets the torques of joints.",
    options=ServoOptions,
    write=write_pybullet,
    check=check_pybullet,
    any_law=True,
    load_memory=True,
    engine="PyBullet",
    package="pybullet",
    install="pybullet",
)
