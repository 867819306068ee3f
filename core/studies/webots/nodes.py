"""Read Servo nodes of a user's own file: their fields, and how a tree of them moves its bodies (section 3.42).

    tree = read_servo_tree(Path("robot.wbt"))
    robot = robot_of(tree.servos)

Servos whose axes lie on one line, or that slide along one direction, are in series (3.42.11). All others are
independent (3.42.12): each moves everything beyond it as if the joints in between stayed at their initial positions. A
body's mass and inertia are those of its Physics, or of its boundingObject at the Physics' density.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import ExportError, InputError, ModelError
from core.base.guards import is_array
from core.export.targets.webots.vrml import Node, read_vrml
from core.studies.webots.fields import ROTATIONAL, Load, ServoFields, seed_name
from core.studies.webots.robot import MountedServo

SEED_NAMES = {seed_name(field.name): field.name for field in fields(ServoFields)}
"""Fields of ServoFields by the node's field names."""
INHERITED = (
    *("translation", "rotation", "scale", "children", "name", "model", "author", "constructor", "description"),
    *("contactMaterial", "immersionProperties", "boundingObject", "physics", "joint", "locked"),
)
"""Fields that a Servo inherits from Transform, Solid and Device."""
GRAVITY = (0.0, -9.81, 0.0)
"""Default gravity of a world [m/s²]."""
DENSITY = 1000.0
"""Default density of a Physics node [kg/m³]."""
LARGEST = 1e9
"""Largest size, position or mass, SI units: products of five of them stay finite."""
SMALLEST_VOLUME = 1e-30
"""Volume below which a boundingObject has no inertia [m³]."""
ALIGNED = 1e-9
"""Tolerance of decimal numbers in a file for unit vectors, or for distances of axes [m]."""


@dataclass(frozen=True, kw_only=True)
class ServoTree:
    """Servos of a file, in the file's order."""

    servos: tuple[MountedServo, ...]
    notes: tuple[str, ...]
    """One line for each servo that is simulated independently of the servo it is mounted on."""
    basic_time_step: int | None
    """WorldInfo's basicTimeStep [ms]; None if the file has none."""


@dataclass(frozen=True)
class _Pose:
    turn: Array
    """Rotation matrix, shape (3, 3)."""
    place: Array
    """Position [m], shape (3,)."""

    def moved(self, translation: Array, turn: Array) -> _Pose:
        return _Pose(self.turn @ turn, self.place + self.turn @ translation)


@dataclass(frozen=True)
class _Body:
    mass: float
    centre: Array
    """Centre of mass [m], shape (3,)."""
    inertia: Array
    """Inertia about the centre of mass [kg·m²], shape (3, 3)."""


@dataclass
class _Found:
    """Servo in the world at its initial position."""

    node: Node
    fields: ServoFields
    parent: int | None
    axis: Array
    """Unit vector, shape (3,)."""
    anchor: Array
    """Point on the axis [m], shape (3,)."""
    bodies: list[_Body]

    @property
    def name(self) -> str:
        return str(self.node.fields.get("name") or self.node.label)


def read_servo_node(path: Path) -> ServoFields:
    """Read the fields of a file's only Servo node, with defaults for missing ones; raise ExportError."""
    try:
        found = _servos(path, read_vrml(path))
        if len(found) != 1:
            raise ExportError(f"{path}: {len(found)} Servo nodes instead of one")
        return found[0].fields
    except (InputError, ModelError) as error:
        raise ExportError(str(error)) from None


