"""Export to Choreonoid: a body file of the pendulum, and friction constants for a body customizer.

Body files (format_version 2.0) hold a joint's rotor inertia, ranges and effort limit, but no friction. Friction is
written as constants of the elastoplastic friction of Cisneros et al. (`core.export.targets.choreonoid.friction`),
fitted with the exponent 1 of that paper. The gains of a position drive are added:
effort = clip(kp·(goal − q) − kd·q̇, ±limit).

Both files are YAML, written and read by a YAML library. Angles in body files are in degrees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from core.base.errors import ExportError
from core.base.guards import is_array, is_object
from core.contact.bristle import Bristle
from core.contact.laws import Stribeck
from core.export.approximation import Form
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.drives.fit import fit_drive
from core.export.drives.plain import PlainDrive
from core.export.files import slug
from core.export.notes import settings_note, zero_comment
from core.export.protocol import held_commands, measured
from core.export.references import GridRun, default_bench
from core.export.targets.choreonoid.friction import (
    ChoreonoidFriction,
    can_follow,
    friction_constants,
    simulate_choreonoid,
)
from core.export.targets.mujoco.xml import pendulum_inertial
from core.servo.bench import Bench
from core.servo.model import ServoModel, with_contact
from core.servo.terms import CONTACTS

STRIBECK = Form(friction="m2", alpha=1.0, plain_drive=True)
COULOMB = Form(friction="m1", plain_drive=True)
"""Form of a model with friction M1: the same law with Ts = Tc."""
LARGEST_FILE = 1_000_000
FRICTION_FORMAT = "servobench-elastoplastic-friction"
GAIN_UNITS = {"kp": "N·m/rad", "kd": "N·m·s/rad", "limit": "N·m"}


@dataclass(frozen=True, kw_only=True)
class Body:
    """Pendulum of a body file; its inertia includes the joint's rotor."""

    inertia: float
    """Inertia about the joint [kg·m²]."""
    moment: float
    """Mass times distance of the centre of mass [kg·m]."""
    offset: float
    """Gravity offset: angle of the pendulum at joint angle 0 [rad]."""
    effort: float
    """Effort limit [N·m]."""


