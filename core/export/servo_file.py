"""The servo as a flat file of numbers: what every stand-alone program written beside an export reads.

One JSON object: `format`, `version`, `title`, `law` ("voltage", "coast" or "current"), `supply_voltage` [V], the gain
as written into the servo (`written_kp`), and the numbers of `NUMBERS`, names and units as in `core.kernel.layout.Slot`.
Gains are per rad of the position error, in duty cycle (voltage laws) or A (current law): what the firmware makes of the
written ones. A limit of the goal's velocity that never acts is 1e9 rad/s. An elastoplastic contact makes it version 2,
with `contact` ("elastoplastic" or "elastoplastic_rational") and the numbers of `BRISTLE_NUMBERS`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.bench import Bench
from core.errors import ExportError
from core.export.files import printable
from core.export.notes import zero_number
from core.kernel.layout import Law, Slot
from core.model import ServoModel
from core.recording import ServoSettings

STANDALONE = Path(__file__).parent / "standalone"
"""Folder of the stand-alone programs, no package: they import nothing of ours but each other and are copied as they
stand."""
FORMAT = "servobench-servo"
VERSION, VERSION_WITH_CONTACT = 1, 2
"""A rigid contact is what programs of version 1 compute; they refuse a file with another one."""
_OF_THE_BENCH = (Slot.ANGLE_OFFSET, Slot.INERTIA, Slot.GRAVITY_TORQUE)
_OF_THE_INTEGRATOR = (Slot.VELOCITY_AFTER, Slot.VELOCITY_LIMIT)
BRISTLE_NUMBERS = (Slot.BRISTLE_STIFFNESS, Slot.BRISTLE_DAMPING)
"""What an elastoplastic contact adds to `NUMBERS`."""
NUMBERS = tuple(slot for slot in Slot if slot not in (*_OF_THE_BENCH, *_OF_THE_INTEGRATOR, *BRISTLE_NUMBERS))
"""Slots of a kernel row that make a servo; in the file under their names in lower case."""
LAWS = {Law.VOLTAGE: "voltage", Law.COAST: "coast", Law.CURRENT: "current"}


def servo_numbers(model: ServoModel, settings: ServoSettings) -> dict[str, Any]:
    """Everything a stand-alone program needs to be this servo with these gains; plain data."""
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, model.dt)
    rigid = model.contact == "rigid"
    return {
        "format": FORMAT,
        "version": VERSION if rigid else VERSION_WITH_CONTACT,
        "title": printable(model.title),
        "law": LAWS[model.control.kernel_law],
        "supply_voltage": float(settings.supply_voltage),
        "written_kp": float(settings.kp),
        **{slot.name.lower(): float(row[slot]) for slot in NUMBERS},
        **({} if rigid else {"contact": model.contact}),
        **({} if rigid else {slot.name.lower(): float(row[slot]) for slot in BRISTLE_NUMBERS}),
    }


def servo_text(model: ServoModel, settings: ServoSettings) -> str:
    """Text of the file, numbers to the last bit; with `zero_offset`, the shaft's angle where the servo reads 0 [rad].

    Programs add `joint_zero` to goals: the joint's angle there, 0 on the example's pendulum, which is mounted so.
    """
    mounted = {**zero_number(model), "joint_zero": 0.0} if zero_number(model) else {}
    return json.dumps({**servo_numbers(model, settings), **mounted}, indent=1, allow_nan=False) + "\n"


def standalone_text(file: str) -> str:
    """Source of a stand-alone program, e.g. "servobench_mujoco.py"; raises ExportError when there is none."""
    path = STANDALONE / file
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ExportError(f"{path}: cannot read the program: {error}") from None
