"""MJCF of a servo and of its pendulum bench, in the syntax of three generations of MuJoCo.

"3.12" (3.12 and later): `dcmotor` is exactly the voltage law of Duclusaud et al., eqs (12, 13). Its controller takes
gains in torque and compensates the back-EMF: τ = kp'·(u − q) − kd'·q̇ and U = clip(R/k_t·τ + k_t·q̇, ±Vmax). The gains

    voltage law:  kp' = kp·U·k_t/R   kd' = k_t²/R   Vmax = U·(largest duty)                  cancel the compensation,
    current law:  kp' = k_t·kp       kd' = k_t·damping·√kp   Vmax = U   torque ±k_t·I_heat    are eqs (14, 15).

"3.7" (3.7 to 3.11): the same actuator with gains in volts and no compensation, U = clip(kp·U·(u − q) − kd·q̇, ±Vmax).
Actuators that only brake or rub have a voltage as control in this syntax, which stays 0.

"3.1" (3.1 and later; MJX, which has no `dcmotor`): two `general` actuators, one with the torque limit, one unlimited
for the back-EMF. This is exactly the voltage law. The current law loses its limit by the supply voltage.

Friction is a constraint in MuJoCo. Its reference acceleration is −2·q̇/(time constant). With the shortest time constant
the engine allows, twice its time step, this is the stopping torque of eq. (4), and with an impedance of 0.9999 the
joint does not creep. With the default of 20 ms, friction aims at a gentler stop: it pushes along the motion wherever
the other torques decelerate the joint faster.
"""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from core.base.errors import ExportError
from core.export.files import printable
from core.export.notes import zero_comment
from core.kernel.layout import NO_SLEW, Slot
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

SYNTAXES = ("3.12", "3.7", "3.1")
"""Syntaxes, each named after the oldest version of MuJoCo that reads it."""
EXPRESSIBLE = {
    "3.12": ("command_delay", "error_gain_ratio", "goal_slew", "release_braking"),
    "3.7": ("command_delay", "error_gain_ratio", "goal_slew", "release_braking"),
    "3.1": ("error_gain_ratio", "release_braking"),
}
"""Command path terms that each syntax can express."""
FINEST_STEP = 1e-4
"""Shortest time step for which the command buffer is sized, unless the scene's own is shorter [s]."""
DRIVE_GROUP, BRAKE_GROUP = 1, 2
"""Actuator groups: disabling the first releases the motor; the second brakes a released motor."""
SETUP_TEXT = "servobench"
"""Name of the scene's custom text that holds the settings and the bench of the export, as JSON."""
BRISTLE_DEFLECTION = 1e-3
"""LuGre's deflection at the Coulomb friction [rad]: its bristles yield this much before the joint slides."""
STIFF = "0.9999 0.9999 0.001 0.5 2"
"""Impedance of constraints that yield as little as the engine allows."""
_SMALLEST_INERTIA = 1e-9
_NO_MOTOR = 1e-9
"""Torque constant of a passive actuator [N·m/A]."""


def actuator_classes(model: ServoModel, syntax: str) -> tuple[tuple[str, str], ...]:
    """Return the actuators of a servo: suffix of each one's class, and its element."""
    element = "general" if syntax == "3.1" else "dcmotor"
    classes = [("", element)]
    if syntax == "3.1" and model.control.law == "voltage":
        classes.append(("-emf", element))
    if model.friction == "m2":
        classes.append(("-friction", element))
    if model.values.get("release_braking", 0.0) > 0.0:
        classes.append(("-brake", element))
    return tuple(classes)


def joint_attributes(armature: float, damping: float, friction: float) -> dict[str, str]:
    """Return attributes of a joint whose friction stops it within a step without creep; kg·m², N·m·s/rad, N·m."""
    return {
        "armature": numbers(armature),
        "damping": numbers(damping),
        "frictionloss": numbers(friction),
        "solreffriction": "1e-05 1",
        "solimpfriction": STIFF,
    }


