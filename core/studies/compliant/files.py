"""Compliant actuators as files: springs, motors, their controller and the losses of the link, in SI units.

    {"format": "servobench-compliant", "version": 1, "actuator": "qbmove", "parameters": {"a1": 8.99, …},
     "motor": {"inertia": 0.0233, …}, "controller": {"kp": 125.0, …}, "link": {"damping": 0.065, "friction": 0.025},
     "provenance": {…}}

Only "actuator" and "parameters" are required; the toolbox's values replace anything else that is missing. Limits that a
motor does not have are left out. This module loads no compiler.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.base.atomic import sweep, write_atomically
from core.base.errors import InputError, ModelError
from core.base.guards import is_finite, is_object
from core.base.sealed import is_edited, sealed_text
from core.servo.bench import Bench
from core.studies.compliant.arm import LINK_DAMPING, LINK_FRICTION
from core.studies.compliant.elastic import ACTUATORS, CompliantActuator
from core.studies.compliant.joint import CompliantJoint, CompliantLink
from core.studies.compliant.motor import Motor, Pid

FORMAT = "servobench-compliant"
VERSION = 1
LARGEST_FILE = 1 << 20
"""Size limit of a file [B]."""


@dataclass(frozen=True, kw_only=True)
class CompliantUnit:
    """Compliant actuator with its motors, controller and the losses of its link."""

    actuator: CompliantActuator
    motor: Motor = field(default_factory=Motor)
    """Motor; all motors of an actuator are equal."""
    pid: Pid = field(default_factory=Pid)
    """Position controller of each motor."""
    link_damping: float = LINK_DAMPING
    """Damping of the link's joint [N·m·s/rad]."""
    link_friction: float = LINK_FRICTION
    """Dry friction of the link's joint [N·m]."""

    def __post_init__(self) -> None:
        for name in ("link_damping", "link_friction"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ModelError(f"compliant actuator: {name} = {value!r} must be a finite number of 0 or more")

    def joint(self, bench: Bench) -> CompliantJoint:
        """Return a joint with a bench's pendulum as its link; raise ModelError for a bench without inertia."""
        return CompliantJoint(
            actuator=self.actuator,
            link=CompliantLink.of_bench(bench, damping=self.link_damping, friction=self.link_friction),
            motors=(self.motor, self.motor),
            pids=(self.pid, self.pid),
        )

    def checked_preset(self, preset: float) -> float:
        """Return the preset; raise ModelError if the actuator has none or it is out of range."""
        actuator, (low, high) = self.actuator, self.actuator.preset_limits()
        if not actuator.preset_unit:
            if preset != 0.0:
                raise ModelError(f"a {actuator.title} has no stiffness preset; remove {preset:g}")
        elif not math.isfinite(preset) or (low < high and not low <= preset <= high):
            raise ModelError(
                f"{actuator.preset_name.lower()} {preset:g} {actuator.preset_unit} of the {actuator.title} must lie "
                f"within {low:g} … {high:g}"
            )
        return preset


def unit_to_json(unit: CompliantUnit, provenance: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the plain data of a file; raise ModelError for a user-defined actuator, which no file can hold."""
    actuator = unit.actuator
    if ACTUATORS.get(actuator.name) is not type(actuator):
        raise ModelError(f"{actuator.title}: only {', '.join(ACTUATORS)} can be written to a file")
    return {
        "format": FORMAT,
        "version": VERSION,
        "actuator": actuator.name,
        "parameters": actuator.parameters().numbers(),
        "motor": {name: value for name, value in vars(unit.motor).items() if math.isfinite(value)},
        "controller": dict(vars(unit.pid)),
        "link": {"damping": unit.link_damping, "friction": unit.link_friction},
        "provenance": dict(provenance or {}),
    }


def unit_from_json(data: Any, source: str = "compliant actuator") -> CompliantUnit:
    """Invert `unit_to_json`; raise InputError naming `source` for anything else."""
    if not is_object(data) or data.get("format") != FORMAT:
        raise InputError(f'{source}: not a compliant actuator; its "format" must be "{FORMAT}"')
    if data.get("version") != VERSION:
        raise InputError(f"{source}: version {data.get('version')!r} is unknown, this program reads {VERSION}")
    name = data.get("actuator")
    if not isinstance(name, str) or name not in ACTUATORS:
        raise InputError(f"{source}: no actuator {name!r}; available: {', '.join(ACTUATORS)}")
    link = _numbers(data, "link", source)
    unknown = sorted(set(link) - {"damping", "friction"})
    if unknown:
        raise InputError(f"{source}: link has no {unknown[0]!r}; it has damping and friction")
    try:
        return CompliantUnit(
            actuator=ACTUATORS[name]().with_values(_numbers(data, "parameters", source)),
            motor=Motor(**_numbers(data, "motor", source)),
            pid=Pid(**_numbers(data, "controller", source)),
            link_damping=link.get("damping", LINK_DAMPING),
            link_friction=link.get("friction", LINK_FRICTION),
        )
    except (TypeError, ModelError, InputError) as error:
        raise InputError(f"{source}: {error}") from None


def write_unit(path: Path | str, unit: CompliantUnit, provenance: Mapping[str, Any] | None = None) -> Path:
    """Write a unit as JSON and return the file; raise InputError if it cannot be written."""
    file = Path(path)
    text = sealed_text(unit_to_json(unit, provenance))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode("utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot write the actuator: {error.strerror or error}") from None
    return file


def read_unit(path: Path | str) -> CompliantUnit:
    """Read a file of `write_unit`; raise InputError for any other."""
    file = Path(path)
    sweep(file.parent)
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(f"{file}: too large for a compliant actuator")
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a JSON file"
        raise InputError(f"{file}: cannot be read as a compliant actuator: {reason}") from None
    unit = unit_from_json(data, str(file))
    is_edited(data, file)
    return unit


def _numbers(data: Mapping[str, Any], key: str, source: str) -> dict[str, float]:
    """Return an object of finite numbers, empty if it is missing."""
    found = data.get(key, {})
    if not is_object(found):
        raise InputError(f"{source}: {key} must be an object of names and numbers")
    for name, value in found.items():
        if not is_finite(value):
            raise InputError(f"{source}: {key}: {name} = {value!r} must be a finite number")
    return {name: float(value) for name, value in found.items()}
