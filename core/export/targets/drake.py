"""Export to Drake: a program that puts servos with friction M1–M6 on the joints of a plant, and a pendulum.

Drake's joints have viscous damping and no other friction; its parsers warn and ignore it. The program,
`core/export/standalone/servobench_drake.py`, is a system that computes motor and friction torque. The pendulum is
SDFormat with Drake's own elements `drake:rotor_inertia` and `drake:gear_ratio`. Without the program, its joint has the
servo's armature, viscous friction and stall torque.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import printable, slug
from core.export.notes import settings_note, zero_comment
from core.export.programs import engine, program, require_unchanged
from core.export.protocol import held_commands, measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_numbers, servo_text, standalone_text
from core.export.targets.mujoco.actuators import bench_title
from core.export.targets.mujoco.xml import numbers, pendulum_inertial
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

PROGRAMS = ("servobench_drake.py", "servobench_servo.py")
SDF_VERSION = "1.9"
DRAKE = "http://drake.mit.edu"
"""Namespace of Drake's elements in SDFormat."""
JOINT, LINK = "servo", "pendulum"
LONGEST_STEP = 0.005
"""Longest time step for which the program was measured [s]."""


def write_drake(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the programs, the servo's numbers and a pendulum; raise ExportError for impossible options."""
    settings = settings_of(model, options, "drake")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    servo, pendulum = f"{name}.servo.json", f"{name}.drake.sdf"
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        servo: servo_text(model, settings),
        pendulum: pendulum_text(name, model, bench, settings),
    }
    meanings = {
        PROGRAMS[0]: "puts servos on the joints of a plant; needs drake and numpy, faster with numba",
        PROGRAMS[1]: "the servo itself, which the program above uses",
        servo: "parameters of this servo",
        pendulum: f"pendulum, {printable(bench_title(bench))}, SDFormat {SDF_VERSION} with Drake's elements",
    }
    notes = [
        "Drake's only joint friction is viscous damping. The pendulum's file holds that damping, the armature as "
        "`drake:rotor_inertia` with `drake:gear_ratio` 1, and the stall torque as `effort`. `attach` sets the armature "
        "and removes damping and limit, because the program computes its own.",
        f"For discrete plants with a time step of up to {LONGEST_STEP * 1e3:g} ms. Commands given for a step act half "
        "a step later on average.",
        "`Diagram.Clone()` copies the servos with their numbers, for parallel studies. They compute with floats only "
        "and cannot be differentiated.",
        "For torque off, set the input port `enable` to 0 per joint; the motor then behaves as an identified released "
        "one.",
        f"The pendulum is made for a gravity of {bench.gravity:g} m/s², which the file of a single model cannot hold. "
        "Drake's default is 9.81.",
        settings_note(model, settings),
    ]
    return exported(folder, model, "drake", "Drake", contents, meanings, notes, _usage(servo, pendulum))


def pendulum_text(name: str, model: ServoModel, bench: Bench, settings: ServoSettings) -> str:
    """Return the pendulum bench with the servo's joint, fixed to the world, as SDFormat."""
    root = ET.Element("sdf", {"version": SDF_VERSION, "xmlns:drake": DRAKE})
    body = ET.SubElement(root, "model", name=name)
    mass, distance, inertia = pendulum_inertial(bench)
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    link = ET.SubElement(body, "link", name=LINK)
    inertial = ET.SubElement(link, "inertial")
    pose = (distance * math.sin(offset), 0.0, -distance * math.cos(offset), 0.0, 0.0, 0.0)
    _add(inertial, "pose", *pose)
    _add(inertial, "mass", mass)
    tensor = ET.SubElement(inertial, "inertia")
    for entry in ("ixx", "iyy", "izz"):
        _add(tensor, entry, inertia)
    for entry in ("ixy", "ixz", "iyz"):
        _add(tensor, entry, 0.0)
    joint = ET.SubElement(body, "joint", name=JOINT, type="revolute")
    if zero_comment(model):
        joint.append(ET.Comment(f" {zero_comment(model)} "))
    ET.SubElement(joint, "parent").text = "world"
    ET.SubElement(joint, "child").text = LINK
    axis = ET.SubElement(joint, "axis")
    # Looking along +y with x to the right and z up, counter-clockwise is positive and 0 hangs down.
    _add(axis, "xyz", 0.0, -1.0, 0.0)
    _add(ET.SubElement(axis, "dynamics"), "damping", model.values["friction_viscous"])
    _add(ET.SubElement(axis, "limit"), "effort", _stall_torque(model, settings))
    _add(joint, "drake:rotor_inertia", model.values["armature"])
    _add(joint, "drake:gear_ratio", 1.0)
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add(parent: ET.Element, tag: str, *values: float) -> None:
    ET.SubElement(parent, tag).text = numbers(*values)


def _stall_torque(model: ServoModel, settings: ServoSettings) -> float:
    own = servo_numbers(model, settings)
    by_supply = settings.supply_voltage / own["resistance"]
    current = own["output_limit"]
    stall = min(current, by_supply) if model.control.law == "current" else current * by_supply
    return own["torque_constant"] * min(stall, own.get("current_limit", stall))


def check_drake(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the exported pendulum with the exported servo in Drake."""
    engine("pydrake", "Drake", "drake")
    require_unchanged(folder, PROGRAMS)
    name = slug(model.title)

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> NDArray[np.float64]:
        commands = [held_commands(run, step) for run in runs]
        steps = min(len(goals) for goals, _ in commands)
        goals, enables = (np.array([command[k][:steps] for command in commands]).T for k in (0, 1))

        def commands_at(t: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return goals[round(t / step)], enables[round(t / step)]

        moved = program("servobench_drake").simulate(
            place / f"{name}.drake.sdf",
            {JOINT: place / f"{name}.servo.json"},
            commands_at,
            step * steps,
            step,
            runs[0].bench.gravity,
            len(runs),
        )
        return moved.T

    rollout = rollout_of_files(model, folder, options, write_drake, simulate)
    return measured(model, options, "drake", f"run in Drake {version('drake')}", rollout, engine="Drake")


def _usage(servo: str, pendulum: str) -> str:
    return f"""\
Instead of `plant.Finalize()`, for revolute and prismatic joints of your robot:

```python
from servobench_drake import attach

servos = attach(builder, plant, {{"shoulder": "{servo}", "elbow": "{servo}"}})
builder.ExportInput(servos.GetInputPort("goal"), "goal")  # rad, in the order of the joints
```

`attach` connects the plant's state and actuation. Connect the torques of other actuators to the input port `others`.
The output ports `motor_torque`, `friction_torque` and `external_torque` hold the torques of the step.
`python servobench_drake.py {pendulum} {servo}` swings the pendulum, releases it and prints its angle.
"""


EXPORTER = Exporter(
    target="drake",
    title="Drake",
    description="M1–M6, control law and command path as identified: a system between a plant's state and actuation.",
    options=ServoOptions,
    write=write_drake,
    check=check_drake,
    any_law=True,
    load_memory=True,
    engine="Drake",
    package="pydrake",
    install="drake",
)
