"""Export to Genesis: a program that puts the servo on an entity's joints, with its numbers and a pendulum.

"servo" is the identified servo with friction M1–M6. The program, `core/export/standalone/servobench_genesis.py`,
computes control law and motor and sets the joint's friction before each step. "plain" is Genesis' own position drive on
a joint with Coulomb and viscous friction, set once and as fast as Genesis:

    drive = clip(kp·(goal − q) − kv·q̇, ±limit)     joint torque = −(damping + driven damping)·q̇ − frictionloss

The driven damping is the voltage law's back-EMF, k_t²/R, outside the torque limit; releasing the servo removes it. This
is exactly eqs (12, 13) of Duclusaud et al. The current law loses its limit by the supply voltage. Friction M2–M6 is
refitted.

Genesis takes half a minute or more to start. A check runs all its pendulums side by side, in a process of its own.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError, NotChecked
from core.base.guards import is_finite, is_object
from core.export.apart import positions_apart
from core.export.approximation import Form, approximate, in_form
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.drives.envelope import EnvelopeDrive, envelope_drive_of
from core.export.drives.envelope import as_model as envelope_as_model
from core.export.drives.fit import fit_drive
from core.export.drives.plain import PlainDrive
from core.export.drives.plain import as_model as drive_as_model
from core.export.files import printable, slug
from core.export.notes import fit_notes, lead_note, missing_terms, settings_note, zero_number
from core.export.programs import require_unchanged
from core.export.protocol import by_condition, measured, simulated_here
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_text, standalone_text
from core.export.targets.mujoco.actuators import bench_title
from core.export.targets.mujoco.hook import pendulum_scene
from core.export.targets.mujoco.xml import xml_text
from core.servo.bench import Bench
from core.servo.model import ServoModel, with_contact
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACTS

DRIVES = ("servo", "plain")
PROGRAM = "servobench_genesis.py"
PROGRAMS = (PROGRAM, "servobench_torch.py")
DRIVE_FORMAT, DRIVE_VERSION = "servobench-drive", 1
DRIVE_NUMBERS = ("kp", "kv", "torque_limit", "armature", "damping", "driven_damping", "frictionloss")
"""Parameters of a drive file: N·m/rad, N·m·s/rad, N·m, kg·m², N·m·s/rad, N·m·s/rad, N·m."""
FORM = Form(kept=("error_gain_ratio",))
PLAIN_FORM = Form(plain_drive=True)
LONGEST_STEP = 0.005
"""Longest time step for which the program was measured [s]."""


@dataclass(frozen=True, kw_only=True)
class GenesisOptions(ServoOptions):
    """Options of the export to Genesis."""

    drive: str = field(default="servo", metadata={"choices": DRIVES})
    """"servo": as identified, computed before each step; "plain": the engine's own drive, set once."""


def write_genesis(model: ServoModel, folder: Path, options: GenesisOptions) -> ExportResult:
    """Write the programs, the servo's or drive's numbers, and a pendulum."""
    if options.drive not in DRIVES:
        raise ExportError(f"export to genesis: no drive {options.drive!r}; available: {', '.join(DRIVES)}")
    settings = settings_of(model, options, "genesis")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    scene, numbers = f"{name}.genesis.xml", _numbers_file(name, options)
    if options.drive == "servo":
        contact = "rigid"
        text, how, fitted = servo_text(with_contact(model, contact), settings), list(_SERVO_NOTES), []
    else:
        if settings.ki > 0.0:
            raise ExportError("export to genesis: its own drive has no integral gain; leave ki at 0")
        contact = model.contact
        drive, fitted = _plain(model, bench, settings)
        text, how = drive_text(drive | zero_number(model)), [*fitted, lead_note(options.timestep), *_PLAIN_NOTES]
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        numbers: text,
        scene: xml_text(pendulum_scene(name, model, bench, settings, options.timestep)),
    }
    meanings = {
        PROGRAMS[0]: "puts servos or drives on the joints of an entity; needs genesis-world 1.4",
        PROGRAMS[1]: "the servo itself in PyTorch, which the program above uses",
        numbers: f"parameters of this {options.drive.replace('plain', 'drive')}",
        scene: f"pendulum, {printable(bench_title(bench))}, as MJCF",
    }
    notes = [
        *how,
        "Genesis does not read gravity from a model's file. For the pendulum, set "
        f"{bench.gravity:g} m/s² along -z with `SimOptions(gravity=...)`.",
        settings_note(model, settings),
    ]
    usage = _usage(numbers, scene, options.drive)
    result = exported(folder, model, "genesis", "Genesis", contents, meanings, notes, usage, approximated=bool(fitted))
    return replace(result, contact=contact)