def read_servo_tree(path: Path, end_load: Callable[[ServoFields], Load]) -> ServoTree:
    """Read the Servo nodes of a file and the bodies they move.

    Args:
        path: The file.
        end_load: Returns the body of a servo that carries none and is the last of its series.

    Raises:
        ServoBenchError: The file cannot be read or is unsuitable.
    """
    nodes = read_vrml(path)
    info = next((node for node in nodes if node.name == "WorldInfo"), Node("WorldInfo"))
    step = _number(path, info, "basicTimeStep", 0.0)
    found = _servos(path, nodes)
    if not found:
        raise InputError(f"{path}: it has no Servo node")
    gravity = _vector(path, info, "gravity", GRAVITY)
    in_series = [servo.parent if _is_in_series(servo, found) else None for servo in found]
    names = [servo.name or (f"servo{place + 1}" if len(found) > 1 else "") for place, servo in enumerate(found)]
    servos: list[MountedServo] = []
    notes: list[str] = []
    for place, servo in enumerate(found):
        bodies = _bodies_moved(place, found, in_series)
        if bodies:
            turned = sum(found[k].fields.position for k in _up_to(place, in_series))
            load = _load(servo, bodies, gravity, turned)
        elif place in in_series:
            raise InputError(f"{path}: Servo {names[place]!r} carries another servo and needs own physics (3.42.11)")
        else:
            load = end_load(servo.fields)
        servos.append(MountedServo(name=names[place], fields=servo.fields, load=load, parent=in_series[place]))
        if servo.parent is not None and in_series[place] is None:
            notes.append(
                f"{names[place]}: its axis differs from that of {names[servo.parent]}, so they are simulated "
                f"independently; {names[servo.parent]} moves it with all joints beyond at their initial positions"
            )
    return ServoTree(servos=tuple(servos), notes=tuple(notes), basic_time_step=int(step) or None)


def _servos(path: Path, nodes: list[Node]) -> list[_Found]:
    """Return all Servo nodes with the bodies rigidly attached to them."""
    found: list[_Found] = []

    def walk(node: Node, pose: _Pose, servo: int | None) -> None:
        if _vector(path, node, "scale", (1.0, 1.0, 1.0)).tolist() != [1.0, 1.0, 1.0]:
            raise InputError(f"{path}: a {node.name} is scaled; write its sizes and positions without scale")
        translation = _vector(path, node, "translation", (0.0, 0.0, 0.0))
        axis, angle = _rotation(path, node, "rotation")
        slide = np.zeros(3)
        if node.name == "Servo":
            own = _fields(path, node)
            found.append(_Found(node, own, servo, pose.turn @ axis, pose.place + pose.turn @ translation, []))
            servo = len(found) - 1
            if own.type == ROTATIONAL:
                angle += own.position
            else:
                slide = axis * own.position
        inside = pose.moved(translation + slide, _turn(axis, angle))
        physics = node.fields.get("physics")
        if isinstance(physics, Node) and servo is not None:
            found[servo].bodies.append(_body(path, node, physics, inside))
        for child in _nodes(path, node, "children"):
            walk(child, inside, servo)

    for node in nodes:
        walk(node, _Pose(np.eye(3), np.zeros(3)), None)
    return found


def _fields(path: Path, node: Node) -> ServoFields:
    values: dict[str, Any] = {}
    for name, value in node.fields.items():
        if name == "type":
            values[name] = str(value)
        elif name in SEED_NAMES:
            values[SEED_NAMES[name]] = _number(path, node, name, 0.0)
        elif name not in INHERITED:
            raise InputError(f"{path}: a Servo has no field {name[:40]!r}")
    try:
        return ServoFields(**values)
    except ModelError as error:
        raise InputError(f"{path}: {error}") from None


def _is_in_series(servo: _Found, found: list[_Found]) -> bool:
    """Return True if its parent servo turns about the same line, or slides along the same direction."""
    if servo.parent is None:
        return False
    below = found[servo.parent]
    if servo.fields.type != below.fields.type or np.abs(servo.axis - below.axis).max() > ALIGNED:
        return False
    beside = np.cross(servo.anchor - below.anchor, below.axis)
    return servo.fields.type != ROTATIONAL or float(np.abs(beside).max()) <= ALIGNED