def add_backlash(root: ET.Element, model: ServoModel) -> None:
    """Add a joint between motor and load to each joint of a servo with backlash; its limits are the teeth.

    They are as stiff as the engine allows, and overdamped, since critical damping lets teeth rebound.
    """
    half = 0.5 * model.values.get("backlash", 0.0)
    if not half:
        return
    teeth = {"limited": "true", "range": numbers(-half, half), "solreflimit": "1e-05 2", "solimplimit": STIFF}
    for body in root.iter("body"):
        joint = body.find("joint")
        if joint is not None:
            play = {"name": f"{joint.get('name')}_backlash", "axis": joint.get("axis", "0 0 1"), **teeth}
            body.insert(list(body).index(joint) + 1, ET.Element("joint", play))


def backlash_notes(model: ServoModel, more: str) -> list[str]:
    """Describe the joints of a servo with backlash, and `more` about them; empty without."""
    if not model.values.get("backlash"):
        return []
    return [
        f"The backlash of {math.degrees(model.values['backlash']):.3g}° is a second joint on the same body, named "
        "after the servo's joint with `_backlash` added, with the same type, axis and position. The load is at the "
        f"sum of both angles. {more}"
    ]


def servo_element(name: str, model: ServoModel, settings: ServoSettings, timestep: float, syntax: str) -> ET.Element:
    """Return the servo as a default class; its friction is M1, or M2 with exponent 2, written as LuGre."""
    values = model.values
    root = ET.Element("mujoco", model=name)
    _state_zero(root, model)
    servo = ET.SubElement(ET.SubElement(root, "default"), "default", {"class": name})
    friction = 0.0 if model.friction == "m2" else values["friction_base"]
    ET.SubElement(servo, "joint", joint_attributes(values["armature"], values["friction_viscous"], friction))
    write = _as_general if syntax == "3.1" else _as_dcmotor
    for ending, _ in actuator_classes(model, syntax):
        inside = servo if ending == "" else ET.SubElement(servo, "default", {"class": f"{name}{ending}"})
        write(inside, ending, model, settings, timestep, syntax)
    return root


def _state_zero(parent: ET.Element, model: ServoModel) -> None:
    """Explain the zero offset in a comment, in both units, as the unit depends on the file it is copied to."""
    offset = model.values.get("q_offset", 0.0)
    if offset:
        ref = f'ref="{-offset:.9g}" (angle="radian") or ref="{-math.degrees(offset):.9g}" (angle="degree")'
        text = zero_comment(model, remedy=f"With {ref} your joint has the servo's angles.")
        parent.append(ET.Comment(f" {text} "))


def _as_dcmotor(
    parent: ET.Element, ending: str, model: ServoModel, settings: ServoSettings, timestep: float, syntax: str
) -> None:
    values = model.values
    kt, resistance = values["kt"], values["R"]
    if ending == "":
        motor = ET.SubElement(
            parent,
            "dcmotor",
            group=str(DRIVE_GROUP),
            motorconst=numbers(kt, kt),
            resistance=numbers(resistance),
            input="pos" if syntax == "3.12" else "position",
            controller=numbers(*_controller(model, settings, timestep, syntax)),
        )
        if model.control.law == "current":
            motor.set("saturation", numbers(kt * model.output_limit, 0.0, 0.0))
        delay = values.get("command_delay", 0.0)
        if delay > 0.0:
            motor.set("delay", numbers(delay))
            motor.set("nsample", str(math.ceil(delay / min(timestep, FINEST_STEP)) + 1))
            motor.set("interp", "linear")
        return
    # Before 3.12 every actuator has a control; at 0 V only the winding's back-EMF acts.
    passive = {
        "input": "none" if syntax == "3.12" else "voltage",
        "controller": "0 0 0 0 0 0",
        "delay": "0",
        "nsample": "0",
        "saturation": "0 0 0",
    }
    if ending == "-brake":
        constant, of_winding, group = kt, resistance / values["release_braking"], BRAKE_GROUP
    else:
        constant, of_winding, group = _NO_MOTOR, 1.0, 0
        coulomb, extra = values["friction_base"], values["friction_stribeck"]
        stiffness = coulomb / BRISTLE_DEFLECTION
        damping = math.sqrt(stiffness * values["armature"])
        passive["lugre"] = numbers(stiffness, damping, coulomb, coulomb + extra, values["dtheta_stribeck"])
    passive |= {"group": str(group), "motorconst": numbers(constant, constant), "resistance": numbers(of_winding)}
    ET.SubElement(parent, "dcmotor", passive)