def _plain(model: ServoModel, bench: Bench, settings: ServoSettings) -> tuple[dict[str, float], list[str]]:
    """Return the plain drive's parameters, and notes on the approximation, if it is one."""
    if model.control.law == "current":
        fit = fit_drive(model, bench, settings, PLAIN_FORM, "Genesis")
        return drive_numbers(fit.drive, fit.drive.torque_limit, 0.0), list(fit.notes)
    missing = missing_terms(model, FORM)
    if missing:
        fitted = approximate(model, bench, settings, FORM)
        written, notes = fitted.model, fit_notes(fitted, "Genesis", missing)
    else:
        written, notes = in_form(model, bench, FORM), []
    servo = envelope_drive_of(written, settings)
    return drive_numbers(servo, servo.largest_torque, servo.resistance), notes


def drive_numbers(servo: PlainDrive | EnvelopeDrive, limit: float, back_emf: float) -> dict[str, float]:
    """Return the DRIVE_NUMBERS of a drive with a torque limit [N·m] and a driven damping [N·m·s/rad]."""
    return {
        "kp": servo.stiffness,
        "kv": max(servo.damping - back_emf, 0.0),
        "torque_limit": limit,
        "armature": servo.armature,
        "damping": servo.viscous,
        "driven_damping": back_emf,
        "frictionloss": servo.friction,
    }


def drive_text(numbers: Mapping[str, float]) -> str:
    """Return the file of a plain drive with these DRIVE_NUMBERS."""
    return json.dumps({"format": DRIVE_FORMAT, "version": DRIVE_VERSION, **numbers}, indent=1, allow_nan=False) + "\n"


