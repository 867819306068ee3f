"""Compliant joints as URDF for Gazebo with the toolbox's plugins (NMMI/ROS-Gazebo-compliant-actuators-plugin).

A robot becomes a URDF with one pendulum per joint, each with its plugin and all tags, and the configuration of the
toolbox's Plugin Manager node. Numbers are written exactly. The toolbox's own templates are not valid XML (shell
comments, 1.21*pow(10,-6) for a number).

A comment in the file states the differences of the toolbox from `core.studies.compliant.joint`: it never enforces
maxVel, it subscribes to the external torque without applying it, and in modes 4–6 it moves the AwAS-II's adjuster by a
motor whose load and gains no tag sets. Its time step is Gazebo's; another comment states the time step needed here.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import yaml

from core.base.atomic import write_atomically
from core.base.errors import ExportError
from core.export.files import slug
from core.servo.bench import STANDARD_GRAVITY
from core.studies.compliant.array import JointArray, NamedJoint
from core.studies.compliant.elastic import AwasII, Bavs, CompliantActuator, QbMove, Sea
from core.studies.compliant.joint import safe_step
from core.studies.compliant.modes import Mode
from core.studies.compliant.motor import Pid

URDF, MANAGER = "{}.urdf", "{}_manager.yaml"
"""File names, to be formatted with the robot's name."""
FRICTION_STIFFNESS = 1e3
"""K of eq. (8), a constant of the toolbox [N·m/rad]."""
OWN_INERTIA = 0.5
"""Share of a pendulum's inertia about the joint that the URDF places about its centre of mass."""
WEIGHTLESS_MASS = 0.1
"""Mass of a link without gravity, whose centre of mass is on the joint's axis [kg]."""
MANAGER_PERIOD = 0.01
"""T_sample of the Plugin Manager node [s]."""

PLUGINS: dict[type[CompliantActuator], str] = {
    Sea: "libsea_plugin.so",
    AwasII: "libawas_ii_plugin.so",
    Bavs: "libbavs_plugin.so",
    QbMove: "libqbmove_plugin.so",
}
SPRING_TAGS: dict[type[CompliantActuator], dict[str, str]] = {
    Sea: {"spring_k": "stiffness", "max_def": "max_deflection"},
    AwasII: {
        "spring_Ks": "spring_stiffness",
        "spring_L": "lever",
        "spring_r_t": "radius",
        "max_def": "max_deflection",
    },
    Bavs: {"spring_a": "a", "spring_b": "b", "spring_k": "k", "spring_k_e": "k_e", "max_def": "max_deflection"},
    QbMove: {
        "spring_a1": "a1",
        "spring_k1": "k1",
        "spring_a2": "a2",
        "spring_k2": "k2",
        "max_def": "max_deflection",
    },
}
MOTOR_TAGS = {
    "J": "inertia",
    "D": "damping",
    "tauMax": "max_torque",
    "maxVel": "max_velocity",
    "minPos": "min_position",
    "maxPos": "max_position",
    "tauFric": "friction",
}
PID_TAGS = {"P": "kp", "I": "ki", "D": "kd"}
_OPEN_TAGS = {"minPos", "maxPos"}
"""Tags left out if there is no limit, because "inf" is not a number in XML."""

NOTE = (
    " The plugin differs from the simulation behind this file: mot_maxVel is not enforced, the external torque is "
    "received but not applied, and in modes 4 to 6 the adjuster of an AwAS-II is moved by a motor without tags. "
)


def plugin_element(named: NamedJoint) -> ET.Element:
    """Return the <gazebo> element of one joint: its plugin with all tags of its type.

    Raises ExportError for an actuator without a plugin in the toolbox, or a friction stiffness other than the
    toolbox's.
    """
    joint, actuator = named.joint, named.joint.actuator
    if type(actuator) not in PLUGINS:
        known = ", ".join(kind.title for kind in PLUGINS)
        raise ExportError(
            f"joint {named.name}: the toolbox has plugins for {known}, none for {actuator.title}; "
            "derive one from its CompliantActuatorPlugin with the same three functions"
        )
    gazebo = ET.Element("gazebo")
    plugin = ET.SubElement(gazebo, "plugin", name=f"{named.name}_compliant", filename=PLUGINS[type(actuator)])
    _add(plugin, "joint", named.name)
    _add(plugin, "operation_mode", str(int(named.mode)))
    for flag in ("pub_eltau", "pub_state", "sub_ext_tau"):
        _add(plugin, flag, "true")
    for tag, name in SPRING_TAGS[type(actuator)].items():
        _add(plugin, tag, _number(getattr(actuator, name)))
    for mark, motor in zip(_marks(actuator), joint.motors, strict=False):
        if motor.friction > 0.0 and motor.friction_stiffness != FRICTION_STIFFNESS:
            raise ExportError(
                f"joint {named.name}: the toolbox's friction has a stiffness of {FRICTION_STIFFNESS:g} N·m/rad, this "
                f"motor's {motor.friction_stiffness:g}; identify it with the toolbox's"
            )
        for tag, name in MOTOR_TAGS.items():
            value = getattr(motor, name)
            if math.isfinite(value):
                _add(plugin, f"mot_{mark}{tag}", _number(value))
            elif tag not in _OPEN_TAGS:
                raise ExportError(f"joint {named.name}: {name} = {value} cannot be written; give it a finite number")
    for mark, pid in zip(_marks(actuator), _pids_in(named), strict=False):
        for tag, name in PID_TAGS.items():
            _add(plugin, f"ctrl_{mark}{tag}", _number(getattr(pid, name)))
    return gazebo


