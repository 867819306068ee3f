"""Export to SDFormat 1.9 and gz-sim: a world with the pendulum and a `JointPositionController` that drives its joint.

The plugin's torque is clip(p·e + d·ė, cmd_min … cmd_max). Its derivative is the error's and thus includes the goal's
velocity, unlike any servo's law. Back-EMF and velocity gain are therefore part of the joint's damping, and `d_gain` is
0. This is exact for a driven voltage-law servo with friction M1, saturation included. A released joint keeps the
damping.

SDFormat has no armature: the example's pendulum carries it as inertia, which is exact for one joint about a fixed axis.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.base.arrays import Array
from core.export.approximation import Form, approximate, in_form
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, settings_of
from core.export.drives.fit import require_gains, torque_law
from core.export.drives.plain import PlainDrive, as_model
from core.export.files import readme_section, require_written, slug, write_files
from core.export.notes import fit_notes, lead_note, missing_terms, settings_note, zero_comment
from core.export.protocol import at_gain, measured, tilted
from core.export.references import GridRun, default_bench
from core.export.targets.mujoco.xml import numbers, pendulum_inertial, xml_text
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACTS

VERSION = "1.9"
JOINT = "servo"
CONTROLLER = ("gz-sim-joint-position-controller-system", "gz::sim::systems::JointPositionController")
FORM = Form(kept=("error_gain_ratio",))
STOP = 2.0 * math.pi
"""End stop of the example's joint, beyond any trajectory [rad]."""
SYSTEMS = (
    ("gz-sim-physics-system", "gz::sim::systems::Physics"),
    ("gz-sim-user-commands-system", "gz::sim::systems::UserCommands"),
    ("gz-sim-scene-broadcaster-system", "gz::sim::systems::SceneBroadcaster"),
)