def _controller(model: ServoModel, settings: ServoSettings, timestep: float, syntax: str) -> tuple[float, ...]:
    """Return kp, ki, kd, slew, integral limit and voltage limit in the actuator's units."""
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, timestep)
    kt, resistance, supply = model.values["kt"], model.values["R"], settings.supply_voltage
    current_law = model.control.law == "current"
    # Torque per unit of the law's output: duty cycle or A.
    torque = kt if current_law else supply * kt / resistance
    damping = torque * row[Slot.KV] + (0.0 if current_law else kt * kt / resistance)
    limit = row[Slot.OUTPUT_LIMIT]
    scale = 1.0
    if syntax == "3.7":
        # Volts per torque; without compensation by the actuator, nothing must be cancelled.
        scale = resistance / kt
        damping -= kt * kt / resistance
    return (
        float(scale * torque * row[Slot.KP]),
        float(scale * torque * row[Slot.KI]),
        float(scale * damping),
        float(row[Slot.GOAL_SLEW] if row[Slot.GOAL_SLEW] < NO_SLEW else 0.0),
        float(limit / row[Slot.KI] if row[Slot.KI] > 0.0 else 0.0),
        float(supply if current_law else supply * limit),
    )


def _as_general(
    parent: ET.Element, ending: str, model: ServoModel, settings: ServoSettings, timestep: float, syntax: str
) -> None:
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, timestep)
    kt, resistance = model.values["kt"], model.values["R"]
    torque = kt if model.control.law == "current" else settings.supply_voltage * kt / resistance
    stiffness, damping = torque * row[Slot.KP], torque * row[Slot.KV]
    limits = {"forcelimited": "false"}
    if ending == "":
        limit = torque * row[Slot.OUTPUT_LIMIT]
        limits = {"forcelimited": "true", "forcerange": numbers(-limit, limit)}
    else:
        share = 1.0 if ending == "-emf" else model.values["release_braking"]
        stiffness, damping = 0.0, share * kt * kt / resistance
    attributes = {
        "group": str(BRAKE_GROUP if ending == "-brake" else DRIVE_GROUP),
        "gainprm": numbers(stiffness),
        "biastype": "affine",
        "biasprm": numbers(0.0, -stiffness, -damping),
    }
    ET.SubElement(parent, "general", attributes | limits)


def scene_element(
    name: str,
    servo_file: str,
    model: ServoModel,
    written: ServoModel,
    bench: Bench,
    settings: ServoSettings,
    timestep: float,
    syntax: str = "3.12",
) -> ET.Element:
    """Return the pendulum bench as a scene that includes the servo's file."""
    root = pendulum_element(name, model, bench, settings, timestep)
    root.insert(0, ET.Element("include", file=servo_file))
    option = root.find("option")
    assert option is not None
    option.set("actuatorgroupdisable", str(BRAKE_GROUP))
    actuators = ET.SubElement(root, "actuator")
    for ending, element in actuator_classes(written, syntax):
        ET.SubElement(actuators, element, {"name": f"servo{ending}", "class": f"{name}{ending}", "joint": "servo"})
    sensors = ET.SubElement(root, "sensor")
    ET.SubElement(sensors, "jointpos", name="position", joint="servo")
    ET.SubElement(sensors, "jointvel", name="velocity", joint="servo")
    ET.SubElement(sensors, "actuatorfrc", name="motor_torque", actuator="servo")
    return root


