"""The servo as a flat JSON file of numbers, which every stand-alone program written with an export reads.

One JSON object: `format`, `version`, `title`, `law` ("voltage", "coast" or "current"), `supply_voltage` [V], the gain
as written into the servo (`written_kp`), and the numbers of `NUMBERS`, with names and units as in
`core.kernel.layout.Slot`. Gains are per rad of position error, in duty cycle (voltage laws) or A (current law), as the
firmware scales the written ones. A goal velocity limit of 1e9 rad/s never acts. A file with an elastoplastic contact
has version 2, `contact` ("elastoplastic" or "elastoplastic_rational") and the numbers of `BRISTLE_NUMBERS`. A file
whose law acts once a period (`control_period` above 0) has version 3, with or without such a contact. A servo that is
not commanded by an angle has version 4: `command` (one of `core.servo.actuator.COMMANDS`), `command_unit`, and the
numbers of `COMMAND_NUMBERS`. Its gains are per unit of the command. If a number of `LATER_NUMBERS` has an effect, the
file has its version, with the numbers of `COMMAND_NUMBERS` and all of `LATER_NUMBERS`. `backlash` [rad], of version 7,
and `load_memory` [s], of version 8, are in a file only if they are above 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.base.errors import ExportError
from core.export.files import printable
from core.export.notes import zero_number
from core.kernel.layout import NO_CURRENT_LIMIT, Law, Slot
from core.servo.actuator import COMMANDS
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

STANDALONE = Path(__file__).parent / "standalone"
"""Folder of the stand-alone programs. It is not a package: they import only each other and are copied unchanged."""
FORMAT = "servobench-servo"
VERSION, VERSION_WITH_CONTACT, VERSION_WITH_PERIOD, VERSION_WITH_COMMAND = 1, 2, 3, 4
"""Programs of version 1 compute only a rigid contact and a law that acts in every step; they refuse the others."""
_OF_THE_BENCH = (Slot.ANGLE_OFFSET, Slot.INERTIA, Slot.GRAVITY_TORQUE)
_OF_THE_INTEGRATOR = (Slot.VELOCITY_AFTER, Slot.VELOCITY_LIMIT)
BRISTLE_NUMBERS = (Slot.BRISTLE_STIFFNESS, Slot.BRISTLE_DAMPING)
"""Numbers that an elastoplastic contact adds to `NUMBERS`."""
COMMAND_NUMBERS = (Slot.ANGLE_IGNORED, Slot.SPEED_FEEDBACK)
"""Numbers that another command than an angle adds to `NUMBERS`; both are 0 for an angle."""
LATER_NUMBERS = {Slot.CURRENT_LIMIT: NO_CURRENT_LIMIT, Slot.OUTPUT_OFFSET: 0.0, Slot.PULSE_SAG: 0.0}
"""Numbers that were added after `COMMAND_NUMBERS`, and the value at which each has no effect."""
_VERSION_WITH = {Slot.CURRENT_LIMIT: 5, Slot.OUTPUT_OFFSET: 5, Slot.PULSE_SAG: 6}
"""Version of a file in which each of them has an effect."""
OPTIONAL_NUMBERS = {Slot.BACKLASH: 7, Slot.LOAD_MEMORY: 8}
"""Numbers that a file has only if they are above 0, and its version then."""
NO_EFFECT = {slot.name.lower(): none for slot, none in LATER_NUMBERS.items()} | {
    slot.name.lower(): 0.0 for slot in (*COMMAND_NUMBERS, *OPTIONAL_NUMBERS)
}
"""Numbers that a file may leave out, by key, and their values then."""
_ADDED = (*BRISTLE_NUMBERS, *COMMAND_NUMBERS, *LATER_NUMBERS, *OPTIONAL_NUMBERS)
NUMBERS = tuple(slot for slot in Slot if slot not in (*_OF_THE_BENCH, *_OF_THE_INTEGRATOR, *_ADDED))
"""Slots of a kernel row that describe the servo; their names in lower case are the keys of the file."""
LAWS = {Law.VOLTAGE: "voltage", Law.LIMITED: "voltage", Law.COAST: "coast", Law.CURRENT: "current"}


def servo_numbers(model: ServoModel, settings: ServoSettings, *, backlash: bool = False) -> dict[str, Any]:
    """Return all that a stand-alone program needs to simulate this servo with these gains, as plain data.

    Backlash is left out for a program that cannot hold it (`backlash` False).
    """
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, model.dt)
    rigid = model.contact == "rigid"
    version = VERSION if rigid else VERSION_WITH_CONTACT
    version = VERSION_WITH_PERIOD if row[Slot.CONTROL_PERIOD] else version
    command, commanded = COMMANDS[model.control.command], {}
    if command.kind != "position":
        version = VERSION_WITH_COMMAND
        commanded = {"command": command.kind, "command_unit": command.unit}
    later = [_VERSION_WITH[slot] for slot, none in LATER_NUMBERS.items() if row[slot] != none]
    held = [slot for slot in OPTIONAL_NUMBERS if row[slot] > 0.0 and (backlash or slot != Slot.BACKLASH)]
    version = max([version, *later, *(OPTIONAL_NUMBERS[slot] for slot in held)])
    added = (*COMMAND_NUMBERS, *LATER_NUMBERS, *held) if later or held else COMMAND_NUMBERS if commanded else ()
    return {
        "format": FORMAT,
        "version": version,
        "title": printable(model.title),
        "law": LAWS[model.control.kernel_law],
        "supply_voltage": float(settings.supply_voltage),
        "written_kp": float(settings.kp),
        **{slot.name.lower(): float(row[slot]) for slot in NUMBERS},
        **({} if version == VERSION else {"contact": model.contact}),
        **({} if version == VERSION else {slot.name.lower(): float(row[slot]) for slot in BRISTLE_NUMBERS}),
        **commanded,
        **{slot.name.lower(): float(row[slot]) for slot in added},
    }


def servo_text(model: ServoModel, settings: ServoSettings, *, backlash: bool = False) -> str:
    """Return the text of the servo file, with numbers that read back bit for bit; `backlash` as in `servo_numbers`.

    `zero_offset` is the shaft angle at which the servo reads 0 [rad]. Programs add `joint_zero`, the joint's angle
    there, to goals. It is 0 for the example's pendulum, which is mounted at that offset.
    """
    mounted = {**zero_number(model), "joint_zero": 0.0} if zero_number(model) else {}
    return (
        json.dumps({**servo_numbers(model, settings, backlash=backlash), **mounted}, indent=1, allow_nan=False) + "\n"
    )


def standalone_text(file: str) -> str:
    """Return the source of a stand-alone program, e.g. "servobench_mujoco.py"; raise ExportError if missing."""
    path = STANDALONE / file
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ExportError(f"{path}: cannot read the program: {error}") from None
