"""Export to URDF: a pendulum as a complete robot, the drive's parameters as JSON, and a ros2_control controller.

URDF has a joint's damping, Coulomb friction, and effort and speed limits. It has no armature, gains or gravity.
Armature and gains are in `<name>.drive.json`, in SI units, for the program that drives the robot:

    effort = clip(stiffness·(goal − q) − damping·q̇, ±torque_limit)

The check runs MuJoCo: it compiles the file, adds the armature to the joint, and computes the drive from the JSON.
"""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from core.base.errors import ExportError
from core.export.approximation import Form
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, settings_of
from core.export.drives.fit import fit_drive
from core.export.drives.plain import PlainDrive
from core.export.files import readme_section, slug, write_files
from core.export.notes import lead_note, settings_note, zero_comment, zero_number
from core.export.programs import mujoco_engine
from core.export.protocol import at_gain, held_commands, measured, tilted
from core.export.references import GridRun, default_bench
from core.export.targets.mujoco.xml import numbers, pendulum_inertial, xml_text
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.terms import CONTACTS

FORM = Form(plain_drive=True)
JOINT = "servo"
STOP = 2.0 * math.pi
"""End stop of the example's joint, beyond any trajectory [rad]; a revolute joint needs limits."""
DRIVE_FORMAT = "servobench-drive"
DRIVE_UNITS = {
    "stiffness": "N·m/rad",
    "damping": "N·m·s/rad",
    "torque_limit": "N·m",
    "no_load_speed": "rad/s",
    "friction": "N·m",
    "viscous": "N·m·s/rad",
    "armature": "kg·m²",
}


