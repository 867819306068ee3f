"""LeRobot data sets (v2.1 and v3.0) as tables: a folder with `meta/info.json` and Parquet parts.

Values are degrees, or −100 … 100 of each motor's calibrated range (the gripper 0 … 100). Both count from its middle.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.guards import is_array, is_object
from sessions.errors import cause, shown
from sessions.importers.columns import Column
from sessions.importers.tables import ParquetTable
from sessions.strict_json import number, parse_json

INFO = Path("meta/info.json")
CALIBRATED = {"homing_offset": "homing_offset", "range_min": "min_position_limit", "range_max": "max_position_limit"}
"""Entry of a motor in a calibration to the register of its servo."""


def open_dataset(folder: Path) -> ParquetTable:
    """Open a data set; elements of its features have the names that it gives, as in "action.elbow_flex.pos".

    Raises:
        InputError: if the folder holds no such data set.
    """
    info = parse_json((folder / INFO).read_bytes())
    features = info.get("features") if is_object(info) else None
    parts = sorted(folder.glob("data/*/*.parquet"))
    if not is_object(features) or not parts:
        raise InputError("not a LeRobot data set: meta/info.json names no features, or there is no data/*/*.parquet")
    return ParquetTable(parts, {name: _names(feature) for name, feature in features.items()})


def _names(feature: Any) -> list[str]:
    """Return the names of a feature's elements; some data sets group them, as in {"motors": [...]}."""
    names = feature.get("names") if is_object(feature) else None
    groups = names if is_object(names) else {"": names}
    return [
        f"{group}.{name}" if len(groups) > 1 else str(name)
        for group, members in groups.items()
        for name in (members if is_array(members) else ())
    ]


def read_calibration(path: Path) -> dict[str, Column]:
    """Return unit, factor and offset of each motor's values, from the calibration file that LeRobot keeps of a robot.

    Raises:
        InputError: for any other file.
    """
    found: dict[str, Column] = {}
    with _calibration(path) as motors:
        for motor, facts in motors.items():
            low, high = (number(facts.get(end), f"{end} of {shown(motor)}") for end in ("range_min", "range_max"))
            grips = "gripper" in motor
            scale = (high - low) / (100.0 if grips else 200.0) * (-1.0 if facts.get("drive_mode") else 1.0)
            found[motor] = Column(motor, "counts", scale, -50.0 * scale if grips else 0.0)
    return found


def calibrated_registers(path: Path, motor: str) -> dict[str, int]:
    """Return the registers of a motor that LeRobot sets by its calibration, and their contents.

    Raises:
        InputError: for a file without this motor.
    """
    with _calibration(path) as motors:
        if motor not in motors:
            raise InputError(f"it has no motor {shown(motor)}; there are {', '.join(map(shown, motors))}")
        return {
            name: round(number(motors[motor].get(entry), f"{entry} of {shown(motor)}"))
            for entry, name in CALIBRATED.items()
        }


@contextmanager
def _calibration(path: Path) -> Generator[Mapping[str, Any]]:
    """Yield the motors of a calibration; errors within are errors of the file."""
    try:
        motors = parse_json(path.read_bytes())
        if not is_object(motors) or not all(map(is_object, motors.values())):
            raise InputError("it lists no motors")
        yield motors
    except (InputError, OSError) as error:
        raise InputError(f"{shown(path)}: not a calibration of LeRobot ({cause(error)})") from None


def calibrated(columns: Mapping[str, Column], calibration: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns, those named after a calibrated motor in its unit.

    Raises:
        InputError: for such a column with a factor or an offset, as it is not clear of which numbers.
    """
    found = dict(columns)
    for channel in ("goal_position", "position"):
        for motor, unit in calibration.items():
            if channel in found and re.search(rf"(?<![^\W_]){re.escape(motor)}(?![^\W_])", found[channel].name):
                if found[channel].unit_text(""):
                    given = found[channel].unit_text(found[channel].unit)
                    raise InputError(
                        f"--calibration gives the unit of {shown(found[channel].name)}: leave out :{given} in --columns"
                    )
                found[channel] = replace(unit, name=found[channel].name)
    return found
