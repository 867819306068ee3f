"""Worlds of gz-sim read back: what SDFormat 1.9 allows of what we write, and what the engine does with it.

Read with the table of `SDF` into a `GzServo`, and simulated by the plugin's rule: `JointPositionController` sets the
joint's torque to clip(p·e + d·ė, cmd_min … cmd_max) with the error's derivative over the last step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.bench import Bench
from core.errors import ExportError
from core.export.drive import Drive, as_model
from core.export.grid import GridRun
from core.export.xml_reading import (
    Rule,
    is_boolean,
    is_name,
    is_not_negative,
    is_number,
    is_pose,
    is_positive,
    is_vector,
    number_of,
    one_of,
    read_xml,
    value_of,
)
from core.simulation import simulate_trajectory
from core.trajectories import make_trajectory

Array = NDArray[np.float64]

VERSION, EARLIER_VERSION = "1.9", "1.12"
JOINT = "servo"
CONTROLLER = ("gz-sim-joint-position-controller-system", "gz::sim::systems::JointPositionController")
NO_ARMATURE = 1e-9
"""Inertia left to a servo whose armature is in the pendulum [kg·m²]."""


@dataclass(frozen=True, kw_only=True)
class GzServo:
    """A servo as gz-sim has it."""

    p_gain: float
    """[N·m/rad]"""
    d_gain: float
    """On the error's derivative [N·m·s/rad]"""
    limit: float
    """cmd_max [N·m]"""
    damping: float
    """Of the joint [N·m·s/rad]"""
    friction: float
    """Of the joint [N·m]"""
    armature: float
    """In the inertia of the example's pendulum [kg·m²]"""


def simulate_gz(gz: GzServo, servo: str, run: GridRun, share: float, step: float) -> Array:
    """Positions by gz-sim's rules on a run, one before each step [s]; share: of the exported gain; servo: its name.

    A released servo is a controller whose force is 0.
    """
    drive = Drive(
        stiffness=gz.p_gain * share,
        damping=0.0,
        torque_limit=gz.limit,
        no_load_speed=0.0,
        friction=gz.friction,
        viscous=gz.damping,
        armature=gz.armature,
    )
    model, settings = as_model(drive, servo)
    control = replace(model.control, derivative_ratio=1.0)
    model = replace(model, control=control, integrator="algorithm1")
    own = replace(settings, kd=gz.d_gain / gz.limit)
    path = make_trajectory(run.trajectory)
    return simulate_trajectory(model, path, run.bench, own, step).position


