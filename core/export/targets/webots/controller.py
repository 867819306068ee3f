"""Export to Webots R2023b and later: the world of a pendulum, and a controller that runs the servo in torque mode.

Webots' own position control gives a joint a velocity and a torque limit to reach it. While it acts, the joint's
friction is not added: the engine takes the larger of the motor's torque and `staticFriction`. A servo is therefore
exported as a program, `servobench_webots.py`, with friction M1–M6, control law, motor and command path as identified.
The joint's own friction and damping are 0.

The check reads world, servo and program back, and runs the program with the engine's integrator, which updates
positions with the new velocities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.drives.fit import torque_law
from core.export.files import printable, slug
from core.export.notes import settings_note
from core.export.programs import program, require_unchanged
from core.export.protocol import held_commands, measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_text, standalone_text
from core.export.targets.mujoco.xml import pendulum_inertial
from core.export.targets.webots.vrml import Node, Schema, read_vrml, vrml_text
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

HEADER = "#VRML_SIM R2023b utf8"
PROGRAM, LIBRARY = "servobench_webots.py", "servobench_servo.py"
MOTOR = "servo"
TORQUE_ROOM = 10.0
"""Torque limit of the motor node, in stall torques: the program's torque includes friction."""

SCHEMA: Schema = {
    "WorldInfo": {"title": "SFString", "info": "MFString", "basicTimeStep": "SFFloat", "gravity": "SFFloat"},
    "Viewpoint": {"orientation": "SFRotation", "position": "SFVec3f"},
    "Background": {"skyColor": "MFColor"},
    "DirectionalLight": {"direction": "SFVec3f", "intensity": "SFFloat"},
    "Robot": {
        "translation": "SFVec3f",
        "children": "MFNode",
        "name": "SFString",
        "controller": "SFString",
        "controllerArgs": "MFString",
    },
    "HingeJoint": {"jointParameters": "SFNode", "device": "MFNode", "endPoint": "SFNode"},
    "HingeJointParameters": {
        "position": "SFFloat",
        "axis": "SFVec3f",
        "anchor": "SFVec3f",
        "minStop": "SFFloat",
        "maxStop": "SFFloat",
        "dampingConstant": "SFFloat",
        "staticFriction": "SFFloat",
    },
    "RotationalMotor": {
        "name": "SFString",
        "acceleration": "SFFloat",
        "controlPID": "SFVec3f",
        "maxVelocity": "SFFloat",
        "maxTorque": "SFFloat",
    },
    "PositionSensor": {"name": "SFString", "noise": "SFFloat", "resolution": "SFFloat"},
    "Solid": {"children": "MFNode", "name": "SFString", "physics": "SFNode"},
    "Physics": {
        "density": "SFFloat",
        "mass": "SFFloat",
        "centerOfMass": "MFVec3f",
        "inertiaMatrix": "MFVec3f",
    },
    "Pose": {"translation": "SFVec3f", "children": "MFNode"},
    "Shape": {"appearance": "SFNode", "geometry": "SFNode"},
    "PBRAppearance": {"baseColor": "SFColor", "metalness": "SFFloat", "roughness": "SFFloat"},
    "Sphere": {"radius": "SFFloat"},
}
"""Nodes of exported worlds with their used fields and the types in Webots R2023b."""


