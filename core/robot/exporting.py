"""Export of a robot with identified servos: each joint's servo, and the robot's own file that uses them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from core.base.errors import ExportError
from core.export.exporting import export_model, exporters
from core.export.files import printable, slug
from core.export.targets.mujoco.xml import BRAKE_GROUP, numbers, xml_text
from core.robot.arm import JointServo, robot_text
from core.robot.files import bring_assets, read_urdf, urdf_text

TIMESTEP = 0.002
"""Time step that a robot's MJCF asks for [s]."""


def export_robot(
    file: Path | str,
    servos: Mapping[str, JointServo],
    target: str,
    folder: Path | str,
    *,
    force: bool = False,
    **options: Any,
) -> tuple[Path, ...]:
    """Write each joint's servo for a target, and for URDF and MuJoCo the robot with these servos.

    Args:
        file: URDF or MJCF file of the robot.
        servos: Servos by name of the joint.
        target: Name of the target, a key of `core.export.targets.TARGETS`.
        folder: Folder of the export, created if missing.
        force: Replace existing files that differ.
        options: Fields of the exporter's options, the same for all joints.

    Returns:
        The written files.

    Raises:
        ExportError: The target cannot hold a servo, the robot has no such joint, or a file would be lost.
        InputError: The robot's file cannot be read.
    """
    place, files = Path(folder), list[Path]()
    known = {field.name for field in fields(exporters()[target].options)}
    if len({slug(name) for name in servos}) < len(servos):
        raise ExportError(f"two of the joints {', '.join(servos)} would have files of one name")
    if target in ROBOTS:
        robot_text(file, servos)
    if target == "urdf":
        read_urdf(Path(file))
    for name, servo in servos.items():
        given = {**asdict(servo.settings), "bench": servo.bench}
        own = {key: given[key] for key in ("kp", "ki", "supply_voltage", "bench") if key in known}
        files += export_model(servo.model, target, place, name=name, force=force, **{**own, **options}).files
    if target in ROBOTS:
        name, root = ROBOTS[target](Path(file), servos, place)
        assets = bring_assets(root, Path(file).parent, place)
        text = urdf_text(root) if target == "urdf" else xml_text(root)
        if (place / name).exists() and (place / name).read_text("utf-8") != text and not force:
            raise ExportError(f"{place / name} exists and differs; choose another folder, or replace it by force")
        (place / name).write_text(text, encoding="utf-8")
        files += [place / name, *assets]
    return tuple(dict.fromkeys(files))


def _hook_robot(file: Path, servos: Mapping[str, JointServo], folder: Path) -> tuple[str, ET.Element]:
    held = {name: f"{slug(name)}.servo.json" for name in servos}
    root = ET.fromstring(robot_text(file, servos, TIMESTEP))
    root.insert(0, ET.Comment(printable(f" attach(model, data, {json.dumps(held)}) ").replace("--", "- -")))
    return "robot.xml", root


def _native_robot(file: Path, servos: Mapping[str, JointServo], folder: Path) -> tuple[str, ET.Element]:
    """Return the robot whose joints and actuators are of the classes that the servos' files define."""
    bare = {name: replace(servo, model=_without_backlash(servo)) for name, servo in servos.items()}
    root = ET.fromstring(robot_text(file, bare, TIMESTEP))
    actuators = root.find("actuator")
    assert actuators is not None
    for name in servos:
        written = f"{slug(name)}.servo.xml"
        classes = ET.parse(folder / written).getroot().findall("default/default")
        (joint,) = root.iterfind(f".//joint[@name='{name}']")
        joint.attrib = {k: v for k, v in joint.attrib.items() if k not in ("armature", "damping", "frictionloss")}
        joint.set("class", classes[0].attrib["class"])
        (old,) = [motor for motor in actuators if motor.get("joint") == name]
        actuators.remove(old)
        for default in [classes[0], *classes[0].findall("default")]:
            kind = next(child.tag for child in default if child.tag not in ("joint", "default"))
            used = default.attrib["class"]
            called = old.get("name", used) if default is classes[0] else used  # the name that sensors use
            ET.SubElement(actuators, kind, {"name": called, "class": used, "joint": name})
        root.insert(0, ET.Element("include", file=written))
    option = root.find("option")
    assert option is not None
    option.set("actuatorgroupdisable", str(BRAKE_GROUP))
    return "robot.xml", root


def _without_backlash(servo: JointServo) -> Any:
    model = servo.model
    return model.with_values({"backlash": 0.0}) if "backlash" in model.values else model


def _urdf_robot(file: Path, servos: Mapping[str, JointServo], folder: Path) -> tuple[str, ET.Element]:
    """Return the robot's file with friction, damping and limits of the servos; everything else stays."""
    root = read_urdf(file)
    joints = {joint.get("name"): joint for joint in root.iter("joint")}
    for name in servos:
        drive = json.loads((folder / f"{slug(name)}.drive.json").read_text("utf-8"))
        value = {key: float(drive[key]["value"]) for key in ("torque_limit", "no_load_speed", "viscous", "friction")}
        if (joint := joints.get(name)) is None:
            raise ExportError(f"{file}: no joint {name!r} to write its servo to")
        for tag, changed in {
            "limit": {"effort": value["torque_limit"], "velocity": value["no_load_speed"]},
            "dynamics": {"damping": value["viscous"], "friction": value["friction"]},
        }.items():
            element = joint.find(tag)
            element = ET.SubElement(joint, tag) if element is None else element
            for key, number in changed.items():
                element.set(key, numbers(number))
    return "robot.urdf", root


ROBOTS: Mapping[str, Callable[[Path, Mapping[str, JointServo], Path], tuple[str, ET.Element]]] = {
    "mujoco": _native_robot,
    "mujoco-hook": _hook_robot,
    "urdf": _urdf_robot,
}
"""Targets with a file of the whole robot: its name and XML from the robot's file, the servos, and their files."""
