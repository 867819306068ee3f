"""Export to USD for PhysX, Isaac Sim and Newton: the servo as a layer that a joint references, and a pendulum.

The servo is UsdPhysics' angular drive with PhysX's performance envelope (`core.export.drives.envelope`), plus friction
and armature of its joint. USD measures angles in degrees, so quantities per radian become quantities per degree.

Friction and armature are written twice, as PhysxJointAxisAPI and as NewtonJointAPI for Newton. PhysX has static and
dynamic friction. Both get the same Coulomb friction, which is refitted to the model's own motion for M2–M6. A check
runs the pendulum in PhysX.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError, NotChecked
from core.export.apart import positions_apart
from core.export.approximation import Form, approximate, in_form
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, settings_of
from core.export.drives.envelope import EnvelopeDrive, envelope_drive_of
from core.export.files import printable, readme_section, require_written, slug, write_files
from core.export.notes import fit_notes, lead_note, missing_terms, settings_note, zero_comment
from core.export.protocol import at_gain, measured
from core.export.references import GridRun, default_bench
from core.export.servo_file import standalone_text
from core.export.targets.mujoco.actuators import bench_title
from core.export.targets.mujoco.xml import pendulum_inertial
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACTS

FORM = Form(kept=("error_gain_ratio",))
PROGRAM = "servobench_physx.py"
SERVO_APIS = (
    "PhysicsDriveAPI:angular",
    "PhysxDrivePerformanceEnvelopeAPI:angular",
    "PhysxJointAxisAPI:angular",
    "NewtonJointAPI",
)
DRIVE, ENVELOPE = "drive:angular:physics:", "physxDrivePerformanceEnvelope:angular:"
AXIS, NEWTON = "physxJointAxis:angular:", "newton:"
PER_DEGREE = math.pi / 180.0
ZERO_REMEDY = "Turn the joint's localRot0 about its axis by this angle to use the servo's angles."
ENGINE_PACKAGES = ("ovphysx", "ovstage", "physx_usd_schemas", "newton_usd_schemas")
INSTALL = "'ovphysx>=0.7' physx-usd-schemas newton-usd-schemas"


@dataclass(frozen=True, kw_only=True)
class UsdOptions(ServoOptions):
    """Options of the export to USD."""


def write_usd(model: ServoModel, folder: Path, options: UsdOptions) -> ExportResult:
    """Write `<name>.servo.usda`, `<name>.pendulum.usda` and a program that moves it."""
    settings = settings_of(model, options, "usd")
    if settings.ki > 0.0:
        raise ExportError("export to usd: PhysX's drive has no integral gain; leave ki at 0")
    bench = options.bench or default_bench(model)
    drive, fidelity = _written(model, bench, settings)
    contents = _contents(model, bench, drive)
    servo, pendulum, _ = contents
    meanings = {
        servo: "drive, friction and armature of the servo's joint, for a joint of your robot to reference",
        pendulum: f"articulation of one joint, {printable(bench_title(bench))}, in a scene",
        PROGRAM: "moves the pendulum in PhysX; needs ovphysx, physx-usd-schemas and newton-usd-schemas",
    }
    notes = [
        *fidelity,
        "A motor that brakes at its limit brakes too weakly in PhysX: an MX-106 at half the load and double the gain "
        "is 22 mrad from its M1 on sin_time_square, at any time step.",
        lead_note(options.timestep),
        "USD 1.0 text: UsdPhysics with the schemas PhysxJointAxisAPI and PhysxDrivePerformanceEnvelopeAPI (PhysX 5.6, "
        "Isaac Sim 5.0 and later) and NewtonJointAPI. Units are metre, kilogram and degree: 1 N·m/rad is written as "
        "0.0174533 N·m/deg. Newton has no envelope: its torque limit does not fall with speed.",
        "Envelope, friction and armature act only on joints of an articulation.",
        "PhysX has one static and one dynamic friction, equal here, and no load-dependent friction.",
        "For torque off, set `maxForce` (`jointMaxForce` at run time) to 0; the motor is then an open circuit.",
        settings_note(model, settings),
    ]
    readme = readme_section(model, "USD for PhysX, Isaac Sim and Newton", meanings, notes, _usage(servo, pendulum))
    files = write_files(folder, contents, model, "usd", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), approximated=bool(fidelity))


def _written(model: ServoModel, bench: Bench, settings: ServoSettings) -> tuple[EnvelopeDrive, list[str]]:
    """Return the drive that replaces a model, and notes on the approximation, if it is one."""
    missing = missing_terms(model, FORM)
    if not missing:
        return envelope_drive_of(in_form(model, bench, FORM), settings), []
    found = approximate(model, bench, settings, FORM)
    return envelope_drive_of(found.model, settings), fit_notes(found, "PhysX", missing)


def _contents(model: ServoModel, bench: Bench, drive: EnvelopeDrive) -> dict[str, str]:
    """Return the servo's layer, the pendulum's layer and the program by file name."""
    name = slug(model.title)
    servo = f"{name}.servo.usda"
    return {
        servo: servo_text(drive, zero_comment(model, "    # ", ZERO_REMEDY)),
        f"{name}.pendulum.usda": pendulum_text(f"references = @./{servo}@", model, bench),
        PROGRAM: standalone_text(PROGRAM),
    }


def attributes(servo: EnvelopeDrive) -> dict[str, float]:
    """Return the attributes of a servo's joint by name, in USD's units."""
    return {
        f"{DRIVE}stiffness": servo.stiffness * PER_DEGREE,
        f"{DRIVE}damping": servo.damping * PER_DEGREE,
        f"{DRIVE}maxForce": servo.largest_torque,
        f"{DRIVE}targetPosition": 0.0,
        f"{ENVELOPE}velocityDependentResistance": servo.resistance * PER_DEGREE,
        f"{ENVELOPE}speedEffortGradient": servo.gradient / PER_DEGREE,
        **({f"{ENVELOPE}maxActuatorVelocity": servo.largest_speed / PER_DEGREE} if servo.largest_speed else {}),
        f"{AXIS}armature": servo.armature,
        f"{AXIS}staticFrictionEffort": servo.friction,
        f"{AXIS}dynamicFrictionEffort": servo.friction,
        f"{AXIS}viscousFrictionCoefficient": servo.viscous * PER_DEGREE,
        f"{NEWTON}armature": servo.armature,
        f"{NEWTON}friction": servo.friction,
        f"{NEWTON}damping": servo.viscous * PER_DEGREE,
    }


def servo_text(servo: EnvelopeDrive, comment: str = "") -> str:
    """Return the servo's layer; `comment` holds lines for its prim."""
    lines = [f"    float {name} = {_number(value)}" for name, value in attributes(servo).items()]
    apis = ", ".join(f'"{api}"' for api in SERVO_APIS)
    return (
        f'#usda 1.0\n(\n    defaultPrim = "Servo"\n{_UNITS})\n\ndef "Servo" (\n    prepend apiSchemas = [{apis}]\n)\n'
        f'{{\n{comment}    uniform token {DRIVE}type = "force"\n' + "\n".join(lines) + "\n}\n"
    )