def write_webots(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the world, the servo's numbers and the controller; raise ExportError for impossible options."""
    settings = settings_of(model, options, "webots")
    milliseconds = _milliseconds(options.timestep)
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    world_file, servo_file = f"{name}.pendulum.wbt", f"{name}.servo.json"
    inertia = joint_inertia(model, bench)
    nodes = world_nodes(model, bench, settings, servo_file, milliseconds)
    contents = {
        world_file: vrml_text(nodes, SCHEMA, HEADER),
        servo_file: servo_text(model, settings),
        PROGRAM: standalone_text(PROGRAM),
        LIBRARY: standalone_text(LIBRARY),
    }
    meanings = {
        world_file: f"world (R2023b): pendulum, {bench.mass:g} kg at {bench.length:g} m, controller `<extern>`",
        servo_file: "parameters of the servo",
        PROGRAM: "controller: the servo in torque mode, any number of joints",
        LIBRARY: "the servo itself, which the controller uses",
    }
    notes = [
        settings_note(model, settings),
        "Webots ignores a joint's friction under its own position control. The program drives the motor with "
        "`setTorque`, with `staticFriction` and `dampingConstant` of the joint at 0.",
        f"Webots has no armature: the world's pendulum carries {model.values['armature']:.6g} kg·m² of it in its "
        "`inertiaMatrix`. This is exact if a single joint turns the solid about a fixed axis.",
        "The program needs the joint's total inertia, armature included. With friction M2–M6 an error of a fifth in it "
        "costs one to two milliradians.",
        "Use time steps of 1 to 5 ms: the program takes into account that Webots updates positions with the new "
        "velocity.",
        "For torque off, pass `enable` 0.",
    ]
    return exported(
        folder, model, "webots", "Webots R2023b and later", contents, meanings, notes, _usage(servo_file, inertia)
    )


def joint_inertia(model: ServoModel, bench: Bench) -> float:
    """Return the total inertia of the pendulum's joint, armature included [kg·m²]."""
    mass, distance, inertia = pendulum_inertial(bench)
    return inertia + mass * distance**2 + model.values["armature"]


def world_nodes(
    model: ServoModel, bench: Bench, settings: ServoSettings, servo_file: str, milliseconds: int
) -> list[Node]:
    """Return the pendulum's world, whose robot has an external controller."""
    # Looking along +y with x to the right and z up, counter-clockwise is positive and 0 hangs down.
    parameters = {"axis": (0.0, -1.0, 0.0), "anchor": (0.0, 0.0, 0.0), "dampingConstant": 0.0, "staticFriction": 0.0}
    motor = {"name": MOTOR, "maxVelocity": 1000.0, "maxTorque": TORQUE_ROOM * torque_law(model, settings).limit}
    joint = Node(
        "HingeJoint",
        {
            "jointParameters": Node("HingeJointParameters", parameters),
            "device": [Node("RotationalMotor", motor), Node("PositionSensor", {"name": f"{MOTOR} sensor"})],
            "endPoint": _pendulum(model, bench),
        },
    )
    robot = {
        "translation": (0.0, 0.0, 0.5),
        "children": [joint],
        "name": "servo bench",
        "controller": "<extern>",
        "controllerArgs": [servo_file, repr(joint_inertia(model, bench))],
    }
    return [
        Node(
            "WorldInfo",
            {"title": printable(model.title), "basicTimeStep": float(milliseconds), "gravity": bench.gravity},
        ),
        Node("Viewpoint", {"orientation": (0.0, 0.0, 1.0, math.pi / 2.0), "position": (0.0, -1.0, 0.5)}),
        Node("Background", {"skyColor": [(0.7, 0.8, 0.9)]}),
        Node("DirectionalLight", {"direction": (0.3, 1.0, -1.0)}),
        Node("Robot", robot),
    ]


def _pendulum(model: ServoModel, bench: Bench) -> Node:
    """Return the solid that the joint turns, with the armature in its inertia."""
    mass, distance, inertia = pendulum_inertial(bench)
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    direction = (math.sin(offset), 0.0, -math.cos(offset))
    turned = inertia + model.values["armature"]
    load = Node(
        "Pose",
        {
            "translation": tuple(max(bench.length, 0.01) * x for x in direction),
            "children": [
                Node(
                    "Shape",
                    {
                        "appearance": Node("PBRAppearance", {"baseColor": (0.2, 0.4, 0.8), "metalness": 0.0}),
                        "geometry": Node("Sphere", {"radius": 0.02}),
                    },
                )
            ],
        },
    )
    return Node(
        "Solid",
        {
            "children": [load],
            "name": "pendulum",
            "physics": Node(
                "Physics",
                {
                    "density": -1.0,
                    "mass": mass,
                    "centerOfMass": [tuple(distance * x for x in direction)],
                    "inertiaMatrix": [(turned, turned, turned), (0.0, 0.0, 0.0)],
                },
            ),
        },
    )


@dataclass(frozen=True, kw_only=True)
class World:
    """Pendulum of a world file."""

    step: float
    """Time step [s]."""
    inertia: float
    """Inertia about the joint [kg·m²]."""
    gravity_torque: float
    """Gravity torque with the arm horizontal [N·m]."""
    offset: float
    """Gravity offset: angle of the pendulum at joint angle 0 [rad]."""
    largest_torque: float
    """Torque limit of the motor [N·m]."""
    servo_file: str
    known_inertia: float
    """Inertia passed to the controller [kg·m²]."""


def read_world(path: Path) -> World:
    """Read the pendulum of a world file; raise ExportError for any other world."""
    nodes = Node("world", {"nodes": read_vrml(path, SCHEMA, HEADER)})
    info, robot = nodes.only("nodes", "WorldInfo"), nodes.only("nodes", "Robot")
    joint = robot.only("children", "HingeJoint")
    parameters, physics = joint.inside("jointParameters"), joint.inside("endPoint").inside("physics")
    passive = parameters["dampingConstant"] == parameters["staticFriction"] == 0.0
    if parameters["axis"] != (0.0, -1.0, 0.0) or parameters["anchor"] != (0.0, 0.0, 0.0) or not passive:
        raise ExportError(f"{path}: the joint is not the exported one: its axis, anchor, damping or friction differ")
    motor = joint.only("device", "RotationalMotor")
    joint.only("device", "PositionSensor")
    arguments = robot["controllerArgs"]
    if len(physics["centerOfMass"]) != 1 or len(physics["inertiaMatrix"]) != 2 or len(arguments) != 2:
        raise ExportError(f"{path}: one centre of mass, an inertia matrix and two controller arguments are required")
    (x, _, z), mass = physics["centerOfMass"][0], physics["mass"]
    distance = math.hypot(x, z)
    try:
        known = float(arguments[1])
    except ValueError:
        raise ExportError(f"{path}: the inertia {arguments[1]!r} is not a number") from None
    inertia = physics["inertiaMatrix"][0][1] + mass * distance * distance
    if not (0.0 < inertia < math.inf and mass > 0.0 and info["basicTimeStep"] >= 1.0):
        raise ExportError(f"{path}: a pendulum of {inertia} kg·m² at {info['basicTimeStep']} ms is not possible")
    return World(
        step=1e-3 * info["basicTimeStep"],
        inertia=inertia,
        gravity_torque=mass * info["gravity"] * distance,
        offset=math.atan2(x, -z),
        largest_torque=motor["maxTorque"],
        servo_file=arguments[0],
        known_inertia=known,
    )


def check_webots(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the controller of an export with Webots' integrator at the world's time step."""
    require_unchanged(folder, (PROGRAM, LIBRARY))
    name = slug(model.title)

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> list[NDArray[np.float64]]:
        world = read_world(place / f"{name}.pendulum.wbt")
        if world.servo_file != f"{name}.servo.json":
            raise ExportError(f"{place}: the world refers to {world.servo_file!r}, which is not this export's servo")
        return [simulate_world(world, place / world.servo_file, run) for run in runs]

    how = f"{PROGRAM} run here on the world's pendulum with Webots' integrator"
    return measured(
        model,
        options,
        "webots",
        how,
        rollout_of_files(model, folder, options, write_webots, simulate),
    )


def simulate_world(world: World, servo: Path | Mapping[str, Any], run: GridRun) -> NDArray[np.float64]:
    """Return the pendulum's positions on a trajectory before each step [rad]; commands are held for a step.

    `servo` is the servo file, or its content.
    """
    try:
        joint = program("servobench_webots").JointServo(servo, world.step, world.known_inertia)
    except ValueError as error:
        raise ExportError(f"the controller rejects the servo: {error}") from None
    joint.limit = world.largest_torque
    goal, driven = held_commands(run, world.step)
    positions = np.empty(len(goal))
    position = velocity = 0.0
    for k in range(len(goal)):
        positions[k] = position
        torque = joint.torque(position, goal[k], driven[k])
        pull = world.gravity_torque * math.sin(position + world.offset)
        velocity += world.step / world.inertia * (torque - pull)
        position += world.step * velocity
    return positions


def _milliseconds(timestep: float) -> int:
    milliseconds = round(1e3 * timestep)
    if milliseconds < 1 or abs(1e-3 * milliseconds - timestep) > 1e-9:
        raise ExportError(
            f"export to webots: a time step of {timestep} s is not possible; controllers need whole milliseconds"
        )
    return milliseconds


def _usage(servo_file: str, inertia: float) -> str:
    return f"""\
Open the world in Webots, then start the controller in this folder (needs numpy; faster with numba):

```sh
$WEBOTS_HOME/webots-controller {PROGRAM} {servo_file} {inertia:.9g}
```

In your own controller, with a PositionSensor next to each RotationalMotor, and `maxTorque` well above the servo's stall
torque, because the torque includes friction:

```python
from controller import Robot
from servobench_webots import attach

robot = Robot()
servos = attach(robot, {{"elbow": "{servo_file}"}}, inertias={{"elbow": {inertia:.6g}}})
while servos.step([0.5], enable=1.0):  # goals in rad; enable 0 releases
    pass
```

`servos.servos[0].inertia` may follow the arm's pose. One step of `servos` is one `basicTimeStep`, a whole number of ms.
"""


EXPORTER = Exporter(
    target="webots",
    title="Webots R2023b+",
    description="World with the pendulum, and a torque-mode controller with friction M1–M6.",
    options=ServoOptions,
    write=write_webots,
    check=check_webots,
    any_law=True,
    load_memory=True,
)