def write_urdf(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write `<name>.pendulum.urdf`, `.drive.json` and `.controller.yaml`."""
    settings = settings_of(model, options, "urdf")
    bench = options.bench or default_bench(model)
    fit = fit_drive(model, bench, settings, FORM, "URDF")
    name = slug(model.title)
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    robot, drive_file, controller = f"{name}.pendulum.urdf", f"{name}.drive.json", f"{name}.controller.yaml"
    contents = {
        robot: xml_text(robot_element(name, fit.drive, bench, offset)),
        drive_file: drive_text(fit.drive, model),
        controller: zero_comment(model, "# ", "Add this to goals to get joint angles.")
        + controller_text(fit.drive, options.timestep),
    }
    meanings = {
        robot: f"pendulum, {bench.mass:g} kg at {bench.length:g} m, a complete robot (URDF, robot version 1.0)",
        drive_file: "gains, limits, friction and armature of the joint, with units",
        controller: "ros2_control `pid_controller` with these gains on an effort interface",
    }
    notes = [
        *fit.notes,
        settings_note(model, settings),
        lead_note(options.timestep),
        f"URDF has no armature: add {fit.drive.armature:.6g} kg·m² to the joint in your engine. Add it to the link's "
        "inertia only if no other joint moves that link.",
        "`velocity` is the no-load speed: an engine that enforces it slows down a joint that a load drives faster.",
        "URDF has no gravity and no torque-off: a released servo is a drive with effort 0.",
        "Friction M2–M6 needs a separate program next to the engine; the C header of target `c` provides it.",
    ]
    readme = readme_section(model, "URDF", meanings, notes, _usage(fit.drive))
    files = write_files(folder, contents, model, "urdf", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), approximated=True)


def robot_element(name: str, drive: PlainDrive | None, bench: Bench, offset: float) -> ET.Element:
    """Return the pendulum as a robot whose joint turns about −y, without friction and limits if it has no drive.

    `offset` is the gravity offset of the joint's angle [rad].
    """
    root = ET.Element("robot", name=name, version="1.0")
    # Parsers that let other root links float fix a root of this name to the world.
    ET.SubElement(root, "link", name="world")
    link = ET.SubElement(root, "link", name="pendulum")
    mass, distance, inertia = pendulum_inertial(bench)
    direction = np.array([math.sin(offset), 0.0, -math.cos(offset)])
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=numbers(*(distance * direction)), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=numbers(mass))
    own = numbers(inertia)
    ET.SubElement(inertial, "inertia", ixx=own, ixy="0", ixz="0", iyy=own, iyz="0", izz=own)
    visual = ET.SubElement(link, "visual")
    ET.SubElement(visual, "origin", xyz=numbers(*(max(bench.length, 0.01) * direction)), rpy="0 0 0")
    ET.SubElement(ET.SubElement(visual, "geometry"), "sphere", radius="0.02")
    joint = ET.SubElement(root, "joint", name=JOINT, type="revolute" if drive else "continuous")
    ET.SubElement(joint, "origin", xyz="0 0 0", rpy="0 0 0")
    ET.SubElement(joint, "parent", link="world")
    ET.SubElement(joint, "child", link="pendulum")
    ET.SubElement(joint, "axis", xyz="0 -1 0")
    if drive is None:
        return root
    _joint_numbers(joint, drive)
    transmission = ET.SubElement(root, "transmission", name="servo_transmission")
    ET.SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
    driven = ET.SubElement(transmission, "joint", name=JOINT)
    ET.SubElement(driven, "hardwareInterface").text = "hardware_interface/EffortJointInterface"
    actuator = ET.SubElement(transmission, "actuator", name="servo_motor")
    ET.SubElement(actuator, "mechanicalReduction").text = "1"
    return root


def drive_text(drive: PlainDrive, model: ServoModel) -> str:
    """Return the drive as JSON with units; numbers read back bit for bit."""
    values = {name: {"value": float(getattr(drive, name)), "unit": unit} for name, unit in DRIVE_UNITS.items()}
    values |= {name: {"value": value, "unit": "rad"} for name, value in zero_number(model).items()}
    return json.dumps({"format": DRIVE_FORMAT, "version": 1, **values}, indent=1, ensure_ascii=False) + "\n"


def controller_text(drive: PlainDrive, timestep: float) -> str:
    """Return ros2_control parameters of a `pid_controller` on the effort interface; `timestep` in s."""
    # YAML 1.1 reads Python's 5e-05 as a string.
    gains = {JOINT: {"p": float(drive.stiffness), "i": 0.0, "d": float(drive.damping)}}
    return f"""\
controller_manager:
  ros__parameters:
    update_rate: {max(round(1.0 / timestep), 1)}
    servo_controller:
      type: pid_controller/PidController
servo_controller:
  ros__parameters:
    dof_names: [{JOINT}]
    command_interface: effort
    reference_and_state_interfaces: [position, velocity]
    gains:
      {yaml.safe_dump(gains, sort_keys=False, default_flow_style=None, width=math.inf)}"""


def check_urdf(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the pendulum in MuJoCo with the drive of its JSON."""
    name, version = slug(model.title), mujoco_engine().__version__
    try:
        written = (folder / f"{name}.pendulum.urdf").read_text("utf-8")
        numbers = json.loads((folder / f"{name}.drive.json").read_text("utf-8"))
        drive = PlainDrive(**{field: numbers[field]["value"] for field in DRIVE_UNITS})
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ExportError(f"{folder}: holds no URDF export of {name}: {error}") from None
    own, bench = settings_of(model, options, "urdf"), options.bench or default_bench(model)

    def rollout(runs: Sequence[GridRun], step: float) -> Iterator[NDArray[np.float64]]:
        for run in runs:
            moved = tilted(run, model).bench
            other = run.bench != bench
            robot = xml_text(robot_element(name, drive, moved, moved.angle_offset)) if other else written
            now = at_gain(drive, model, run.settings.kp / own.kp)
            yield simulate_urdf(robot, now, run, step)

    return measured(
        model, options, "urdf", f"compiled and run in MuJoCo {version}, with the drive of the JSON", rollout
    )


def simulate_urdf(robot: str, drive: PlainDrive, run: GridRun, step: float) -> NDArray[np.float64]:
    """Return the pendulum's positions in MuJoCo before each step [rad]; `robot` is the text of its file."""
    mujoco = mujoco_engine()
    try:
        engine: Any = mujoco.MjModel.from_xml_string(robot)
    except ValueError as error:
        raise ExportError(f"MuJoCo rejects the robot: {error}") from None
    engine.opt.timestep = step
    engine.opt.gravity[:] = (0.0, 0.0, -run.bench.gravity)
    engine.dof_armature[:] = drive.armature
    engine.dof_solref[:] = (1e-5, 1.0)
    engine.dof_solimp[:] = (0.9999, 0.9999, 0.001, 0.5, 2.0)
    data = mujoco.MjData(engine)
    mujoco.mj_setConst(engine, data)
    goal, driven = held_commands(run, step)
    positions = np.empty(len(goal))
    limit = drive.torque_limit
    for k in range(len(goal)):
        position, velocity = float(data.qpos[0]), float(data.qvel[0])
        positions[k] = position
        effort = drive.stiffness * (goal[k] - position) - drive.damping * velocity
        data.qfrc_applied[0] = min(max(effort, -limit), limit) if driven[k] else 0.0
        mujoco.mj_step(engine, data)
    return positions


def _joint_numbers(joint: ET.Element, drive: PlainDrive) -> None:
    ET.SubElement(
        joint,
        "limit",
        lower=numbers(-STOP),
        upper=numbers(STOP),
        effort=numbers(drive.torque_limit),
        velocity=numbers(drive.no_load_speed),
    )
    ET.SubElement(joint, "dynamics", damping=numbers(drive.viscous), friction=numbers(drive.friction))


def _usage(drive: PlainDrive) -> str:
    joint = ET.Element("joint", name="elbow", type="revolute")
    _joint_numbers(joint, drive)
    inside = "\n".join(ET.tostring(child, encoding="unicode") for child in joint)
    return f"""\
In your robot's joint, with `lower` and `upper` of your mechanism:

```xml
{inside}
```

The drive, at each step of your controller, in N·m, rad and rad/s (torque off: effort 0):

    effort = clip({drive.stiffness:.6g}·(goal − q) − {drive.damping:.6g}·q̇, ±{drive.torque_limit:.6g})

Armature {drive.armature:.6g} kg·m². With ros2_control, the joint needs an `effort` command interface and `position` and
`velocity` state interfaces. Send the goal with `values_dot: [0.0]`, so that the derivative gain damps the joint. If the
hardware component enforces joint limits, `<limit effort>` limits the controller's output.
"""


EXPORTER = Exporter(
    target="urdf",
    title="URDF",
    description="Joint damping, friction and limits, and the gains of a position drive.",
    options=ServoOptions,
    write=write_urdf,
    check=check_urdf,
    contacts=tuple(CONTACTS),
    engine="MuJoCo",
    package="mujoco",
    install="'servobench[mujoco]'",
)
