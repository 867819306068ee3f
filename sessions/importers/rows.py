"""Rows of a table that make a run: those of one servo or episode, complete and in order.

What is left out or mended is counted and said; a table that lacks more than that is refused with the cause.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.words import counted
from sessions.errors import shown
from sessions.importers.columns import GOAL_WORDS, TORQUE_WORDS, WORDS
from sessions.importers.tables import Table, plain

MOST_LOST = 0.2
"""Largest share of rows without a time or position: so many reads of a bus are lost and the motion is still known."""
APART = 0.2
"""Larger share of positions without a goal beside them: both are in rows of their own."""
IN_TURN = 0.9
"""Share of rows whose key is that of one round before: rows of several servos take turns."""
IN_BLOCKS = 0.1
"""Largest share of rows with another key than the row before, for rows in blocks."""
MOST_KEYS = 1000
GOAL = "goal"
"""Name of the command among the channels here, whatever its kind."""
HELD = {GOAL: "goal", "torque_enable": "switch of the torque", "command_time": "time of a goal"}
"""Channels that keep their value until the next one is given, in words."""
LONGEST_GAP, MOST_STEPS = 2.0, 20.0
"""A gap longer than both [s, median steps] is no pause: the clock was set, or the recording was interrupted."""
TURN, SMOOTH = 2.0 * math.pi, 98.0
"""A turn [rad]; percentile of the other steps that must be far smaller for a jump to be one of a turn."""
KEY_WORDS = frozenset(
    ("id", "dxl", "servo", "motor", "joint", "actuator", "axis", "device", "episode", "trial", "test", "name")
)
QUANTITIES = frozenset(word for _, words in WORDS for word in words.split()) - KEY_WORDS | GOAL_WORDS | TORQUE_WORDS
"""Words of columns that hold no keys."""


def groups(table: Table, count: int, where: Mapping[str, str], split_by: str) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Yield key and rows of each run; count: number of rows of the table.

    Raises:
        InputError: for a column that is not there, or if no row is left.
    """
    chosen = np.ones(count, bool)
    for name, value in where.items():
        texts = _keys(table, name, count)
        here = texts == plain(value)
        if not here.any():
            raise InputError(f"no row has {shown(name)} {shown(value)}; there are {_some(texts)}")
        chosen &= here
    texts = _keys(table, split_by, count) if split_by else np.full(count, "")
    for key in dict.fromkeys(texts[chosen].tolist()):
        yield key, np.flatnonzero(chosen & (texts == key))


def tidied(channels: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], NDArray[np.intp], list[str]]:
    """Return the channels of complete rows, the places of these rows, and a phrase on each change.

    Args:
        channels: Columns (n,) in SI units; NaN for a missing value.

    Raises:
        InputError: if too many rows have no time or position, or none has a goal.
    """
    count = len(channels["time"])
    repeated = np.ones(count, bool)
    for values in channels.values():
        repeated[1:] &= (values[1:] == values[:-1]) | ((values[1:] != values[1:]) & (values[:-1] != values[:-1]))
    repeated[:1] = False
    given = ~np.isnan(channels[GOAL])
    there = ~np.isnan(channels["time"]) & ~np.isnan(channels["position"])
    empty = np.isnan(channels["time"]) & np.isnan(channels["position"]) & ~given
    repeated &= ~empty
    lost = int(np.sum(~there & ~repeated & ~empty))
    apart = lost > 0 and np.sum(there & ~given) > APART * np.sum(there)
    if not apart and lost > MOST_LOST * count:
        raise InputError(f"{lost} of {count} rows have no time or no position, more than {MOST_LOST:.0%}")
    found = dict(channels)
    if apart and "command_time" not in found:
        found["command_time"] = np.where(given, found["time"], np.nan)
    started = np.ones(count, bool)
    for name in set(found) - {"time", "position"} if apart else HELD.keys() & found.keys():
        found[name] = _held(found[name])
        if name in HELD:
            started &= ~np.isnan(found[name])
            if np.isnan(found[name]).all():
                raise InputError(f"the column of {name} has no value")
    rows = np.flatnonzero(there & started & ~repeated)
    if len(rows) < 2:
        raise InputError(f"{counted(len(rows), 'row')} with a time, goal and position, at least 2 are needed")
    first = " and ".join(f"the first {words}" for name, words in HELD.items() if np.isnan(found.get(name, [])).any())
    notes = [
        counted(number, *what)
        for number, what in (
            (int(np.sum(repeated)), ("repeated row",)),
            (int(np.sum(empty)), ("empty row",)),
            (0 if apart else lost, ("row without a time or position", "rows without a time or position")),
            (int(np.sum(there & ~started)), (f"row before {first}", f"rows before {first}")),
        )
        if number
    ]
    notes = [f"{' and '.join(notes)} left out"] if notes else []
    unset = int(np.sum(~given[rows]))
    if apart:
        notes.append("goals and positions are in rows of their own, so each goal holds until the next")
    elif unset:
        notes.append(f"{counted(unset, 'row')} without a goal continued with the one before")
    return {name: values[rows] for name, values in found.items()}, rows, notes


def shifted(channels: Mapping[str, NDArray[Any]], rows: int) -> Mapping[str, NDArray[Any]]:
    """Return the channels with goals a number of rows later, or earlier if it is negative; NaN where one is unknown."""
    goal = channels[GOAL]
    if rows and abs(rows) >= len(goal) - 1:
        raise InputError(f"goals cannot be shifted by {rows} of {counted(len(goal), 'row')}")
    moved = np.full(len(goal), np.nan)
    moved[max(rows, 0) : len(goal) + min(rows, 0)] = goal[max(-rows, 0) : len(goal) - max(rows, 0)]
    return {**channels, GOAL: moved}


def unwrapped(channels: Mapping[str, NDArray[Any]], angle: bool) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Return the channels with angles that do not jump by a turn, and a phrase on each; angle: the goal is one.

    A goal may jump by nearly a turn on purpose; it is unwrapped only if the position then follows it more closely.
    """
    notes: list[str] = []
    goal, position = channels[GOAL], channels["position"]
    turns = _turns(position)
    if turns.any():
        notes.append(f"{counted(int(np.abs(turns).sum()), 'jump')} of one turn taken out of the position")
        position = position - TURN * turns.cumsum()
    if not angle:
        return {**channels, "position": position}, notes
    steps = _turns(goal)
    even = goal - TURN * steps.cumsum()
    if steps.any() and _apart(position, even) < _apart(position, goal):
        notes.append(f"{counted(int(np.abs(steps).sum()), 'jump')} of one turn taken out of the goal")
        goal = even
    if notes:  # only the goal shows which turn it is
        goal = goal - TURN * round(float(np.median(goal)) / TURN)
        position = position - TURN * round(float(np.median(position - goal)) / TURN)
    return {**channels, GOAL: goal, "position": position}, notes


def _turns(angle: NDArray[Any]) -> NDArray[Any]:
    """Return 1 or −1 where an angle jumps by a turn, else 0."""
    steps = np.diff(angle, prepend=angle[:1])
    turns = np.where(np.abs(np.abs(steps) - TURN) < TURN / 4.0, np.sign(steps), 0.0)
    # In a wrong unit many steps are as large.
    others = np.abs(steps[turns == 0.0])
    return turns if len(others) and np.percentile(others, SMOOTH) < TURN / 8.0 else np.zeros(len(angle))


def _apart(position: NDArray[Any], goal: NDArray[Any]) -> float:
    """Return the mean distance of position and goal, on the turn where they are nearest."""
    error = position - goal
    return float(np.mean(np.abs(error - TURN * round(float(np.median(error)) / TURN))))


def check_clock(time: NDArray[Any], rows: NDArray[np.intp], table: Table, used: Sequence[str], count: int) -> None:
    """Check that times increase without long gaps.

    Args:
        time: Times [s] (n,).
        rows: Places of these rows in the table.
        table: The table.
        used: Names of the columns that are channels.
        count: Number of rows of the table.

    Raises:
        InputError: naming the row, the cause and its remedy.
    """
    steps = np.diff(time)
    wrong = np.flatnonzero(steps <= 0.0)
    if len(wrong):
        row = int(wrong[0]) + 1
        where, before, now = table.place(int(rows[row])), time[row - 1], time[row]
        seen = f"{where}: time goes from {before:.6f} to {now:.6f} s after the first sample"
        if now == before:
            seen = f"{where}: this row has the same time as the row before, {now:.6f} s, and other values"
        if name := key_of(table, time, used, rows, count):
            raise InputError(f"{seen}: {_choice(name, table.texts(name)[rows])}")
        if now == before:
            raise InputError(f"{seen}: log a finer time, or delete one of the rows")
        if len(wrong) > max(2, len(time) // 20):
            raise InputError(f"{seen}: sort the rows by time")
        raise InputError(f"{seen}: the clock was set back there, so split the file before this row")
    gap = int(np.argmax(steps)) if len(steps) else 0
    if len(steps) and steps[gap] > max(LONGEST_GAP, MOST_STEPS * float(np.median(steps))):
        raise InputError(
            f"{table.place(int(rows[gap + 1]))}: {steps[gap]:.4g} s pass since the row before, where "
            f"{np.median(steps):.3g} s are usual: the clock was set, or the recording was interrupted; "
            "split the file before this row"
        )


def keys_of_servos(table: Table, used: Sequence[str], count: int) -> tuple[str, NDArray[np.str_], bool] | None:
    """Return name and texts of the column that holds each row's servo or episode, and if rows take turns; or None."""
    for name in dict.fromkeys(table.names):
        words = {word.lower() for word in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name)}
        if name in used or not words & KEY_WORDS or words & QUANTITIES:
            continue
        texts = _texts(table, name, count)
        values = [str(text) for text in dict.fromkeys(texts.tolist())]
        whole = all(value and not set(value) & set(".,") for value in values)
        if not whole or not 1 < len(values) <= min(MOST_KEYS, len(texts) // 2):
            continue
        changing = np.count_nonzero(texts[1:] != texts[:-1]) / len(texts)
        again = np.count_nonzero(texts[len(values) :] == texts[: -len(values)]) / len(texts)
        in_turn = bool(min(changing, again) > IN_TURN)
        if in_turn or changing <= IN_BLOCKS:
            return name, texts, in_turn
    return None


def guess_rows(table: Table, time: str, used: Sequence[str]) -> dict[str, str]:
    """Return the option that a table of several servos or episodes needs: `where` or `split_by`, or none."""
    with contextlib.suppress(InputError):
        stamps = table.columns([time])[time]
        if (found := keys_of_servos(table, used, len(stamps))) is not None:
            return {"where": f"{found[0]}={found[1][0]}"} if found[2] else {"split_by": found[0]}
        if np.any(stamps[1:] <= stamps[:-1]):
            name = key_of(table, stamps, used)
            return {"split_by": name} if name else {}
    return {}


def check_keys(table: Table, used: Sequence[str], count: int) -> None:
    """Check that the rows are of one servo or episode; raises InputError with the remedy."""
    if (found := keys_of_servos(table, used, count)) is not None:
        raise InputError(f"rows of several servos or episodes: {_choice(found[0], found[1])}")


def key_of(
    table: Table, time: NDArray[Any], used: Sequence[str], rows: NDArray[np.intp] | slice = slice(None), count: int = 0
) -> str:
    """Return the column among the rows of whose values times increase; empty if there is none."""
    for name in dict.fromkeys(table.names):
        if name in used or table.names.count(name) > 1 or not len(texts := _texts(table, name, count or len(time))):
            continue
        _, keys = np.unique(texts[rows], return_inverse=True)
        if 0 < keys.max() < min(MOST_KEYS, len(keys) // 2):
            order = np.argsort(keys, kind="stable")
            same = keys[order][1:] == keys[order][:-1]
            if np.all(time[order][1:][same] > time[order][:-1][same]):
                return name
    return ""


def _texts(table: Table, name: str, count: int) -> NDArray[np.str_]:
    """Return a column as text (count,); empty if the table has no keys, or fewer values."""
    with contextlib.suppress(InputError):
        return _keys(table, name, count)
    return np.array([], str)


def _keys(table: Table, name: str, count: int) -> NDArray[np.str_]:
    """Return a column to choose rows by; raises InputError for another length."""
    if table.names.count(name) > 1:
        raise InputError(f"{table.names.count(name)} columns have the name {shown(name)}; rename all but one")
    texts = table.texts(name)
    texts = texts[:count] if table.note else texts  # half a last line may be whole in this column
    if len(texts) != count:
        raise InputError(f"column {shown(name)} has {counted(len(texts), 'value')}, the others have {count}")
    return texts


def _choice(name: str, texts: NDArray[np.str_]) -> str:
    return (
        f"column {shown(name)} has the values {_some(texts)}; take one with --where '{shown(name)}={texts[0]}', "
        f"or make a run of each with --split-by '{shown(name)}'"
    )


def _some(texts: NDArray[np.str_]) -> str:
    keys = [shown(key[:20]) for key in dict.fromkeys(texts.tolist())]
    return ", ".join(keys[:5]) + (" …" if len(keys) > 5 else "")


def _held(values: NDArray[Any]) -> NDArray[Any]:
    """Return values with each missing one replaced by the one before."""
    places = np.maximum.accumulate(np.where(np.isnan(values), 0, np.arange(len(values))))
    return values[places]
