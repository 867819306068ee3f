"""Export to MuJoCo 3.12 and later: the servo as default class, and a pendulum scene that uses it.

MuJoCo's `dcmotor` is the voltage law of seed 004, eqs (12, 13), with friction M1, exactly. Its controller takes gains
in torque and compensates the back-EMF, τ = kp'·(u − q) − kd'·q̇ and U = clip(R/k_t·τ + k_t·q̇, ±Vmax). The gains

    voltage law:  kp' = kp·U·k_t/R   kd' = k_t²/R   Vmax = U·(largest duty)                  cancel the compensation,
    current law:  kp' = k_t·kp       kd' = k_t·damping·√kp   Vmax = U   torque ±k_t·I_heat    are eqs (14, 15).

Friction is a constraint in MuJoCo. Its reference acceleration is −2·q̇/(time constant); with the shortest time
constant the engine allows, twice its time step, that is the stopping torque of eq. (4), and with an impedance of 0.9999
the joint does not creep. At the default of 20 ms friction asks for a gentler stop than that: it pushes along the motion
wherever the other torques decelerate the joint faster.

Friction M2–M6 has no counterpart: the best M1 is written instead, refitted to the model's own motion
(`core.export.approximation`), with its error. The engine itself is only needed by `core.export.mujoco_check`.
"""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from core.bench import Bench
from core.errors import ExportError
from core.export.approximation import M1Approximation, approximate_as_m1, as_m1
from core.export.contract import Exporter, ExportResult
from core.export.files import printable, readme_section, slug, write_files
from core.export.grid import REFERENCE_STEP, bench_grid, converged_positions, default_bench, own_positions
from core.kernel.layout import NO_SLEW, Slot
from core.model import ServoModel
from core.recording import ServoSettings

EXPRESSIBLE = ("command_delay", "error_gain_ratio", "goal_slew", "release_braking")
"""Command path terms MuJoCo has a place for."""
DRIVE_GROUP, BRAKE_GROUP = 1, 2
"""Actuator groups: switching the first off releases the motor; the second brakes a released one."""
SETUP_TEXT = "servobench"
"""Name of the scene's custom text that holds what it was exported with, as JSON."""
WORTH_A_NOTE = 0.5
"""A difference between the identified step and a converged one above this is said [mrad]."""
_SMALLEST_INERTIA = 1e-9


@dataclass(frozen=True, kw_only=True)
class MujocoOptions:
    """What MuJoCo's files need beyond the model."""

    kp: float | None = None
    """Gain as written into the servo, fixed by the export; None: the catalogue's."""
    ki: float = 0.0
    """Integral gain as written into the servo."""
    damping: float | None = None
    """Velocity gain of the eRob law; None: the catalogue's."""
    supply_voltage: float | None = None
    """[V]; None: the model's nominal one."""
    bench: Bench | None = None
    """Pendulum of the scene and of the stated error; None: one that suits the servo."""
    timestep: float = 0.001
    """Of the pendulum scene [s]."""


def write_mujoco(model: ServoModel, folder: Path, options: MujocoOptions) -> ExportResult:
    """Write `<name>.servo.xml` and `<name>.pendulum.xml`; raises ExportError for options that are not possible."""
    settings = _settings(model, options)
    bench = options.bench or default_bench(model)
    lost = lost_terms(model)
    if model.friction == "m1" and not lost:
        approximation, written = None, as_m1(model, bench, EXPRESSIBLE)
    else:
        approximation = approximate_as_m1(model, bench, settings, EXPRESSIBLE)
        written = approximation.model
    name = slug(model.title)
    notes = [
        *_fidelity_notes(model, lost, approximation),
        *_step_notes(model, bench, settings),
        *_command_notes(written, settings, options.timestep),
    ]
    servo_file, scene_file = f"{name}.servo.xml", f"{name}.pendulum.xml"
    contents = {
        servo_file: _text(servo_element(name, written, settings, options.timestep)),
        scene_file: _text(scene_element(name, servo_file, model, written, bench, settings, options.timestep)),
    }
    meanings = {
        servo_file: "default class of the servo's joint and actuator, for your robot",
        scene_file: f"pendulum, {printable(_bench_title(bench))}, ready to run",
    }
    readme = readme_section(model, "MuJoCo 3.12 and later", meanings, notes, _usage(name, servo_file, written))
    files = write_files(folder, contents, model, "mujoco", readme)
    error = 0.0 if approximation is None else approximation.mean_mrad
    return ExportResult(files=tuple(files), notes=tuple(notes), error_mrad=error)