def read_drive(path: Path) -> dict[str, float]:
    """Read the parameters of a drive file; raise ExportError for any other file."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ExportError(f"{path}: cannot be read as a drive: {error}") from None
    if not is_object(data) or set(data) != {"format", "version", *DRIVE_NUMBERS}:
        raise ExportError(f"{path}: not a drive of Genesis")
    if (data["format"], data["version"]) != (DRIVE_FORMAT, DRIVE_VERSION):
        raise ExportError(f"{path}: {data['format']!r} of version {data['version']!r} is not a drive of version 1")
    wrong = [f"{name} = {data[name]!r}" for name in DRIVE_NUMBERS if not (is_finite(data[name]) and data[name] >= 0.0)]
    if wrong:
        raise ExportError(f"{path}: a drive with {', '.join(wrong)} is not possible")
    return {name: float(data[name]) for name in DRIVE_NUMBERS}


def as_model(numbers: Mapping[str, float], servo: str) -> tuple[ServoModel, ServoSettings]:
    """Return the model that Genesis simulates with a drive, and its settings; `servo` is a catalogue name."""
    if numbers["driven_damping"] > 0.0:
        values = (numbers[name] for name in ("kp", "torque_limit", "frictionloss", "damping", "armature"))
        kp, limit, friction, viscous, armature = values
        back_emf = numbers["driven_damping"]
        drive = EnvelopeDrive(
            stiffness=kp,
            damping=numbers["kv"] + back_emf,
            largest_torque=limit,
            resistance=back_emf,
            gradient=0.0,
            largest_speed=0.0,
            friction=friction,
            viscous=viscous,
            armature=armature,
        )
        return envelope_as_model(drive, servo)
    drive = PlainDrive(
        stiffness=numbers["kp"],
        damping=numbers["kv"],
        torque_limit=numbers["torque_limit"],
        no_load_speed=0.0,
        friction=numbers["frictionloss"],
        viscous=numbers["damping"],
        armature=numbers["armature"],
    )
    return drive_as_model(drive, servo)


def check_genesis(model: ServoModel, folder: Path, options: GenesisOptions) -> Check:
    """Run the exported pendulum in Genesis on the CPU, in double precision, at the options' time step.

    Without Genesis, a plain drive is read back and simulated here.

    Raises:
        ExportError: The files are not those of the export.
        NotChecked: Genesis is not installed, and the drive is not a plain one.
    """
    name = slug(model.title)
    numbers = folder / _numbers_file(name, options)
    drive = read_drive(numbers) if options.drive == "plain" else None
    own, engine = settings_of(model, options, "genesis"), importlib.util.find_spec("genesis") is not None
    if engine:
        require_unchanged(folder, PROGRAMS)
        how = f"run in Genesis {version('genesis-world')}"
    elif drive is not None:
        how = f"{numbers.name} read back and simulated here (Genesis is not installed)"
    else:
        raise NotChecked("Genesis is not installed here: pip install genesis-world")

    def text_at(settings: ServoSettings) -> str:
        if drive is None:
            return servo_text(with_contact(model, "rigid"), settings)
        return drive_text(_at_gain(drive, model, settings.kp / own.kp))

    def rollout(runs: Sequence[GridRun], step: float) -> Iterable[NDArray[np.float64]]:
        if not engine and drive is not None:
            drives = [_at_gain(drive, model, run.settings.kp / own.kp) for run in runs]
            return simulated_here(model, runs, [as_model(now, model.servo) for now in drives], step)
        conditions = [group[0] for group in by_condition(runs)]
        with TemporaryDirectory() as place:
            scene, servos = Path(place) / "scene.xml", [numbers] * len(conditions)
            scene.write_text(xml_text(_side_by_side(model, conditions, step)), encoding="utf-8")
            for number, run in enumerate(conditions):
                if run.settings != own:
                    servos[number] = Path(place) / f"{number}.json"
                    servos[number].write_text(text_at(run.settings), encoding="utf-8")
            return positions_apart(PROGRAM, (scene, *servos), [run.trajectory for run in runs], step, "Genesis")

    return measured(model, options, "genesis", how, rollout)


def _side_by_side(model: ServoModel, runs: Sequence[GridRun], step: float) -> ET.Element:
    """Return one scene with the pendulum of each run."""
    first, *others = [pendulum_scene(slug(model.title), model, run.bench, run.settings, step) for run in runs]
    for number, scene in enumerate(others, 1):
        for element, key in itertools.product(scene.iter(), ("name", "joint")):
            if key in element.attrib:
                element.attrib[key] += str(number)
        first.extend([*scene.findall("worldbody"), *scene.findall("actuator")])
    return first


def _at_gain(numbers: Mapping[str, float], model: ServoModel, share: float) -> dict[str, float]:
    falls = math.sqrt(share) if model.control.law == "current" else 1.0
    return {**numbers, "kp": numbers["kp"] * share, "kv": numbers["kv"] * falls}


def _numbers_file(name: str, options: GenesisOptions) -> str:
    return f"{name}.servo.json" if options.drive == "servo" else f"{name}.genesis.json"


_SERVO_NOTES = [
    f"Time steps of up to {LONGEST_STEP * 1e3:g} ms, with one substep. Separate friction for each environment needs "
    "`RigidOptions(batch_dofs_info=True)`.",
    "For torque off, pass `enable` 0 to `update` and `step`, per environment and joint.",
]
_PLAIN_NOTES = [
    "`set_drive` sets kp, kv, force range, armature, damping and frictionloss of the joint once. It makes the friction "
    "as stiff as Genesis allows, so that it does not creep.",
    "For torque off, call `drive.release()`: the control force is 0 and, with a voltage law, the damping loses the "
    "back-EMF, so the motor is an open circuit. Releasing only some environments needs "
    "`RigidOptions(batch_dofs_info=True)`.",
]


def _usage(numbers: str, scene: str, drive: str) -> str:
    if drive == "servo":
        lines = f"""\
from servobench_genesis import Servos

servos = Servos(scene, robot, {{"shoulder": "{numbers}", "elbow": "{numbers}"}})
servos.step([0.5, -0.2])  # goals in rad, then scene.step(); or servos.update(...) before your own
"""
    else:
        lines = f"""\
from servobench_genesis import set_drive

drive = set_drive(scene, robot, {{"shoulder": "{numbers}", "elbow": "{numbers}"}})
drive.command([0.5, -0.2])  # goals in rad, before scene.step()
drive.release(["elbow"])  # torque off
"""
    return (
        f"After `scene.build()`:\n\n```python\n{lines}```\n\n"
        f"`python {PROGRAM} {scene} {numbers}` swings the pendulum, releases it and prints its angle."
    )


EXPORTER = Exporter(
    target="genesis",
    title="Genesis",
    description="M1–M6 as identified, computed before each step; or the engine's own position drive, fitted.",
    options=GenesisOptions,
    write=write_genesis,
    check=check_genesis,
    contacts=tuple(CONTACTS),
    load_memory=True,
)