def write_choreonoid(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write `<name>.pendulum.body` and `<name>.friction.yaml`; raise ExportError for impossible options."""
    settings = settings_of(model, options, "choreonoid")
    bench = options.bench or default_bench(model)
    form = COULOMB if model.friction == "m1" else STRIBECK
    fit = fit_drive(with_contact(model, "rigid"), bench, settings, form, "Choreonoid")
    drive = fit.drive
    friction, bristle_note = _friction_on(model, drive, bench.inertia + drive.armature, options.timestep)
    name = slug(model.title)
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    body_file, friction_file = f"{name}.pendulum.body", f"{name}.friction.yaml"
    contents = {
        body_file: _dump(body_of(name, drive, bench, offset)),
        friction_file: zero_comment(model, "# ", "Add this to goals to get joint angles.")
        + _dump(_friction_of(friction, drive)),
    }
    meanings = {
        body_file: f"body (format_version 2.0, degrees): pendulum, {bench.mass:g} kg at {bench.length:g} m",
        friction_file: "constants for a body customizer and gains for a controller, SI units, at the joint",
    }
    raised = friction.w_brk > drive.stribeck_speed
    notes = [
        *fit.notes,
        *(
            [
                f"w_brk is {friction.w_brk:.4g} rad/s, not the fitted {drive.stribeck_speed:.4g}, which no bristle can "
                f"follow at {options.timestep * 1e3:g} ms; a smaller time step allows it."
            ]
            if raised
            else []
        ),
        settings_note(model, settings),
        bristle_note,
        "Body files have no friction; the customizer adds it. Torque off is an effort of 0; friction remains.",
        "Friction M3–M6 depends on loads that a customizer does not get; the C header of target `c` provides it.",
    ]
    return exported(folder, model, "choreonoid", "Choreonoid", contents, meanings, notes, _USAGE, approximated=True)


def _friction_on(model: ServoModel, drive: PlainDrive, inertia: float, step: float) -> tuple[ChoreonoidFriction, str]:
    """Return a fitted drive's friction, with the model's own bristle if a customizer can follow it, and a note."""
    static, milliseconds = drive.friction + drive.extra_at_rest, f"{step * 1e3:g} ms"
    law = Stribeck(static=static, coulomb=drive.friction, breakaway_speed=drive.stribeck_speed, viscous=drive.viscous)
    made = friction_constants(static, drive.friction, drive.viscous, drive.stribeck_speed, inertia, step)
    usual = (
        f"Kf and Bf are valid for {milliseconds} and this pendulum's inertia J: Kf = (0.2/dt)²·J and "
        f"Bf = 2·√(Kf·J), raised if u = Z·(Ts − Tc)/(w_brk·D) ≤ 1 requires it; here u = {made.u:.3g}. Choose "
        "them again for another joint."
    )
    if model.contact == "rigid":
        return made, usual
    stiffness, damping = model.values["bristle_stiffness"], model.values["bristle_damping"]
    if not can_follow(law, Bristle(stiffness=stiffness, damping=damping, step=step), inertia):
        return made, (
            f"The model's bristle, {stiffness:.4g} N·m/rad and {damping:.4g} N·m·s/rad, is not possible with a "
            f"customizer at {milliseconds}: it would jump or oscillate, as u ≤ 1 and Kf·dt² + 2·Bf·dt < 4·J do not "
            f"both hold. A smaller time step may help. {usual}"
        )
    own = replace(made, w_brk=drive.stribeck_speed, Kf=stiffness, Bf=damping)
    return own, (
        "Kf and Bf are the model's own; drive and sliding friction are fitted. Kf and Bf are valid "
        f"for time steps at which u = Z·(Ts − Tc)/(w_brk·D) ≤ 1, here {own.u:.3g}, and Kf·dt² + 2·Bf·dt < 4·J."
    )


def body_of(name: str, drive: PlainDrive, bench: Bench, offset: float) -> dict[str, Any]:
    """Return the pendulum as a body; `offset` is the gravity offset of the joint's angle [rad]."""
    mass, distance, inertia = pendulum_inertial(bench)
    direction = np.array([math.sin(offset), 0.0, -math.cos(offset)])
    speed = math.degrees(drive.no_load_speed)
    load = {
        "type": "Transform",
        "translation": (max(bench.length, 0.01) * direction).tolist(),
        "elements": [{"type": "Shape", "geometry": {"type": "Sphere", "radius": 0.02}}],
    }
    pendulum = {
        "name": "PENDULUM",
        "parent": "BASE",
        "joint_name": "SERVO",
        "joint_type": "revolute",
        "joint_axis": [0.0, -1.0, 0.0],
        "joint_id": 0,
        "joint_range": ["unlimited", "unlimited"],
        "joint_velocity_range": [-speed, speed],
        "max_joint_effort": float(drive.torque_limit),
        "rotor_inertia": float(drive.armature),
        "gear_ratio": 1.0,
        "mass": float(mass),
        "center_of_mass": (distance * direction).tolist(),
        "inertia": [float(inertia), 0.0, 0.0, 0.0, float(inertia), 0.0, 0.0, 0.0, float(inertia)],
        "elements": [load],
    }
    base = {
        "name": "BASE",
        "joint_type": "fixed",
        "mass": 1.0,
        "center_of_mass": [0.0, 0.0, 0.0],
        "inertia": [0.001, 0.0, 0.0, 0.0, 0.001, 0.0, 0.0, 0.0, 0.001],
    }
    return {
        "format": "ChoreonoidBody",
        "format_version": 2.0,
        "angle_unit": "degree",
        "name": name,
        "root_link": "BASE",
        "links": [base, pendulum],
    }


_BODY_KEYS = ("format", "format_version", "angle_unit", "name", "root_link", "links")
_LINK_KEYS = {
    "name": str,
    "parent": str,
    "joint_name": str,
    "joint_type": str,
    "joint_axis": 3,
    "joint_id": int,
    "joint_range": list,
    "joint_velocity_range": 2,
    "max_joint_effort": float,
    "rotor_inertia": float,
    "gear_ratio": float,
    "mass": float,
    "center_of_mass": 3,
    "inertia": 9,
    "elements": list,
}
"""Keys of an exported link and their types; a number stands for that many floats."""


def read_body(path: Path) -> Body:
    """Read the pendulum of a body file; raise ExportError for any other body."""
    data = _load(path)
    links = data.get("links")
    if tuple(data) != _BODY_KEYS or data["format"] != "ChoreonoidBody" or data["format_version"] != 2.0:
        raise ExportError(f"{path}: not an exported body in format_version 2.0")
    if data["angle_unit"] != "degree" or not is_array(links) or len(links) != 2:
        raise ExportError(f"{path}: an exported body has two links and angles in degrees")
    for link in links:
        _require_link(path, link)
    link = links[1]
    if link.get("joint_type") != "revolute" or link.get("joint_axis") != [0.0, -1.0, 0.0]:
        raise ExportError(f"{path}: the second link is not the exported pendulum")
    missing = [key for key in _LINK_KEYS if key not in link and key != "elements"]
    if missing:
        raise ExportError(f"{path}: the pendulum has no {', '.join(missing)}")
    x, _, z = link["center_of_mass"]
    moment = link["mass"] * math.hypot(x, z)
    inertia = link["inertia"][4] + moment * math.hypot(x, z) + link["rotor_inertia"] * link["gear_ratio"] ** 2
    if not (inertia > 0.0 and link["mass"] > 0.0):
        raise ExportError(f"{path}: a pendulum of {inertia} kg·m² is not possible")
    return Body(
        inertia=inertia,
        moment=moment,
        offset=math.atan2(x, -z),
        effort=link["max_joint_effort"],
    )


def read_friction(path: Path) -> tuple[ChoreonoidFriction, tuple[float, float, float]]:
    """Read the constants and gains (kp, kd, limit) of a friction file."""
    data = _load(path)
    constants, gains = data.get("friction"), data.get("drive")
    if data.get("format") != FRICTION_FORMAT or data.get("version") != 1:
        raise ExportError(f"{path}: not a {FRICTION_FORMAT} of version 1")
    names = ChoreonoidFriction.__dataclass_fields__
    friction = ChoreonoidFriction(**_floats(path, constants, tuple(names)))
    drive = _floats(path, gains, tuple(GAIN_UNITS))
    return friction, (drive["kp"], drive["kd"], drive["limit"])


def check_choreonoid(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Simulate body and friction of an export by the customizer's rule at their time step."""
    name = slug(model.title)
    body = read_body(folder / f"{name}.pendulum.body")
    friction, (kp, kd, limit) = read_friction(folder / f"{name}.friction.yaml")
    own, bench = settings_of(model, options, "choreonoid"), options.bench or default_bench(model)
    rotor = body.inertia - bench.inertia

    def rollout(runs: Sequence[GridRun], step: float) -> Iterator[NDArray[np.float64]]:
        for run in runs:
            pendulum = (body.inertia, body.moment * bench.gravity, body.offset)
            if run.bench != bench:
                pendulum = (run.bench.inertia + rotor, run.bench.gravity_torque, body.offset)
            share = run.settings.kp / own.kp
            damping = kd * (math.sqrt(share) if model.control.law == "current" else 1.0)
            gains = (kp * share, damping, min(limit, body.effort))
            yield simulate_choreonoid(friction, gains, pendulum, *held_commands(run, step))

    how = "body and friction read back and simulated here by the algorithm of Cisneros et al."
    return measured(model, options, "choreonoid", how, rollout, step=friction.dt)


def _friction_of(friction: ChoreonoidFriction, drive: PlainDrive) -> dict[str, Any]:
    return {
        "format": FRICTION_FORMAT,
        "version": 1,
        "units": {"Ts": "N·m", "Tc": "N·m", "Tv": "N·m·s/rad", "w_brk": "rad/s", "Kf": "N·m/rad"}
        | {"Bf": "N·m·s/rad", "dt": "s"}
        | GAIN_UNITS,
        "friction": {name: float(value) for name, value in asdict(friction).items()},
        "drive": {
            "kp": float(drive.stiffness),
            "kd": float(drive.damping),
            "limit": float(drive.torque_limit),
        },
    }


def _dump(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def _load(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ExportError(f"{path}: too large for an export")
        text = path.read_text(encoding="utf-8")
        if "&" in text or "*" in text:
            raise ExportError(f"{path}: exports have no anchors or aliases")
        data = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise ExportError(f"{path}: cannot be read as YAML: {error}") from None
    if not is_object(data):
        raise ExportError(f"{path}: not a mapping")
    return data


def _require_link(path: Path, link: Any) -> None:
    if not is_object(link):
        raise ExportError(f"{path}: a link is not a mapping")
    for key, value in link.items():
        kind = _LINK_KEYS.get(key)
        if kind is None:
            raise ExportError(f"{path}: a link has no key {str(key)[:40]!r}")
        if isinstance(kind, int):
            fits = is_array(value) and len(value) == kind and all(map(_is_float, value))
        else:
            fits = _is_float(value) if kind is float else isinstance(value, kind)
        if not fits:
            raise ExportError(f"{path}: {key}: {str(value)[:40]} has the wrong type")


def _floats(path: Path, data: Any, names: tuple[str, ...]) -> Mapping[str, float]:
    if not is_object(data) or tuple(data) != names or not all(map(_is_float, data.values())):
        raise ExportError(f"{path}: {', '.join(names)} are required, as numbers and in this order")
    return data


def _is_float(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


_USAGE = """\
In a body customizer, once per step and joint, with ω the joint's velocity and e = 0 at the start (Cisneros et al.,
algorithm 1):

    Z = 1/(Kf·dt + Bf)      D = 1 + Z·Tv      ω* = ω + Z·Kf·e
    |ω*| ≤ Z·Ts:  T = ω*/Z
    else:         T = ∓w/Z·W0(−Z·(Ts − Tc)/(w·D)·exp((Z·Tc − |ω*|)/(w·D))) ± (Tc + Tv·|ω*|)/D      upper sign: ω* > 0
    e = Z·(Bf·e + T·dt)

W0 is the principal branch of Lambert's W, w is w_brk. Subtract T from the joint's effort. The controller's effort is
clip(kp·(goal − q) − kd·q̇, ±limit), or 0 while the torque is off.
"""


EXPORTER = Exporter(
    target="choreonoid",
    title="Choreonoid",
    description="Body file, and friction constants for a body customizer.",
    options=ServoOptions,
    contacts=tuple(CONTACTS),
    write=write_choreonoid,
    check=check_choreonoid,
)
