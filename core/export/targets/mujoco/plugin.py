"""Export to MuJoCo as an engine plugin in C: friction M1–M6 at native speed, in threads and in rollouts.

The plugin, `core/export/standalone/servobench_mujoco_plugin.c`, builds on the header for firmware. A servo is one of
its instances in MJCF.
"""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import printable, slug
from core.export.notes import settings_note
from core.export.programs import mujoco_engine, program, require_unchanged
from core.export.protocol import held_commands, measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.servo_file import COMMAND_NUMBERS, LATER_NUMBERS, NUMBERS, servo_numbers, standalone_text
from core.export.targets.c_header import compiler
from core.export.targets.mujoco.actuators import bench_title
from core.export.targets.mujoco.xml import (
    add_backlash,
    backlash_notes,
    joint_attributes,
    pendulum_element,
    xml_text,
)
from core.kernel.layout import Slot
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

PROGRAMS = ("servobench_mujoco_plugin.py", "servobench_mujoco_plugin.c", "servobench_friction.h")
PLUGIN = "servobench.servo"
GOAL, ENABLE = "servo", "servo_enable"
SMALLEST_BUDGET = 1e-12
"""Smallest friction [N·m]: at 0 the engine would remove the joint's row from its constraints."""


def write_plugin(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the plugin's sources and a pendulum with the servo."""
    settings = settings_of(model, options, "mujoco-plugin")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    scene = f"{name}.plugin.xml"
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        scene: xml_text(pendulum_scene(name, model, bench, settings, options.timestep)),
    }
    meanings = {
        PROGRAMS[0]: "builds the plugin and loads it; needs mujoco and a C compiler",
        PROGRAMS[1]: "the plugin",
        PROGRAMS[2]: "the servo itself, as in firmware",
        scene: f"pendulum, {printable(bench_title(bench))}, with the servo's class, plugin instance and two actuators",
    }
    notes = [
        settings_note(model, settings),
        "Builds with MuJoCo 3.7 and later. Time steps of up to 5 ms with integrator `Euler`, `implicit` or "
        "`implicitfast`, on the CPU: MJX and MuJoCo Warp have no plugins.",
        "Commands given for a step act half a step later on average, as with a servo that polls them.",
        "The servo's state is part of the simulation state: `mj_copyData`, `mj_getState` and `mujoco.rollout` "
        "with several threads work as usual.",
        *backlash_notes(model, "Copy it for the joints of your robot, and start with loads that lean on the teeth."),
    ]
    return exported(folder, model, "mujoco-plugin", "MuJoCo plugin", contents, meanings, notes, _usage(name, scene))


def pendulum_scene(name: str, model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float) -> ET.Element:
    """Return the pendulum bench with the servo as a plugin instance, with actuators for its goal and torque."""
    root = pendulum_element(name, model, bench, settings, timestep)
    add_backlash(root, model)
    own = servo_numbers(model, settings)
    kt = own["torque_constant"]
    slope = kt * own["kv"] if own["law"] == "current" else kt * kt / own["resistance"]
    per_output = 1.0 if own["law"] == "current" else own["supply_voltage"] / own["resistance"]
    slope += kt * per_output * own["kp"] * own.get("speed_feedback", 0.0)
    damping = 0.5 * (own["friction_viscous"] + slope)
    default = ET.Element("default")
    joint = joint_attributes(own["armature"], damping, own["friction_base"] + SMALLEST_BUDGET)
    ET.SubElement(ET.SubElement(default, "default", {"class": name}), "joint", joint)
    root.insert(1, default)
    extension = ET.Element("extension")
    instance = ET.SubElement(ET.SubElement(extension, "plugin", plugin=PLUGIN), "instance", name=name)
    ET.SubElement(instance, "config", key="law", value=own["law"])
    slots = (*NUMBERS, *COMMAND_NUMBERS, *LATER_NUMBERS, Slot.LOAD_MEMORY)
    for field in ("supply_voltage", *(slot.name.lower() for slot in slots)):
        if field in own:
            ET.SubElement(instance, "config", key=field, value=repr(own[field]))
    root.insert(2, extension)
    actuators = ET.SubElement(root, "actuator")
    for actuator in (GOAL, ENABLE):
        ET.SubElement(actuators, "plugin", name=actuator, joint="servo", plugin=PLUGIN, instance=name)
    return root


def check_plugin(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Build the plugin and run the exported pendulum in MuJoCo."""
    version, name = mujoco_engine().__version__, slug(model.title)
    require_unchanged(folder, PROGRAMS)
    load_plugin()

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> list[NDArray[np.float64]]:
        return [simulate_plugin(place / f"{name}.plugin.xml", run) for run in runs]

    rollout = rollout_of_files(model, folder, options, write_plugin, simulate)
    return measured(model, options, "mujoco-plugin", f"run in MuJoCo {version}", rollout)


def simulate_plugin(scene: Path, run: GridRun) -> NDArray[np.float64]:
    """Return an exported scene's positions before each of its steps [rad]; goals are held over a step."""
    mujoco = mujoco_engine()
    try:
        engine = mujoco.MjModel.from_xml_path(str(scene))
        data = mujoco.MjData(engine)
    except (ValueError, mujoco.FatalError) as error:
        raise ExportError(f"{scene}: MuJoCo rejects it: {error}") from None
    commands = np.stack(held_commands(run, engine.opt.timestep), axis=1)
    positions = np.empty(len(commands))
    if engine.nq > 1:
        # A load with backlash leans on the teeth by its weight.
        mujoco.mj_forward(engine, data)
        data.qpos[:] = engine.jnt_range[1] if data.qfrc_bias[1] < 0.0 else engine.jnt_range[1][::-1]
    for k in range(len(commands)):
        positions[k] = data.qpos.sum()
        data.ctrl[:] = commands[k]
        mujoco.mj_step(engine, data)
    return positions


def load_plugin() -> None:
    """Build the plugin and load it into this process; raise NotChecked without a C compiler."""
    mujoco_engine()
    compiler()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        try:
            program("servobench_mujoco_plugin").load(place)
        except ValueError as error:
            raise ExportError(str(error)) from None


def _usage(name: str, scene: str) -> str:
    return f"""\
```python
import mujoco
from servobench_mujoco_plugin import load

load()  # before loading any model that uses it
model = mujoco.MjModel.from_xml_path("{scene}")
data = mujoco.MjData(model)
data.ctrl[:] = 0.5, 1  # goal in rad, torque on
mujoco.mj_step(model, data)
```

In your robot's MJCF, use the class `{name}` for the joint, one `<instance>` with a unique name and a copy of the
configuration per joint, and two `<plugin>` actuators that refer to it. Without the second actuator the torque is
always on. `simulate` and other programs load the library whose path `python servobench_mujoco_plugin.py` prints.
"""


EXPORTER = Exporter(
    target="mujoco-plugin",
    title="MuJoCo plugin",
    description="M1–M6, control law and command path as identified: C inside the engine, for threads and rollouts.",
    options=ServoOptions,
    write=write_plugin,
    check=check_plugin,
    any_law=True,
    backlash=True,
    load_memory=True,
    engine="MuJoCo",
    package="mujoco",
    install="'servobench[mujoco]'",
)