_NUMBER = Rule(text=is_number)
_POSITIVE = Rule(text=is_positive)
_NOT_NEGATIVE = Rule(text=is_not_negative)
_POSE = Rule(text=is_pose, optional={"relative_to": is_name})
_INERTIA = Rule(children=dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ("1", _NUMBER)))
_LINK = Rule(
    required={"name": is_name},
    children={
        "pose": ("?", _POSE),
        "inertial": (
            "?",
            Rule(children={"pose": ("?", _POSE), "mass": ("?", _POSITIVE), "inertia": ("?", _INERTIA)}),
        ),
        "visual": (
            "*",
            Rule(
                required={"name": is_name},
                children={
                    "pose": ("?", _POSE),
                    "geometry": (
                        "1",
                        Rule(choice=True, children={"sphere": ("?", Rule(children={"radius": ("1", _POSITIVE)}))}),
                    ),
                },
            ),
        ),
    },
)
_AXIS = Rule(
    children={
        "xyz": ("1", Rule(text=is_vector, optional={"expressed_in": is_name})),
        "limit": (
            "1",
            Rule(
                children={
                    "lower": ("1", _NUMBER),
                    "upper": ("1", _NUMBER),
                    "effort": ("?", _NUMBER),
                    "velocity": ("?", _NUMBER),
                }
            ),
        ),
        "dynamics": (
            "?",
            Rule(
                children={
                    "damping": ("?", _NOT_NEGATIVE),
                    "friction": ("?", _NOT_NEGATIVE),
                    "spring_reference": ("1", _NUMBER),
                    "spring_stiffness": ("1", _NUMBER),
                }
            ),
        ),
    }
)
_JOINT = Rule(
    required={"name": is_name, "type": one_of("revolute", "fixed")},
    children={
        "parent": ("1", Rule(text=is_name)),
        "child": ("1", Rule(text=is_name)),
        "pose": ("?", _POSE),
        "axis": ("?", _AXIS),
    },
)
_SYSTEM = Rule(required={"filename": is_name, "name": is_name})
_CONTROLLER = Rule(
    required={"filename": one_of(CONTROLLER[0]), "name": one_of(CONTROLLER[1])},
    children={
        "joint_name": ("+", Rule(text=is_name)),
        "joint_index": ("?", _NOT_NEGATIVE),
        "p_gain": ("?", _NOT_NEGATIVE),
        "i_gain": ("?", _NOT_NEGATIVE),
        "d_gain": ("?", _NOT_NEGATIVE),
        "i_max": ("?", _NUMBER),
        "i_min": ("?", _NUMBER),
        "cmd_max": ("?", _NUMBER),
        "cmd_min": ("?", _NUMBER),
        "cmd_offset": ("?", _NUMBER),
        "use_velocity_commands": ("?", Rule(text=is_boolean)),
        "topic": ("?", Rule(text=is_name)),
        "sub_topic": ("?", Rule(text=is_name)),
        "initial_position": ("?", _NUMBER),
    },
)
_PHYSICS = Rule(
    required={"type": one_of("dart")},
    optional={"name": is_name, "default": is_boolean},
    children={
        "max_step_size": ("1", _POSITIVE),
        "real_time_factor": ("1", _NOT_NEGATIVE),
        "real_time_update_rate": ("?", _NOT_NEGATIVE),
    },
)
_MODEL = Rule(
    required={"name": is_name},
    children={"pose": ("?", _POSE), "link": ("*", _LINK), "joint": ("*", _JOINT), "plugin": ("*", _CONTROLLER)},
)
_WORLD = Rule(
    required={"name": is_name},
    children={
        "gravity": ("?", Rule(text=is_vector)),
        "physics": ("+", _PHYSICS),
        "plugin": ("*", _SYSTEM),
        "model": ("*", _MODEL),
    },
)
SDF = Rule(required={"version": one_of(VERSION, EARLIER_VERSION)}, children={"world": ("1", _WORLD)})
"""What a world of ours may hold: SDFormat 1.9 and the plugin's parameters. Elements that the format fills in itself
(atmosphere, scene, magnetic field) are left to it."""


def read_world(path: Path) -> tuple[GzServo, Bench, float]:
    """Servo, pendulum (armature included) and step [s] of a world; raises ExportError for another world."""
    world = read_xml(path, "sdf", SDF).find("world")
    model = None if world is None else world.find("model")
    if world is None or model is None:
        raise ExportError(f"{path}: there is no model in it")
    link, joint, plugin = model.find("link[@name='pendulum']"), model.find(f"joint[@name='{JOINT}']"), None
    plugins = model.findall("plugin")
    if len(plugins) == 1 and value_of(plugins[0], "joint_name") == JOINT:
        plugin = plugins[0]
    if link is None or joint is None or plugin is None or joint.get("type") != "revolute":
        raise ExportError(f"{path}: pendulum, joint and controller are not the exported ones")
    integral, lowest = number_of(plugin, "i_gain"), number_of(plugin, "cmd_min")
    if integral != 0.0 or lowest != -number_of(plugin, "cmd_max") or value_of(joint, "axis/xyz") != "0 -1 0":
        raise ExportError(f"{path}: an integral gain, uneven limits or another axis: not the exported controller")
    gz = GzServo(
        p_gain=number_of(plugin, "p_gain"),
        d_gain=number_of(plugin, "d_gain"),
        limit=min(number_of(plugin, "cmd_max"), number_of(joint, "axis/limit/effort")),
        damping=number_of(joint, "axis/dynamics/damping"),
        friction=number_of(joint, "axis/dynamics/friction"),
        armature=NO_ARMATURE,
    )
    x, _, z, *_ = (float(word) for word in value_of(link, "inertial/pose").split())
    mass, gravity = number_of(link, "inertial/mass"), -float(value_of(world, "gravity").split()[2])
    distance = math.hypot(x, z)
    turned = number_of(link, "inertial/inertia/iyy") + mass * distance * distance
    if not NO_ARMATURE < turned < math.inf or gravity < 0.0:
        raise ExportError(f"{path}: an inertia of {turned} kg·m² or a gravity of {gravity} m/s² is not possible")
    bench = Bench(
        mass=mass,
        length=distance,
        gravity=gravity,
        angle_offset=math.atan2(x, -z),
        measured_inertia=turned - NO_ARMATURE,
        measured_gravity_torque=mass * gravity * distance,
    )
    return gz, bench, number_of(world, "physics/max_step_size")
