"""Export to MuJoCo with friction M1–M6 at run time: a program that sets the friction before each step.

Nothing is approximated, not even an elastoplastic contact. The program, `core/export/standalone/servobench_mujoco.py`,
also computes control law, motor and command path. The export adds the servo's numbers, a pendulum, a 2R arm and an
example.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import printable, slug
from core.export.notes import bristle_notes, settings_note
from core.export.programs import mujoco_engine, program, require_unchanged
from core.export.protocol import held_commands, measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_text, standalone_text
from core.export.targets.mujoco.actuators import bench_title
from core.export.targets.mujoco.xml import (
    add_backlash,
    backlash_notes,
    joint_attributes,
    numbers,
    pendulum_element,
    pendulum_inertial,
    xml_text,
)
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACTS

PROGRAMS = ("servobench_mujoco.py", "servobench_servo.py")


def write_hook(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the programs, the servo's numbers, two scenes and an example."""
    settings = settings_of(model, options, "mujoco-hook")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    servo, scene, arm, example = (f"{name}.{end}" for end in ("servo.json", "hook.xml", "hook-arm.xml", "example.py"))
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        servo: servo_text(model, settings, backlash=True),
        scene: xml_text(pendulum_scene(name, model, bench, settings, options.timestep)),
        arm: xml_text(arm_example(name, model, bench, options.timestep)),
        example: _example(servo, scene, arm),
    }
    meanings = {
        PROGRAMS[0]: "puts servos on the joints of a MuJoCo model; needs mujoco and numpy, faster with numba",
        PROGRAMS[1]: "the servo itself, which the program above uses",
        servo: "parameters of this servo",
        scene: f"pendulum, {printable(bench_title(bench))}",
        arm: "arm with two of these servos",
        example: "runs both scenes",
    }
    notes = [
        (
            f"Fixed by this export: kp {settings.kp:g}, supply {settings.supply_voltage:g} V. Both can be changed at "
            'run time; `servos.numbers["kp"]` is per rad of position error.'
            if model.control.command == "position"
            else settings_note(model, settings)
        ),
        "Time steps of up to 5 ms with integrator `Euler`, `implicit` or `implicitfast`.",
        "`attach` and every `update` refuse settings that would change the servo: RK4; friction, `refsafe`, damping or "
        "actuation switched off; `actuatorfrcrange`, `ctrlrange` and `forcerange`; a time step other than at "
        "`attach`; commands that are not finite; and steps taken without `update`.",
        "The program cannot detect that `mujoco.rollout`, MJX and MuJoCo Warp do not call it: they take goals as raw "
        "torques. Export to `mujoco-plugin` for rollouts and threads, to `mjlab` for MuJoCo Warp.",
        "Commands given for a step act half a step later on average, as with a servo that polls them.",
        "For torque off, pass `enable` 0 to `update`, per joint.",
        *bristle_notes(model, "`servos.reset()`"),
        *backlash_notes(model, "`attach` sets its range, and `servos.reset()` lets loads lean on the teeth."),
    ]
    return exported(
        folder, model, "mujoco-hook", "MuJoCo with friction at run time", contents, meanings, notes, _usage(servo)
    )


def pendulum_scene(name: str, model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float) -> ET.Element:
    """Return the pendulum bench with a plain motor."""
    root = pendulum_element(name, model, bench, settings, timestep)
    _add_class(root, name, model)
    add_backlash(root, model)
    ET.SubElement(ET.SubElement(root, "actuator"), "motor", name="servo", joint="servo")
    return root


def arm_example(name: str, model: ServoModel, bench: Bench, timestep: float) -> ET.Element:
    """Return an arm of two links with half the bench's load each and servos at shoulder and elbow."""
    root = ET.Element("mujoco", model=f"{name} arm")
    ET.SubElement(root, "compiler", angle="radian")
    gravity = numbers(0.0, 0.0, -bench.gravity)
    ET.SubElement(root, "option", timestep=numbers(timestep), integrator="implicitfast", gravity=gravity)
    _add_class(root, name, model)
    mass, distance, inertia = pendulum_inertial(bench)
    length = max(distance, 0.01)
    parent = ET.SubElement(root, "worldbody")
    actuators = ET.SubElement(root, "actuator")
    for joint, place in (("shoulder", 0.0), ("elbow", -length)):
        parent = ET.SubElement(parent, "body", name=f"{joint}-link", pos=numbers(0.0, 0.0, place))
        ET.SubElement(parent, "joint", {"name": joint, "class": name, "axis": "0 -1 0"})
        ET.SubElement(
            parent,
            "inertial",
            pos=numbers(0.0, 0.0, -0.5 * length),
            mass=numbers(0.5 * mass),
            diaginertia=numbers(*(3 * [0.25 * inertia + 1e-6])),
        )
        shape = {"type": "capsule", "fromto": numbers(0.0, 0.0, 0.0, 0.0, 0.0, -length), "size": numbers(0.05 * length)}
        ET.SubElement(parent, "geom", shape | {"contype": "0", "conaffinity": "0"})
        ET.SubElement(actuators, "motor", name=joint, joint=joint)
    add_backlash(root, model)
    return root