def lost_terms(model: ServoModel) -> tuple[str, ...]:
    """Parts of a model beyond friction that MuJoCo has no place for."""
    terms = [name for name in model.command_path if name not in EXPRESSIBLE and model.values[name] > 0.0]
    return (*terms, "coast") if model.control.bridge == "coast" else tuple(terms)


def servo_element(name: str, model: ServoModel, settings: ServoSettings, timestep: float) -> ET.Element:
    """The servo as a default class; model has friction M1."""
    values = model.values
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, timestep)
    kt, resistance, supply = values["kt"], values["R"], settings.supply_voltage
    current_law = model.control.law == "current"
    # Torque per unit of what the law computes: duty cycle or A.
    torque = kt if current_law else supply * kt / resistance
    damping = torque * row[Slot.KV] + (0.0 if current_law else kt * kt / resistance)
    limit = row[Slot.OUTPUT_LIMIT]
    integral_limit = limit / row[Slot.KI] if row[Slot.KI] > 0.0 else 0.0
    slew = row[Slot.GOAL_SLEW] if row[Slot.GOAL_SLEW] < NO_SLEW else 0.0
    voltage_limit = supply if current_law else supply * limit

    root = ET.Element("mujoco", model=name)
    servo = ET.SubElement(ET.SubElement(root, "default"), "default", {"class": name})
    ET.SubElement(
        servo,
        "joint",
        armature=_numbers(values["armature"]),
        damping=_numbers(values["friction_viscous"]),
        frictionloss=_numbers(values["friction_base"]),
        solreffriction="1e-05 1",
        solimpfriction="0.9999 0.9999 0.001 0.5 2",
    )
    motor = ET.SubElement(
        servo,
        "dcmotor",
        group=str(DRIVE_GROUP),
        motorconst=_numbers(kt, kt),
        resistance=_numbers(resistance),
        input="pos",
        controller=_numbers(torque * row[Slot.KP], torque * row[Slot.KI], damping, slew, integral_limit, voltage_limit),
    )
    if current_law:
        motor.set("saturation", _numbers(kt * limit, 0.0, 0.0))
    delay = values.get("command_delay", 0.0)
    if delay > 0.0:
        motor.set("delay", _numbers(delay))
        motor.set("nsample", str(math.ceil(delay / timestep) + 1))
        motor.set("interp", "linear")
    braking = values.get("release_braking", 0.0)
    if braking > 0.0:
        ET.SubElement(
            ET.SubElement(servo, "default", {"class": f"{name}-brake"}),
            "dcmotor",
            group=str(BRAKE_GROUP),
            motorconst=_numbers(kt, kt),
            resistance=_numbers(resistance / braking),
            input="none",
            controller="0 0 0 0 0 0",
            delay="0",
            nsample="0",
        )
    return root