def write_sdformat(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write `<name>.pendulum.sdf`, a world; raise ExportError for impossible options."""
    settings = settings_of(model, options, "sdformat")
    require_gains(settings, "gz-sim")
    bench = options.bench or default_bench(model)
    written, fidelity = _written(model, bench, settings)
    gz = gz_drive(written, settings)
    step = options.timestep
    name = slug(model.title)
    world = f"{name}.pendulum.sdf"
    contents = {world: xml_text(world_element(model, gz, bench, step))}
    notes = [
        *fidelity,
        lead_note(step),
        "Back-EMF and velocity gain are part of the joint's `damping`, and `d_gain` is 0: the plugin's derivative is "
        "the error's and includes the goal's velocity. The damping remains when the joint is released.",
        settings_note(model, settings),
        f"SDFormat has no armature: the world's pendulum carries {gz.armature:.6g} kg·m² of it as inertia. This is "
        "exact if a single joint turns a link about a fixed axis; elsewhere it is missing or too large.",
        "The plugin cannot release the joint. For torque off, and for friction M2–M6 itself, write a system plugin "
        "that sets the joint's force with the C header of target `c`.",
    ]
    meanings = {world: f"world (SDFormat {VERSION}): pendulum, {bench.mass:g} kg at {bench.length:g} m, ready to run"}
    readme = readme_section(model, f"SDFormat {VERSION}, gz-sim", meanings, notes, _usage(world, model_name(model), gz))
    files = write_files(folder, contents, model, "sdformat", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), approximated=True)


def model_name(model: ServoModel) -> str:
    """Return the pendulum's model name, part of its topic: unique for each export and valid in ROS."""
    return f"servo_{slug(model.title).replace('-', '_')}"


def gz_drive(written: ServoModel, settings: ServoSettings) -> PlainDrive:
    """Return a servo with friction M1 in gz-sim's terms: `viscous` holds all damping."""
    law, values = torque_law(written, settings), written.values
    return PlainDrive(
        stiffness=law.stiffness,
        damping=0.0,
        torque_limit=law.limit,
        no_load_speed=law.no_load_speed,
        friction=values["friction_base"],
        viscous=values["friction_viscous"] + law.velocity_gain + law.back_emf,
        armature=values["armature"],
    )


def simulate_gz(gz: PlainDrive, servo: str, run: GridRun, step: float) -> Array:
    """Simulate a run by gz-sim's rules; return the position before each step of `step` [s].

    A released servo is a controller with zero force. `servo` is a catalogue name.
    """
    model, settings = as_model(gz, servo)
    path = make_trajectory(run.trajectory)
    return simulate_trajectory(replace(model, integrator="algorithm1"), path, run.bench, settings, step).position


def world_element(model: ServoModel, gz: PlainDrive, bench: Bench, step: float) -> ET.Element:
    """Return the world with the pendulum: angle 0 hangs along −z, and the joint turns about −y."""
    root = ET.Element("sdf", version=VERSION)
    world = ET.SubElement(root, "world", name="servo_bench_world")
    ET.SubElement(world, "gravity").text = numbers(0.0, 0.0, -bench.gravity)
    physics = ET.SubElement(world, "physics", name="step", type="dart")
    for name, value in (
        ("max_step_size", step),
        ("real_time_factor", 1.0),
        ("real_time_update_rate", 1.0 / step),
    ):
        ET.SubElement(physics, name).text = numbers(value)
    for file, name in SYSTEMS:
        ET.SubElement(world, "plugin", filename=file, name=name)
    bench_model = ET.SubElement(world, "model", name=model_name(model))
    ET.SubElement(bench_model, "pose").text = "0 0 0.5 0 0 0"
    ET.SubElement(bench_model, "link", name="base")
    bench_model.append(_pendulum_link(model, gz, bench))
    base = ET.SubElement(bench_model, "joint", name="base_joint", type="fixed")
    ET.SubElement(base, "parent").text = "world"
    ET.SubElement(base, "child").text = "base"
    joint = ET.SubElement(bench_model, "joint", name=JOINT, type="revolute")
    if zero_comment(model):
        joint.append(ET.Comment(f" {zero_comment(model)} "))
    ET.SubElement(joint, "parent").text = "base"
    ET.SubElement(joint, "child").text = "pendulum"
    ET.SubElement(joint, "pose", relative_to="base").text = "0 0 0 0 0 0"
    axis = ET.SubElement(joint, "axis")
    ET.SubElement(axis, "xyz").text = "0 -1 0"
    axis.append(_limit(gz, -STOP, STOP))
    axis.append(_dynamics(gz))
    bench_model.append(_plugin(gz, JOINT))
    return root


def check_sdformat(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Simulate an exported world by gz-sim's rules; raise ExportError if its file was changed."""
    own, bench = settings_of(model, options, "sdformat"), options.bench or default_bench(model)
    gz = gz_drive(_written(model, bench, own)[0], own)
    world = world_element(model, gz, bench, options.timestep)
    require_written(folder, {f"{slug(model.title)}.pendulum.sdf": xml_text(world)})

    def rollout(runs: Sequence[GridRun], step: float) -> Iterator[Array]:
        for run in runs:
            now = at_gain(gz, model, run.settings.kp / own.kp)
            yield simulate_gz(now, model.servo, tilted(run, model), step)

    how = "the written numbers simulated here by gz-sim's rules (gz-sim did not run)"
    return measured(model, options, "sdformat", how, rollout)


def _written(model: ServoModel, bench: Bench, settings: ServoSettings) -> tuple[ServoModel, list[str]]:
    """Return the servo with friction M1 that replaces a model, and its notes."""
    missing = missing_terms(model, FORM)
    if not missing:
        held = "gz-sim holds friction M1 and the control law of a driven servo as identified, but cannot release it."
        return in_form(model, bench, FORM), [held]
    approximation = approximate(model, bench, settings, FORM)
    return approximation.model, fit_notes(approximation, "gz-sim", missing)


def _pendulum_link(model: ServoModel, gz: PlainDrive, bench: Bench) -> ET.Element:
    mass, distance, inertia = pendulum_inertial(bench)
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    direction = np.array([math.sin(offset), 0.0, -math.cos(offset)])
    link = ET.Element("link", name="pendulum")
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "pose").text = numbers(*(distance * direction), 0.0, 0.0, 0.0)
    ET.SubElement(inertial, "mass").text = numbers(mass)
    values = ET.SubElement(inertial, "inertia")
    for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"):
        # On every axis: a body's inertia about one axis cannot exceed the sum of the other two.
        ET.SubElement(values, name).text = numbers(inertia + gz.armature if name[1] == name[2] else 0.0)
    visual = ET.SubElement(link, "visual", name="load")
    ET.SubElement(visual, "pose").text = numbers(*(max(bench.length, 0.01) * direction), 0.0, 0.0, 0.0)
    ET.SubElement(ET.SubElement(ET.SubElement(visual, "geometry"), "sphere"), "radius").text = "0.02"
    return link


def _limit(gz: PlainDrive, lower: float, upper: float) -> ET.Element:
    limit = ET.Element("limit")
    for name, value in (("lower", lower), ("upper", upper), ("effort", gz.torque_limit)):
        ET.SubElement(limit, name).text = numbers(value)
    return limit


def _dynamics(gz: PlainDrive) -> ET.Element:
    dynamics = ET.Element("dynamics")
    for name, value in (
        ("damping", gz.viscous),
        ("friction", gz.friction),
        ("spring_reference", 0.0),
        ("spring_stiffness", 0.0),
    ):
        ET.SubElement(dynamics, name).text = numbers(value)
    return dynamics


def _plugin(gz: PlainDrive, joint: str) -> ET.Element:
    plugin = ET.Element("plugin", filename=CONTROLLER[0], name=CONTROLLER[1])
    ET.SubElement(plugin, "joint_name").text = joint
    for name, value in (
        ("p_gain", gz.stiffness),
        ("i_gain", 0.0),
        ("d_gain", 0.0),
        ("cmd_max", gz.torque_limit),
        ("cmd_min", -gz.torque_limit),
    ):
        ET.SubElement(plugin, name).text = numbers(value)
    return plugin


def _usage(world: str, name: str, gz: PlainDrive) -> str:
    parts = [_limit(gz, -math.pi, math.pi), _dynamics(gz), _plugin(gz, "elbow")]
    for part in parts:
        ET.indent(part)
    limit, dynamics, plugin = (ET.tostring(part, encoding="unicode") for part in parts)
    return f"""\
```sh
gz sim {world}
gz topic -t /model/{name}/joint/{JOINT}/0/cmd_pos -m gz.msgs.Double -p "data: 0.5"
```

In your robot's `joint/axis`, with `lower` and `upper` of your mechanism:

```xml
{limit}
{dynamics}
```

and in its `model`:

```xml
{plugin}
```
"""


EXPORTER = Exporter(
    target="sdformat",
    title="SDFormat, gz-sim",
    description="World with the pendulum, its joint's friction and a JointPositionController.",
    options=ServoOptions,
    write=write_sdformat,
    check=check_sdformat,
    contacts=tuple(CONTACTS),
)