def check_hook(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the exported pendulum with the exported servo in MuJoCo."""
    version, name = mujoco_engine().__version__, slug(model.title)
    require_unchanged(folder, PROGRAMS)

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> list[NDArray[np.float64]]:
        scene, servo = place / f"{name}.hook.xml", place / f"{name}.servo.json"
        return [simulate_hook(scene, servo, run, step) for run in runs]

    rollout = rollout_of_files(model, folder, options, write_hook, simulate)
    return measured(model, options, "mujoco-hook", f"run in MuJoCo {version}", rollout)


def simulate_hook(scene: Path, servo: Path, run: GridRun, timestep: float) -> NDArray[np.float64]:
    """Return an exported scene's positions before each step [rad]; goals are held over a `timestep` [s]."""
    mujoco = mujoco_engine()
    try:
        engine = mujoco.MjModel.from_xml_path(str(scene))
        engine.opt.timestep = timestep
        data = mujoco.MjData(engine)
        servos = program("servobench_mujoco").attach(engine, data, {"servo": servo})
    except ValueError as error:
        raise ExportError(f"{scene}: MuJoCo rejects it: {error}") from None
    goals, enable = held_commands(run, timestep)
    positions = np.empty(len(goals))
    for k in range(len(goals)):
        positions[k] = data.qpos.sum()
        servos.step(goals[k], enable[k])
    return positions


def _add_class(root: ET.Element, name: str, model: ServoModel) -> None:
    values = model.values
    default = ET.Element("default")
    joint = joint_attributes(values["armature"], values["friction_viscous"], values["friction_base"])
    ET.SubElement(ET.SubElement(default, "default", {"class": name}), "joint", joint)
    root.insert(1, default)


def _example(servo: str, scene: str, arm: str) -> str:
    return f"""\
\"\"\"Move the pendulum, then the arm, and print their final positions.\"\"\"

import math
from pathlib import Path

import mujoco
from servobench_mujoco import attach

HERE = Path(__file__).parent
SERVO = HERE / {json.dumps(servo)}

for scene, joints in (({json.dumps(scene)}, ("servo",)), ({json.dumps(arm)}, ("shoulder", "elbow"))):
    model = mujoco.MjModel.from_xml_path(str(HERE / scene))
    data = mujoco.MjData(model)
    servos = attach(model, data, {{joint: SERVO for joint in joints}})
    while data.time < 2.0:
        servos.step([math.sin(data.time)] * len(joints))
    print(scene, data.qpos, servos.motor_torque)
"""


def _usage(servo: str) -> str:
    return f"""\
In your robot's MJCF, give each joint a plain motor, `<motor joint="elbow"/>`, and keep the files above next to your
script:

```python
from servobench_mujoco import attach

servos = attach(model, data, {{"shoulder": "{servo}", "elbow": "{servo}"}})
servos.step([0.5, -0.2])  # goals in rad, then mj_step; or servos.update(...) before your own mj_step
```

`attach` sets armature, damping and friction of the joints. Joints may use different servo files. Call `servos.reset()`
after a reset of the data or after moving joints by hand. Simulations that run in parallel need a model each.
`servos.motor_torque`, `servos.external_torque` and `servos.friction_budget` hold the values of the last step, and
`servos.deflection` the deflection of an elastoplastic contact.
"""


EXPORTER = Exporter(
    target="mujoco-hook",
    title="MuJoCo with friction at run time",
    description="M1–M6, control law and command path as identified: a small program sets friction before each step.",
    options=ServoOptions,
    write=write_hook,
    check=check_hook,
    any_law=True,
    backlash=True,
    load_memory=True,
    contacts=tuple(CONTACTS),
    engine="MuJoCo",
    package="mujoco",
    install="'servobench[mujoco]'",
)