def _up_to(place: int, in_series: list[int | None]) -> list[int]:
    """Return the indices of a servo and of those below it in its series."""
    parent = in_series[place]
    return [place] if parent is None else [*_up_to(parent, in_series), place]


def _bodies_moved(place: int, found: list[_Found], in_series: list[int | None]) -> list[_Body]:
    """Return a servo's bodies and those of all independent servos on it."""
    bodies = list(found[place].bodies)
    for other, servo in enumerate(found):
        if servo.parent == place and in_series[other] is None:
            bodies += _all_bodies(other, found)
    return bodies


def _all_bodies(place: int, found: list[_Found]) -> list[_Body]:
    beyond = [body for k, servo in enumerate(found) if servo.parent == place for body in _all_bodies(k, found)]
    return [*found[place].bodies, *beyond]


def _load(servo: _Found, bodies: list[_Body], gravity: Array, turned: float) -> Load:
    """Combine bodies into one load; `turned` is the sum of initial positions in the series up to the servo."""
    axis, mass = servo.axis, sum(body.mass for body in bodies)
    pull = float(np.linalg.norm(gravity))
    if servo.fields.type != ROTATIONAL:
        slope = math.asin(min(max(-float(gravity @ axis) / pull, -1.0), 1.0)) if pull > 0.0 else 0.0
        return Load(inertia=mass, gravity_torque=mass * pull, offset=slope)
    inertia = 0.0
    moment = np.zeros(3)
    for body in bodies:
        arm = body.centre - servo.anchor
        arm = arm - axis * (arm @ axis)
        inertia += float(axis @ body.inertia @ axis) + body.mass * float(arm @ arm)
        moment += body.mass * arm
    across = gravity - axis * (gravity @ axis)
    angle = math.atan2(float(axis @ np.cross(across, moment)), float(across @ moment))
    return Load(
        inertia=inertia,
        gravity_torque=float(np.linalg.norm(moment) * np.linalg.norm(across)),
        offset=angle - turned,
    )


def _body(path: Path, node: Node, physics: Node, pose: _Pose) -> _Body:
    """Return a node's body in world coordinates."""
    mass = _number(path, physics, "mass", -1.0)
    matrix: object = physics.fields.get("inertiaMatrix") or []
    parts: list[_Body] = []
    if isinstance(node.fields.get("boundingObject"), Node):
        stated = mass > 0.0 and bool(matrix) and bool(physics.fields.get("centerOfMass"))
        parts = [] if stated else _solids(path, node.fields["boundingObject"], _Pose(np.eye(3), np.zeros(3)))
    volume = sum(part.mass for part in parts)
    if not mass > 0.0:
        density = _number(path, physics, "density", DENSITY)
        if not (density > 0.0 and volume > SMALLEST_VOLUME):
            raise InputError(f"{path}: a Physics has neither a mass nor a density with a boundingObject")
        mass = density * volume
    share = 1.0 / volume if volume > SMALLEST_VOLUME else 0.0
    middle = share * sum((part.mass * part.centre for part in parts), np.zeros(3))
    centre = _vector(path, physics, "centerOfMass", tuple(middle.tolist()))
    if matrix:
        if not is_array(matrix) or len(matrix) not in (3, 6):
            raise InputError(f"{path}: an inertiaMatrix needs 3 or 6 numbers in brackets")
        if not all(isinstance(each, float) and abs(each) <= LARGEST for each in matrix):
            raise InputError(f"{path}: an inertiaMatrix needs numbers within ±{LARGEST:g}")
        xx, yy, zz, xy, xz, yz = [*matrix, 0.0, 0.0, 0.0][:6]
        turn = _turn(*_rotation(path, physics, "orientation"))
        inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    else:
        inertia = np.zeros((3, 3))
        for part in parts:
            arm = part.centre - middle
            inertia += part.inertia + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        inertia *= mass * share
    return _Body(mass, pose.place + pose.turn @ centre, pose.turn @ inertia @ pose.turn.T)


