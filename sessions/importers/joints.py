"""Tables of a whole robot: columns of each joint, such as `goal=goal.{joint},position=position.{joint}:deg`.

`{joint}` stands for what differs between the names of the joints' columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.base.errors import InputError
from core.base.words import counted
from sessions.errors import shown
from sessions.importers.columns import UNITS, Column, goal_of, guess_columns, likely_unit
from sessions.importers.rows import QUANTITIES
from sessions.importers.tables import Table

PLACE = "{joint}"
ALL = "all"
"""Text for all joints of a table, under their own names."""


def parse_joints(text: str) -> dict[str, str]:
    """Parse joints, name in the table to name in the robot, as in `Rotation=shoulder_pan,gripper`; none for ALL.

    Raises:
        InputError: for an empty or repeated name.
    """
    entries = [] if text.strip() == ALL else text.split(",")
    pairs = [[name.strip() for name in entry.partition("=")] for entry in entries]
    joints = {old: new if equals else old for old, equals, new in pairs}
    if len(joints) < len(pairs) or len({*joints.values()}) < len(pairs) or not all(map(all, joints.items())):
        raise InputError(f"--joints {shown(text)}: expected different names NAME,NAME,… or OLD=NEW,…, or {ALL}")
    return joints


def joints_text(joints: Mapping[str, str]) -> str:
    """Return the text that `parse_joints` parses."""
    return ",".join(old if old == new else f"{old}={new}" for old, new in joints.items()) or ALL


def joint_columns(
    table: Table, columns: Mapping[str, Column], joints: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Column]]]:
    """Yield name in the robot and columns of each joint, in the order of the table.

    Args:
        table: The table.
        columns: Columns by channel, PLACE in the names of those that every joint has.
        joints: See `parse_joints`. If the table only numbers its joints, names in its order; if the columns are of one
            joint, its name.

    Raises:
        InputError: for joints that the table lacks.
    """
    there = _joints(table.names, [column.name for column in columns.values()])
    if not there and len(joints) == 1:
        yield next(iter(joints.values())), dict(columns)
        return
    if not there:
        raise InputError(
            f"--joints needs {PLACE} in the names of the joints' columns, as in position=position.{PLACE}; "
            "if the columns are of one joint, name it: --joints NAME"
        )
    if not joints.keys() & there.keys() and all(name.isdigit() for name in there):
        if len(joints) != len(there):
            given = f" ({counted(len(joints), 'name')} given)" if joints else ""
            raise InputError(
                f"the table numbers its joints, {len(there)} of them: name all in this order, --joints NAME,…{given}"
            )
        joints = dict(zip(there, joints.values(), strict=True))
    wanted = joints or {name: name for name in there}
    for name in wanted:
        if name not in there:
            raise InputError(f"there is no joint {shown(name)}; there are {', '.join(map(shown, there))}")
    for name, new in wanted.items():
        yield new, {key: replace(each, name=each.name.replace(PLACE, name)) for key, each in columns.items()}


def _joints(names: Sequence[str], columns: Sequence[str]) -> dict[str, None]:
    """Return what PLACE stands for in all these columns at once, in the order of the names."""
    found: dict[str, None] | None = None
    for column in columns:
        if PLACE in column:
            before, _, after = column.partition(PLACE)
            pattern = re.compile(f"{re.escape(before)}(.+){re.escape(after)}")
            here = [match[1] for name in names if (match := pattern.fullmatch(name))]
            found = dict.fromkeys(here if found is None else [name for name in found if name in here])
    return found or {}


def guess_joint_columns(table: Table, fewest: int = 2) -> dict[str, Column]:
    """Guess time, goal and position of all joints, with PLACE in their names; empty if there are fewer joints."""
    columns = guess_columns(table)
    goal = goal_of(columns)
    if not {"time", goal, "position"} <= columns.keys():
        return {}
    name = columns["position"].name
    edges = [place for place in range(len(name) + 1) if not name[max(place - 1, 0) : place + 1].isalnum()]
    edges = [0, *edges, *(place + 1 for place in edges), len(name)]
    texts = {name[a:b] for a in edges for b in edges if name[a:b].strip("_.[]/ ") == name[a:b] != ""}
    if fewest == 1:  # no other joint shows where a name ends
        texts = {text for text in texts if re.search(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])", name)}
    best, most = "", fewest - 1
    for text in sorted(texts, key=len, reverse=fewest == 1):
        pair = [columns[channel].name.replace(text, PLACE, 1) for channel in (goal, "position")]
        words = {*re.split(r"[\W_]+", text.lower())}
        count = len(_joints(table.names, pair)) if PLACE in pair[0] and not words & (QUANTITIES | UNITS.keys()) else 0
        if count > most:
            best, most = text, count
    if not best:
        return {}
    named = {key: replace(columns[key], name=columns[key].name.replace(best, PLACE, 1)) for key in (goal, "position")}
    return {"time": columns["time"], **_with_common_unit(table, named)}


def guess_one_joint(table: Table) -> dict[str, Column]:
    """Guess time, goal and position of a table of one joint, with PLACE if they name it; empty without them."""
    columns = guess_columns(table)
    wanted = ("time", goal_of(columns), "position")
    plain = {channel: columns[channel] for channel in wanted} if columns.keys() >= {*wanted} else {}
    return guess_joint_columns(table, 1) or plain


def _with_common_unit(table: Table, columns: dict[str, Column]) -> dict[str, Column]:
    """Return the columns in the unit that the angles of all joints suggest, unless they have one."""
    if any(column.unit for column in columns.values()) or "goal_position" not in columns:
        return columns
    joints = _joints(table.names, [column.name for column in columns.values()])
    names = [column.name.replace(PLACE, joint) for column in columns.values() for joint in joints]
    values = np.concatenate([*table.columns(names).values()])
    unit = likely_unit("position", values[np.isfinite(values)], ())
    return {channel: replace(column, unit=unit) for channel, column in columns.items()}