def pendulum_text(applied: str, model: ServoModel, bench: Bench, attributes: str = "", after: str = "") -> str:
    """Return the layer of the pendulum bench.

    Args:
        applied: Reference to the servo's layer, or API schemas, of the joint's prim.
        model: The model.
        bench: The pendulum.
        attributes: Additional lines of the joint.
        after: Prims after the joint.
    """
    return f"""\
#usda 1.0
(
    defaultPrim = "Pendulum"
{_UNITS})

def PhysicsScene "PhysicsScene"
{{
    vector3f physics:gravityDirection = (0, 0, -1)
    float physics:gravityMagnitude = {_number(bench.gravity)}
}}

def Xform "Pendulum" (
    prepend apiSchemas = ["PhysicsArticulationRootAPI", "PhysxArticulationAPI"]
    kind = "component"
)
{{
    float physxArticulation:sleepThreshold = 0
    float physxArticulation:stabilizationThreshold = 0

    def Xform "Base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {{
        float physics:mass = 1
        float3 physics:diagonalInertia = (0.001, 0.001, 0.001)
        quatf physics:principalAxes = (1, 0, 0, 0)
    }}

{_arm_text(bench, bench.angle_offset + model.values.get("q_offset", 0.0))}
    def PhysicsFixedJoint "Mount"
    {{
        rel physics:body1 = </Pendulum/Base>
    }}

    def PhysicsRevoluteJoint "Joint" (
        prepend {applied}
    )
    {{
        rel physics:body0 = </Pendulum/Base>
        rel physics:body1 = </Pendulum/Arm>
        uniform token physics:axis = "Y"
        quatf physics:localRot0 = (0, 1, 0, 0)
        quatf physics:localRot1 = (0, 1, 0, 0)
{attributes}    }}
{after}}}
"""