def _solids(path: Path, shape: Node, pose: _Pose) -> list[_Body]:
    """Return the parts of a boundingObject at a density of 1 kg/m³."""
    if shape.name in ("Transform", "Group", "Shape"):
        inside = pose.moved(
            _vector(path, shape, "translation", (0.0, 0.0, 0.0)), _turn(*_rotation(path, shape, "rotation"))
        )
        geometry = shape.fields.get("geometry")
        children = [geometry] if isinstance(geometry, Node) else _nodes(path, shape, "children")
        return [part for child in children for part in _solids(path, child, inside)]
    if shape.name not in _SHAPES:
        known = ", ".join(_SHAPES)
        raise InputError(
            f"{path}: the mass of a boundingObject {shape.name} is not supported, only that of {known}; set "
            "mass, centerOfMass and inertiaMatrix in its Physics"
        )
    volume, diagonal = _SHAPES[shape.name](path, shape)
    return [_Body(volume, pose.place, pose.turn @ np.diag(volume * diagonal) @ pose.turn.T)]


def _sphere(path: Path, shape: Node) -> tuple[float, Array]:
    radius = _number(path, shape, "radius", 1.0)
    return 4.0 / 3.0 * math.pi * radius**3, np.full(3, 0.4 * radius**2)


def _box(path: Path, shape: Node) -> tuple[float, Array]:
    size = _vector(path, shape, "size", (2.0, 2.0, 2.0))
    squares = size**2
    return float(np.prod(size)), (squares.sum() - squares) / 12.0


def _cylinder(path: Path, shape: Node) -> tuple[float, Array]:
    """Return volume and inertia per kg of a cylinder about y, as in VRML."""
    radius, height = _number(path, shape, "radius", 1.0), _number(path, shape, "height", 2.0)
    across = radius**2 / 4.0 + height**2 / 12.0
    return math.pi * radius**2 * height, np.array([across, radius**2 / 2.0, across])


_SHAPES: Mapping[str, Callable[[Path, Node], tuple[float, Array]]] = {
    "Sphere": _sphere,
    "Box": _box,
    "Cylinder": _cylinder,
}
"""Functions that return the volume [m³] and the inertia per kg about the centre [m²], shape (3,)."""


def _nodes(path: Path, node: Node, name: str) -> list[Node]:
    stated: Any = node.fields.get(name, [])
    found: object = [stated] if isinstance(stated, Node) else stated
    if not is_array(found) or not all(isinstance(each, Node) for each in found):
        raise InputError(f"{path}: {name} of a {node.name} are not nodes")
    return found


def _number(path: Path, node: Node, name: str, default: float) -> float:
    return float(_numbers(path, node, name, (default,))[0])


def _vector(path: Path, node: Node, name: str, default: tuple[float, ...]) -> Array:
    return _numbers(path, node, name, default)


def _rotation(path: Path, node: Node, name: str) -> tuple[Array, float]:
    """Return unit vector (3,) and angle [rad]."""
    *axis, angle = _numbers(path, node, name, (0.0, 1.0, 0.0, 0.0)).tolist()
    length = math.hypot(*axis)
    if not length > 0.0:
        raise InputError(f"{path}: {name} of a {node.name} has an axis of length 0")
    return np.array(axis) / length, angle


def _numbers(path: Path, node: Node, name: str, default: tuple[float, ...]) -> Array:
    value: Any = node.fields.get(name)
    found: Sequence[object] = default if value is None or value == [] else value
    if not isinstance(found, (tuple, list)) or len(found) != len(default):
        raise InputError(f"{path}: {name} of a {node.name} needs {len(default)} number(s)")
    if not all(isinstance(each, float) and abs(each) <= LARGEST for each in found):
        raise InputError(f"{path}: {name} of a {node.name} needs {len(default)} number(s) within ±{LARGEST:g}")
    return np.array(found)


def _turn(axis: Array, angle: float) -> Array:
    """Return the rotation matrix (3, 3) by Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross
