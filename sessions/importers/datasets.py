"""LeRobot data sets (v2.1 and v3.0) as tables: a folder with `meta/info.json` and Parquet parts.

Values are degrees, or −100 … 100 of each motor's calibrated range (the gripper 0 … 100). Both count from its middle.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import resources
from core.base.errors import InputError
from core.base.guards import is_array, is_object
from core.servo.catalogue import load_servo
from sessions.errors import cause, shown
from sessions.importers.columns import Column
from sessions.importers.tables import ParquetTable
from sessions.strict_json import number, parse_json

INFO = Path("meta/info.json")
CALIBRATED = {
    "id": "id",
    "homing_offset": "homing_offset",
    "range_min": "min_position_limit",
    "range_max": "max_position_limit",
}
"""Entry of a motor in a calibration to the register of its servo."""


class Dataset(ParquetTable):
    """A data set as a table; the type of its robot states which servos a joint may have."""

    def __init__(self, parts: Sequence[Path], elements: Mapping[str, Sequence[str]], robot_type: str) -> None:
        """Open a data set.

        Args:
            parts: Its Parquet files.
            elements: Names of the elements of each feature.
            robot_type: Type of its robot as meta/info.json states it; "" if it does not.

        Raises:
            InputError: for other files, or if pyarrow is not installed.
        """
        super().__init__(parts, elements)
        self._robot, self._joints = robot_type, robots().get(robot_type, {})

    def joint_of(self, column: str) -> str:
        """Return the joint with known servos that a column is named after; empty if there is none."""
        return next((joint for joint in self._joints if _is_of(joint, column)), "")

    def servo_of(self, column: str, supply: float | None) -> str:
        """Return the servo of the joint that a column is named after.

        Args:
            column: Name of the column.
            supply: Supply of the arm [V]; None if it is not known.

        Raises:
            InputError: with the option to add, if the data set and the supply do not determine the servo.
        """
        joint = self.joint_of(column)
        if not joint:
            robot = f"robot_type {shown(self._robot[:40])}" if self._robot else "no robot_type"
            raise InputError(f"{shown(column)} has no known servo, meta/info.json states {robot}: add --servo")
        possible = [load_servo(name) for name in self._joints[joint]]
        fitting = [spec.name for spec in possible if supply is not None and spec.runs_on(supply)]
        if len(fitting) == 1:
            return fitting[0]
        servos = " or ".join(f"{s.name} ({s.supply_range[0]:g} to {s.supply_range[1]:g} V)" for s in possible)
        remedy = "add the arm's supply, --supply-voltage V" if supply is None else "check --supply-voltage"
        raise InputError(f"{joint} of {self._robot} has {servos}: {remedy}, or add --servo")


@cache
def robots() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the servos that each joint may have, by type of robot and name of the joint."""
    arms = tomllib.loads((files(resources) / "lerobot.toml").read_text("utf-8"))
    return {robot: arm["joints"] for arm in arms.values() for robot in arm["robot_types"]}


def _is_of(motor: str, column: str) -> bool:
    """Return True for a column that is named after a motor, as in "action.left_elbow_flex.pos"."""
    return re.search(rf"(?<![^\W_]){re.escape(motor)}(?![^\W_])", column) is not None


def open_dataset(folder: Path) -> Dataset:
    """Open a data set; elements of its features have the names that it gives, as in "action.elbow_flex.pos".

    Raises:
        InputError: if the folder holds no such data set.
    """
    info = parse_json((folder / INFO).read_bytes())
    features = info.get("features") if is_object(info) else None
    parts = sorted(folder.glob("data/*/*.parquet"))
    if not is_object(features) or not parts:
        raise InputError("not a LeRobot data set: meta/info.json names no features, or there is no data/*/*.parquet")
    names = {name: _names(feature) for name, feature in features.items()}
    return Dataset(parts, names, str(info.get("robot_type") or ""))


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
            raise InputError(f"it has no motor {shown(motor)}; there are {', '.join(map(shown, motors)) or 'none'}")
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
            if channel in found and _is_of(motor, found[channel].name):
                if found[channel].unit_text(""):
                    given = found[channel].unit_text(found[channel].unit)
                    raise InputError(
                        f"--calibration gives the unit of {shown(found[channel].name)}: leave out :{given} in --columns"
                    )
                found[channel] = replace(unit, name=found[channel].name)
    return found