def robot_urdf(array: JointArray) -> str:
    """Return the URDF of a robot: one pendulum per joint, side by side on the world, and the plugins.

    A pendulum has exactly the link's inertia about the joint and its gravity torque: half of the inertia is that of a
    mass at a distance, half is about its centre of mass (`OWN_INERTIA`).
    """
    robot = ET.Element("robot", name=array.name)
    robot.append(ET.Comment(NOTE))
    step = min(safe_step(named.joint, named.mode, named.joint.actuator.stiff_preset) for named in array.joints)
    robot.append(ET.Comment(f" At the paper's stiffest presets that simulation needs steps of at most {step:.1g} s. "))
    ET.SubElement(robot, "link", name="world")
    for i, named in enumerate(array.joints):
        robot.extend(_pendulum(named, 0.5 * i))
    robot.extend(plugin_element(named) for named in array.joints)
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode", xml_declaration=True) + "\n"


def manager_configuration(array: JointArray, period: float = MANAGER_PERIOD) -> str:
    """Return the YAML of the Plugin Manager node: names of the joints and of their reference topics."""
    topics = [[topic.removeprefix(named.name) for topic in named.reference_topics] for named in array.joints]
    return yaml.safe_dump(
        {
            "namespace": array.name,
            "T_sample": period,
            "joints_number": len(array.joints),
            "joints_name": list(array.names),
            "ref1_topic_name": [first for first, _ in topics],
            "ref2_topic_name": [second for _, second in topics],
        },
        sort_keys=False,
    )


def write_gazebo(folder: Path, array: JointArray) -> list[Path]:
    """Write URDF and manager configuration of a robot; return the files.

    Raises ExportError if an actuator cannot be written, or the folder cannot be written to.
    """
    stem = slug(array.name)
    files = {
        folder / URDF.format(stem): robot_urdf(array),
        folder / MANAGER.format(stem): manager_configuration(array),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise ExportError(f"{folder}: the robot cannot be written there: {error}") from None
    return list(files)


def _pendulum(named: NamedJoint, place: float) -> list[ET.Element]:
    """Return a joint about +y and its link, which hangs down at angle 0."""
    link = named.joint.link
    pull = link.gravity_torque / STANDARD_GRAVITY
    distance = (1.0 - OWN_INERTIA) * link.inertia / pull if pull > 0.0 else 0.0
    mass = pull / distance if pull > 0.0 else WEIGHTLESS_MASS
    own = OWN_INERTIA * link.inertia if pull > 0.0 else link.inertia
    joint = ET.Element("joint", name=named.name, type="continuous")
    ET.SubElement(joint, "origin", xyz=f"0 {place:g} 1", rpy=f"0 {_number(link.angle_offset)} 0")
    ET.SubElement(joint, "parent", link="world")
    ET.SubElement(joint, "child", link=f"{named.name}_link")
    ET.SubElement(joint, "axis", xyz="0 1 0")
    ET.SubElement(joint, "dynamics", damping=_number(link.damping), friction=_number(link.friction))
    body = ET.Element("link", name=f"{named.name}_link")
    inertial = ET.SubElement(body, "inertial")
    ET.SubElement(inertial, "origin", xyz=f"0 0 {_number(-distance)}", rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=_number(mass))
    moments = dict.fromkeys(("ixx", "iyy", "izz"), _number(own))
    ET.SubElement(inertial, "inertia", **moments, ixy="0", ixz="0", iyz="0")
    return [joint, body]


def _pids_in(named: NamedJoint) -> tuple[Pid, Pid]:
    """Return the controllers of the tags; in mode 1 the first one is the link's."""
    return (named.joint.link_pid, named.joint.pids[1]) if named.mode is Mode.LINK_PID else named.joint.pids


def _marks(actuator: CompliantActuator) -> tuple[str, ...]:
    """Return the prefixes of the motors' tags, empty for a single motor."""
    return ("1_", "2_") if actuator.motors == 2 else ("",)


def _add(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(parent, tag).text = text


def _number(value: float) -> str:
    return repr(float(value))