def scene_element(
    name: str,
    servo_file: str,
    model: ServoModel,
    written: ServoModel,
    bench: Bench,
    settings: ServoSettings,
    timestep: float,
) -> ET.Element:
    """The pendulum bench as a scene that includes the servo's file."""
    root = ET.Element("mujoco", model=f"{name} pendulum")
    ET.SubElement(root, "include", file=servo_file)
    ET.SubElement(root, "compiler", angle="radian")
    ET.SubElement(
        root,
        "option",
        timestep=_numbers(timestep),
        integrator="implicitfast",
        gravity=_numbers(0.0, 0.0, -bench.gravity),
        actuatorgroupdisable=str(BRAKE_GROUP),
    )
    custom = ET.SubElement(root, "custom")
    setup = json.dumps({"settings": settings.to_json(), "bench": bench.to_json()}, allow_nan=False)
    ET.SubElement(custom, "text", name=SETUP_TEXT, data=setup)
    ET.SubElement(custom, "text", name="model", data=printable(model.title))
    world = ET.SubElement(root, "worldbody")
    ET.SubElement(world, "light", pos="0 -1 1", dir="0 1 -1")
    body = ET.SubElement(world, "body", name="pendulum")
    # Seen along +y with x to the right and z up, this axis makes counter-clockwise positive and 0 hang down.
    ET.SubElement(body, "joint", {"name": "servo", "class": name, "axis": "0 -1 0"})
    mass, distance, inertia = pendulum_inertial(bench)
    offset = bench.angle_offset + written.values.get("q_offset", 0.0)
    direction = np.array([math.sin(offset), 0.0, -math.cos(offset)])
    ET.SubElement(
        body,
        "inertial",
        pos=_numbers(*(distance * direction)),
        mass=_numbers(mass),
        diaginertia=_numbers(inertia, inertia, inertia),
    )
    end = max(bench.length, 0.01) * direction
    look = {"contype": "0", "conaffinity": "0"}
    rod = {"type": "capsule", "fromto": _numbers(0.0, 0.0, 0.0, *end), "size": "0.004", "rgba": "0.6 0.6 0.6 1"}
    load = {"type": "sphere", "pos": _numbers(*end), "size": "0.02", "rgba": "0.2 0.4 0.8 1"}
    ET.SubElement(body, "geom", rod | look)
    ET.SubElement(body, "geom", load | look)
    actuators = ET.SubElement(root, "actuator")
    ET.SubElement(actuators, "dcmotor", {"name": "servo", "class": name, "joint": "servo"})
    if written.values.get("release_braking", 0.0) > 0.0:
        ET.SubElement(actuators, "dcmotor", {"name": "brake", "class": f"{name}-brake", "joint": "servo"})
    sensors = ET.SubElement(root, "sensor")
    ET.SubElement(sensors, "jointpos", name="position", joint="servo")
    ET.SubElement(sensors, "jointvel", name="velocity", joint="servo")
    ET.SubElement(sensors, "actuatorfrc", name="motor_torque", actuator="servo")
    return root


def pendulum_inertial(bench: Bench) -> tuple[float, float, float]:
    """Mass [kg], distance of the centre of mass [m] and inertia about it [kg·m²] with the bench's inertia and gravity.

    m·g·d is the gravity torque and m·d² + I the inertia about the shaft; a body must have some of each.
    """
    mass = max(bench.mass + bench.arm_mass, 1e-6)
    moment = bench.gravity_torque / bench.gravity if bench.gravity > 0.0 else 0.0
    inertia = max(bench.inertia, 2.0 * _SMALLEST_INERTIA)
    distance = moment / mass
    if moment > 0.0 and inertia - moment * distance < _SMALLEST_INERTIA:
        distance = (inertia - _SMALLEST_INERTIA) / moment
        mass = moment / distance
    return mass, distance, inertia - mass * distance * distance


def _settings(model: ServoModel, options: MujocoOptions) -> ServoSettings:
    settings = model.default_settings(options.kp)
    if options.supply_voltage is not None:
        settings = replace(settings, supply_voltage=options.supply_voltage)
    settings = replace(settings, ki=options.ki, damping=options.damping)
    wrong = [
        f"{name} = {value!r}"
        for name, value in (*asdict(settings).items(), ("timestep", options.timestep))
        if isinstance(value, (int, float)) and not (math.isfinite(value) and value >= 0.0)
    ]
    if not settings.supply_voltage > 0.0 or not options.timestep > 0.0 or wrong:
        raise ExportError(f"export to mujoco: not possible: {', '.join(wrong) or 'a supply or time step of 0'}")
    if settings.ki > 0.0 and model.control.integral_ratio <= 0.0:
        raise ExportError(f"export to mujoco: {model.servo} has no integral gain; leave ki at 0")
    return settings


def _fidelity_notes(model: ServoModel, lost: tuple[str, ...], approximation: M1Approximation | None) -> list[str]:
    if approximation is None:
        return [
            "Friction M1 and the control law are written exactly; what remains is the engine's discretisation, which "
            "shrinks with its time step."
        ]
    missing = [] if model.friction == "m1" else [f"friction {model.friction.upper()}"]
    names = {"coast": "the drive/coast bridge"}
    missing += [names.get(term, term.replace("_", " ")) for term in lost]
    changed = ", ".join(approximation.refitted)
    values = ", ".join(f"{name} = {approximation.model.values[name]:.6g}" for name in approximation.refitted)
    how = f"with {changed} refitted to the model's own motion ({values})" if changed else "with its values unchanged"
    return [
        f"MuJoCo has no place for {', '.join(missing)}; written is the best Coulomb–viscous servo, {how}.",
        f"Its error against the full model is {approximation.mean_mrad:.2f} mrad on average and "
        f"{approximation.worst_mrad:.2f} mrad in the worst run ({approximation.worst_run}) over the four trajectories, "
        f"two loads and two gains; {1e3 * approximation.held_back_error:.2f} mrad at a load and gain it was not "
        "fitted to.",
    ]