def pendulum_element(
    name: str, model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float
) -> ET.Element:
    """Return the pendulum bench without actuators; its joint `servo` is of class `name`."""
    root = ET.Element("mujoco", model=f"{name} pendulum")
    ET.SubElement(root, "compiler", angle="radian")
    ET.SubElement(
        root,
        "option",
        timestep=numbers(timestep),
        integrator="implicitfast",
        gravity=numbers(0.0, 0.0, -bench.gravity),
    )
    custom = ET.SubElement(root, "custom")
    setup = json.dumps({"settings": settings.to_json(), "bench": bench.to_json()}, allow_nan=False)
    ET.SubElement(custom, "text", name=SETUP_TEXT, data=setup)
    ET.SubElement(custom, "text", name="model", data=printable(model.title))
    world = ET.SubElement(root, "worldbody")
    ET.SubElement(world, "light", pos="0 -1 1", dir="0 1 -1")
    body = ET.SubElement(world, "body", name="pendulum")
    _state_zero(body, model)
    # Looking along +y with x to the right and z up, counter-clockwise is positive and 0 hangs down.
    ET.SubElement(body, "joint", {"name": "servo", "class": name, "axis": "0 -1 0"})
    mass, distance, inertia = pendulum_inertial(bench)
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    direction = np.array([math.sin(offset), 0.0, -math.cos(offset)])
    ET.SubElement(
        body,
        "inertial",
        pos=numbers(*(distance * direction)),
        mass=numbers(mass),
        diaginertia=numbers(inertia, inertia, inertia),
    )
    end = max(bench.length, 0.01) * direction
    look = {"contype": "0", "conaffinity": "0"}
    rod = {"type": "capsule", "fromto": numbers(0.0, 0.0, 0.0, *end), "size": "0.004", "rgba": "0.6 0.6 0.6 1"}
    load = {"type": "sphere", "pos": numbers(*end), "size": "0.02", "rgba": "0.2 0.4 0.8 1"}
    ET.SubElement(body, "geom", rod | look)
    ET.SubElement(body, "geom", load | look)
    return root


def pendulum_inertial(bench: Bench) -> tuple[float, float, float]:
    """Return a body with the bench's inertia and gravity torque.

    m·g·d is the gravity torque and m·d² + I the inertia about the shaft. Engines need a positive mass and inertia.

    Returns:
        Mass m [kg], distance d of the centre of mass [m] and inertia I about it [kg·m²].
    """
    mass = max(bench.mass + bench.arm_mass, 1e-6)
    moment = bench.gravity_torque / bench.gravity if bench.gravity > 0.0 else 0.0
    inertia = max(bench.inertia, 2.0 * _SMALLEST_INERTIA)
    distance = moment / mass
    if moment > 0.0 and inertia - moment * distance < _SMALLEST_INERTIA:
        distance = (inertia - _SMALLEST_INERTIA) / moment
        mass = moment / distance
    return mass, distance, inertia - mass * distance * distance


def numbers(*values: float) -> str:
    """Format numbers so that MJCF reads them back bit for bit."""
    return " ".join(repr(float(value)) for value in values)


def xml_text(root: ET.Element) -> str:
    """Return the indented text of a file."""
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def read_setup(scene: Path) -> Mapping[str, Mapping[str, float]]:
    """Read the settings and bench of an exported pendulum scene; raise ExportError for any other file."""
    try:
        root = ET.parse(scene).getroot()
        text = root.find(f"custom/text[@name='{SETUP_TEXT}']")
        if text is None:
            raise ValueError("it has no record of its export")
        return json.loads(text.attrib["data"])
    except (OSError, ET.ParseError, KeyError, ValueError) as error:
        raise ExportError(f"{scene}: not a pendulum scene of this program: {error}") from None