def _arm_text(bench: Bench, offset: float) -> str:
    """Return the prim of the arm with its load, which hangs down at the angle `offset` [rad]."""
    mass, distance, inertia = pendulum_inertial(bench)
    direction = np.array([math.sin(offset), 0.0, -math.cos(offset)])
    return f"""\
    def Xform "Arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {{
        float physics:mass = {_number(mass)}
        point3f physics:centerOfMass = {_numbers(*(distance * direction))}
        float3 physics:diagonalInertia = {_numbers(inertia, inertia, inertia)}
        quatf physics:principalAxes = (1, 0, 0, 0)

        def Sphere "Load"
        {{
            double radius = 0.02
            float3[] extent = [(-0.02, -0.02, -0.02), (0.02, 0.02, 0.02)]
            double3 xformOp:translate = {_numbers(*(max(bench.length, 0.01) * direction))}
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }}
    }}
"""


def check_usd(model: ServoModel, folder: Path, options: UsdOptions) -> Check:
    """Run the pendulum in PhysX.

    Raises:
        ExportError: The folder's files are not those of the export.
        NotChecked: PhysX is not installed.
    """
    own, bench = settings_of(model, options, "usd"), options.bench or default_bench(model)
    drive, *_ = _written(model, bench, own)
    require_written(folder, _contents(model, bench, drive))
    if not all(map(importlib.util.find_spec, ENGINE_PACKAGES)):
        raise NotChecked(f"PhysX is not installed here: pip install {INSTALL}")

    def rollout(runs: Sequence[GridRun], step: float) -> Iterable[NDArray[np.float64]]:
        servos = [at_gain(drive, model, run.settings.kp / own.kp) for run in runs]
        with TemporaryDirectory() as place:
            scene = _write_scene(Path(place), model, [run.bench for run in runs], servos)
            return positions_apart(PROGRAM, (scene,), [run.trajectory for run in runs], step, "PhysX")

    return measured(model, options, "usd", f"run in PhysX (ovphysx {version('ovphysx')})", rollout)


def scene_text(pendulums: Sequence[Path]) -> str:
    """Return the layer of a scene with several pendulum layers: `/Pendulum`, `/Pendulum1`, …."""
    first, *others = [path.name for path in pendulums]
    prims = [f'def "Pendulum{n}" (references = @./{name}@) {{}}\n' for n, name in enumerate(others, 1)]
    return f"#usda 1.0\n(\n    subLayers = [@./{first}@]\n{_UNITS})\n\n{''.join(prims)}"


def _write_scene(folder: Path, model: ServoModel, benches: Sequence[Bench], servos: Sequence[EnvelopeDrive]) -> Path:
    """Write a scene with a pendulum for each servo."""
    pendulums = [folder / f"{number}.pendulum.usda" for number in range(len(servos))]
    for number, (pendulum, bench, servo) in enumerate(zip(pendulums, benches, servos, strict=True)):
        (folder / f"{number}.servo.usda").write_text(servo_text(servo), encoding="utf-8")
        text = pendulum_text(f"references = @./{number}.servo.usda@", model, bench)
        pendulum.write_text(text, encoding="utf-8")
    scene = folder / "scene.usda"
    scene.write_text(scene_text(pendulums), encoding="utf-8")
    return scene


_UNITS = """\
    kilogramsPerUnit = 1
    metersPerUnit = 1
    upAxis = "Z"
"""


def _number(value: float) -> str:
    """Format a number in USD's single precision."""
    return str(np.float32(value))


def _numbers(*values: float) -> str:
    return f"({', '.join(_number(value) for value in values)})"


def _usage(servo: str, pendulum: str) -> str:
    return f"""\
In your robot's layer, on a revolute joint of its articulation:

```usda
over "elbow" (
    prepend references = @./{servo}@
)
{{
}}
```

The goal is `drive:angular:physics:targetPosition`, in degrees. Angles are about the joint's axis. The pendulum is
`/Pendulum` of `{pendulum}`; `python {PROGRAM} {pendulum}` swings it in PhysX, releases it and prints its angle.
"""


EXPORTER = Exporter(
    target="usd",
    title="USD for PhysX, Isaac Sim, Newton",
    description="Layer for a robot's joint, and a pendulum; friction M1; for M2–M6 the nearest M1.",
    options=UsdOptions,
    write=write_usd,
    check=check_usd,
    contacts=tuple(CONTACTS),
    engine="PhysX",
    package="ovphysx",
    install=INSTALL,
)