def _step_notes(model: ServoModel, bench: Bench, settings: ServoSettings) -> list[str]:
    differences, stride = [], 50
    for run in bench_grid(bench, settings):
        converged = converged_positions(model, run)[::stride]
        own = own_positions(model, run, stride * REFERENCE_STEP * np.arange(len(converged), dtype=np.float64))
        differences.append(float(np.abs(own - converged).mean()))
    mean = 1e3 * float(np.mean(differences))
    if mean < WORTH_A_NOTE:
        return []
    return [
        f"The model was identified at {model.dt * 1e3 / model.substeps:g} ms with integrator {model.integrator}; "
        f"simulated so, its motion differs by {mean:.2f} mrad from its converged one, which is what is exported."
    ]


def _command_notes(model: ServoModel, settings: ServoSettings, timestep: float) -> list[str]:
    notes = [
        f"Fixed by this export: kp {settings.kp:g}"
        + (f", ki {settings.ki:g}" if settings.ki else "")
        + (f", damping {settings.damping:g}" if settings.damping is not None else "")
        + f", supply {settings.supply_voltage:g} V. Derivative gain is 0.",
        f"Torque off is actuator group {DRIVE_GROUP} switched off: the motor is an open circuit, without back-EMF.",
        "Friction relies on `solreffriction` and `solimpfriction` of the class and on the engine's `refsafe` flag, "
        "which is on unless disabled; integrator `implicitfast` suits it best.",
    ]
    values = model.values
    if values.get("command_delay", 0.0) > 0.0:
        notes.append(
            f"Commands are delayed by {values['command_delay'] * 1e3:.3g} ms; `nsample` suits time steps of "
            f"{timestep * 1e3:g} ms and above. Releasing the motor is not delayed by the engine: do it that much later."
        )
    if "goal_slew" in values:
        notes.append("The limit of the goal's velocity starts at goal 0, whatever the joint's angle.")
    if values.get("release_braking", 0.0) > 0.0:
        notes.append(
            f"A released motor brakes: switch group {BRAKE_GROUP} on whenever group {DRIVE_GROUP} is off; its class is "
            "the servo's with `-brake`."
        )
    return notes


def _usage(name: str, servo_file: str, model: ServoModel) -> str:
    brake = (
        f'\n  <dcmotor class="{name}-brake" joint="elbow"/>' if model.values.get("release_braking", 0.0) > 0.0 else ""
    )
    return f"""\
In your robot's MJCF, with the joint and actuator named as you like:

```xml
<include file="{servo_file}"/>
<option integrator="implicitfast" actuatorgroupdisable="{BRAKE_GROUP}"/>
<joint name="elbow" class="{name}" axis="0 0 1"/>
<actuator>
  <dcmotor name="elbow" class="{name}" joint="elbow"/>{brake}
</actuator>
```

The control is the goal in rad. Servos that are released one by one need a `group` of their own each. In Python:

```python
data.ctrl[0] = goal
model.opt.disableactuator = 1 << {BRAKE_GROUP}  # driven
model.opt.disableactuator = 1 << {DRIVE_GROUP}  # released
```
"""


def _bench_title(bench: Bench) -> str:
    return f"{bench.mass:g} kg at {bench.length:g} m"


def _numbers(*values: float) -> str:
    """Numbers as MJCF reads them back bit for bit."""
    return " ".join(repr(float(value)) for value in values)


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def read_setup(scene: Path) -> Mapping[str, Mapping[str, float]]:
    """Settings and bench a pendulum scene was exported with; raises ExportError for any other file."""
    try:
        root = ET.parse(scene).getroot()
        text = root.find(f"custom/text[@name='{SETUP_TEXT}']")
        if text is None:
            raise ValueError("it says nothing about its export")
        return json.loads(text.attrib["data"])
    except (OSError, ET.ParseError, KeyError, ValueError) as error:
        raise ExportError(f"{scene}: not a pendulum scene of this program: {error}") from None


EXPORTER = Exporter(
    target="mujoco",
    title="MuJoCo 3.12+",
    description="The servo as a default class and a pendulum scene; exact for M1, the best M1 for M2–M6.",
    options=MujocoOptions,
    write=write_mujoco,
)
