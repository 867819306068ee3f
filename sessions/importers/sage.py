"""Motions of a robot in the layout of NVIDIA's SAGE as tables: a folder with goals, positions and names of the joints.

`control.csv` and `state_motor.csv` have a row for each time, whose `positions` are a list of one angle [rad] a joint.
Times are µs for a real robot and s for a simulated one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.base.guards import is_array
from core.base.words import counted
from sessions.errors import cause
from sessions.importers.tables import ArrayTable, TextTable
from sessions.strict_json import number, parse_json

STATES, GOALS, JOINTS = Path("state_motor.csv"), Path("control.csv"), Path("joint_list.txt")
"""Positions, goals, and the joints in their order, one a line."""


def open_sage(folder: Path) -> ArrayTable:
    """Open a motion; its columns are `timestamp`, `goal.JOINT` and `position.JOINT`, NaN where a time has none.

    Raises:
        InputError: if a file is missing or damaged.
    """
    try:
        joints = (folder / JOINTS).read_text("utf-8").split()
        parts = {name: _angles(folder / file, joints) for name, file in (("goal", GOALS), ("position", STATES))}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"not a motion of SAGE ({cause(error)})") from None
    times = np.unique(np.concatenate([time for time, _ in parts.values()]))
    columns = {"timestamp": times}
    for name, (time, angles) in parts.items():
        there = np.searchsorted(times, time)
        for joint, values in zip(joints, angles.T, strict=True):
            columns[f"{name}.{joint}"] = np.full(len(times), np.nan)
            columns[f"{name}.{joint}"][there] = values
    return ArrayTable(columns)


def _angles(file: Path, joints: Sequence[str]) -> tuple[Array, Array]:
    """Return times (n,) and angles (n, joints) of a file."""
    table = TextTable(file.read_bytes())
    if missing := {"timestamp", "positions"} - {*table.names}:
        raise InputError(f"{file.name} has no column {min(missing)}")
    rows = [parse_json(text.encode()) for text in table.texts("positions")]
    for place, row in enumerate(rows):
        if not is_array(row) or len(row) != len(joints):
            raise InputError(
                f"{file.name}, {table.place(place)}: positions are no list of {counted(len(joints), 'angle')}"
            )
    angles = np.array([[number(angle, "an angle") for angle in row] for row in rows])
    time = table.columns(["timestamp"])["timestamp"].astype(np.float64)
    return time[: len(angles)], angles.reshape(len(rows), len(joints))[: len(time)]
