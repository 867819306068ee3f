"""Meaning of a table's columns, `time=t_ms:ms,goal=goal:deg,position=pos:deg`: given by the user, or guessed.

To the left of `=` is a channel of `core.motion.recording`, by its name or a synonym (WORDS). To the right is the
column's name, followed by a colon and its unit (UNITS) unless that is the SI unit. A goal may have the unit of another
command than an angle: `goal=torque:Nm` is `goal_torque=torque`. An entry whose column name contains a comma is put in
double quotes.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.motion.recording import CHANNELS
from core.servo.actuator import COMMANDS
from core.servo.catalogue import ServoSpec
from sessions.errors import cause, shown
from sessions.importers.tables import FLAGS, Table

SI_UNITS = {channel.name: channel.unit for channel in CHANNELS}
GOALS = {command.unit: command.channel for command in COMMANDS.values()}
"""Channel of the goal by the SI unit of the command."""

_SPELLINGS = (
    ("s", 1.0, "s sec second seconds"),
    ("s", 1e-3, "ms msec millis"),
    ("s", 1e-6, "us µs usec micros"),
    ("s", 1e-9, "ns nsec nanos"),
    ("rad", 1.0, "rad radian radians"),
    ("rad", 1e-3, "mrad"),
    ("rad", math.pi / 180.0, "deg ° degree degrees"),
    ("rad", 2.0 * math.pi, "rev turn turns rot rotations"),
    ("rad", math.nan, "counts count ticks tick"),
    ("rad/s", 1.0, "rad/s"),
    ("rad/s", math.pi / 180.0, "deg/s °/s dps"),
    ("rad/s", 2.0 * math.pi, "rev/s turn/s turns/s rot/s"),
    ("rad/s", 2.0 * math.pi / 60.0, "rpm"),
    ("A", 1.0, "A amp amps"),
    ("A", 1e-3, "mA"),
    ("V", 1.0, "V volt volts"),
    ("V", 1e-3, "mV"),
    ("N·m", 1.0, "Nm N·m"),
    ("N·m", 1e-3, "mNm mN·m"),
    ("N·m", 0.0980665, "kgcm kg·cm"),
    ("1", 1.0, "1"),
    ("1", 0.01, "% percent"),
    ("degC", 1.0, "degC °C C celsius"),
)
"""SI unit, factor and spellings of each unit. The factor of counts is that of the encoder."""
UNITS = {unit.lower(): (si, factor) for si, factor, units in _SPELLINGS for unit in units.split()}
"""Unit in lower case to its SI unit (its dimension) and its factor."""

WORDS = (
    ("velocity", "velocity vel speed omega dq"),
    ("current", "iq"),
    ("voltage", "vq"),
    ("duty_cycle", "duty pwm"),
    ("supply_voltage", "voltage supply vin vbat volt volts"),
    ("temperature", "temperature temp"),
    ("torque_enable", "enable enabled en"),
    ("position", "position pos angle theta q encoder"),
    ("time", "time t timestamp stamp elapsed clock date datetime"),
    ("current", "current i amps"),
    ("position", "measured actual state"),
    ("torque_enable", "torque motor on driven"),
)
"""Words that name a channel, the most specific first."""
MEASURED_WORDS = frozenset(("measured", "meas", "present", "actual", "state", "feedback"))
"""Words that name a position only where no other word names a quantity."""
OTHER_WORDS = frozenset(("power", "force", "acceleration", "accel", "acc", "error", "energy"))
"""Words of quantities that no channel holds."""
TORQUE_WORDS = frozenset(("torque", "tor", "tau", "effort", "load"))
"""Words of quantities that are no measured channel, and as goals those of a torque."""
ENABLE_WORDS = frozenset(("enable", "enabled", "en"))
"""Words of a switch, also beside a torque."""
GOAL_WORDS = frozenset(
    ("goal", "target", "setpoint", "reference", "ref", "command", "commanded", "cmd", "desired", "des", "action")
)
"""Words that turn a position into the goal, and a time into that of the command."""

INPUT = "input"
"""Word that makes a goal of an angle, speed or torque only: an input voltage or current is that of the supply."""
IN_TURNS = frozenset(("pos_estimate", "vel_estimate", "input_pos", "input_vel", "pos_setpoint", "vel_setpoint"))
"""Names of ODrive, which counts turns."""

_NUMBER = r"\d*\.?\d+(?:[eE][-+]?\d+)?"
_ENTRY = re.compile(
    r"(?P<column>.+?)(?::(?P<unit>[^:*+-]*?)(?::(?P<counts>\d{1,9}))?"
    rf"(?:\*(?P<scale>-?{_NUMBER}))?(?P<shift>[-+]{_NUMBER})?)?",
    re.DOTALL,
)
PREVIEWED = 200
"""Rows from which units are guessed."""


@dataclass(frozen=True)
class Column:
    """A column of a table and the unit of its numbers."""

    name: str
    unit: str = ""
    """One of UNITS; counts may have their number per turn appended, as ":4096". Empty for the channel's own unit."""
    scale: float = 1.0
    """Factor of the numbers, −1 to turn the sign."""
    shift: float = 0.0
    """Added after the factor, in the unit."""

    def in_si(self, values: NDArray[Any], channel: str, servo: ServoSpec) -> NDArray[Any]:
        """Return numbers of this column in SI units."""
        return (values * self.scale + self.shift) * self.factor(channel, servo)

    def entry(self, channel: str, other_unit: str = "") -> str:
        """Return this column as an entry of `--columns`, in another unit if one is given."""
        unit = self.unit_text(other_unit or self.unit or (SI_UNITS[channel] if ":" in self.name else ""))
        return f"{channel.removesuffix('_position')}={self.name}{':' if unit else ''}{unit}"

    def unit_text(self, unit: str) -> str:
        """Return a unit followed by factor and offset, as in deg*-1+90."""
        scale = f"*{self.scale:.12g}" if self.scale != 1.0 else ""
        return f"{unit}{scale}{f'{self.shift:+.12g}' if self.shift else ''}"

    def factor(self, channel: str, servo: ServoSpec) -> float:
        """Return the factor of the unit to SI units.

        Raises:
            InputError: for a unit of another dimension.
        """
        unit, _, counts = self.unit.lower().partition(":")
        si, factor = UNITS[unit] if unit else (SI_UNITS[channel], 1.0)
        if si != SI_UNITS[channel]:
            raise InputError(f"{channel} cannot be in {self.unit}; its units are {', '.join(units_of(channel))}")
        if math.isnan(factor):
            return 2.0 * math.pi / (int(counts) if counts else servo.encoder_counts_per_turn)
        return factor


# The columns as text


def parse_columns(text: str) -> dict[str, Column]:
    """Parse columns by channel, as in `time=t,goal=goal_deg:deg`.

    Raises:
        InputError: for an unknown channel or unit, or a malformed entry.
    """
    found: dict[str, Column] = {}
    try:
        entries = next(csv.reader([re.sub(r"[\r\n\0]", " ", text)], skipinitialspace=True), list[str]())
    except csv.Error as error:
        raise InputError(f"--columns: {cause(error)}") from None
    for entry in entries:
        word, equals, right = entry.strip().partition("=")
        if not equals or not right.strip():
            raise InputError(f"--columns: {shown(entry)!r} is not CHANNEL=COLUMN[:UNIT], e.g. position=pos:deg")
        channel = channel_named(word.strip())
        column = parse_column(right.strip(), channel)
        channel = goal_channel(channel, column.unit)
        if channel in found:
            raise InputError(f"--columns: {channel} is given twice")
        found[channel] = column
    return found


def goal_channel(channel: str, unit: str) -> str:
    """Return the channel of a goal in this unit, which may be another than the angle's; other channels as they are."""
    si = UNITS[unit.lower().partition(":")[0]][0] if unit else SI_UNITS[channel]
    return GOALS.get(si, channel) if channel == "goal_position" else channel


def goal_of(channels: Mapping[str, Any]) -> str:
    """Return the channel that is the goal; "goal_position" if there is none."""
    return next((channel for channel in GOALS.values() if channel in channels), "goal_position")


def columns_text(columns: Mapping[str, Column]) -> str:
    """Return the text for columns; the inverse of `parse_columns`."""
    entries = [column.entry(channel) for channel, column in columns.items()]
    return ",".join('"{}"'.format(e.replace('"', '""')) if "," in e or '"' in e else e for e in entries)


def is_unit_of(unit: str, channel: str) -> bool:
    """Return True for a unit that a channel can be in."""
    return UNITS.get(unit.lower(), ("", 0.0))[0] == SI_UNITS[channel]


def units_of(channel: str) -> list[str]:
    """Return the units that a channel can be in, the SI unit first."""
    return [spellings.split()[0] for si, _, spellings in _SPELLINGS if si == SI_UNITS[channel]]


def channel_named(text: str) -> str:
    """Return the channel of a name or synonym.

    Raises:
        InputError: for an unknown one.
    """
    channel = text if text in SI_UNITS else channel_of(text)
    if channel is None:
        raise InputError(f"--columns: there is no channel {shown(text)!r}; there are {', '.join(SI_UNITS)}")
    return channel


def parse_column(text: str, channel: str) -> Column:
    """Parse a column with its unit, as in goal_deg:deg*-1+90.

    Raises:
        InputError: for an unknown unit.
    """
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise InputError(f"--columns: {shown(text)!r} is not COLUMN[:UNIT]")
    unit, counts = match["unit"], match["counts"]
    if unit is None:
        return Column(text)
    scale, shift = float(match["scale"] or 1.0), float(match["shift"] or 0.0)
    known = UNITS.get(unit.lower() or SI_UNITS[channel].lower()) if unit or match["scale"] or match["shift"] else None
    if known is None or (counts is not None and not (math.isnan(known[1]) and int(counts))):
        goals = GOALS.values() if channel == "goal_position" else [channel]
        units = [each for goal in goals for each in units_of(goal)]
        raise InputError(
            f"--columns: {shown(text)!r} ends in an unknown unit; write {shown(text)}:{SI_UNITS[channel]} if the colon "
            f"is part of the name; units of {channel} are {', '.join(units)}"
        )
    return Column(match["column"], unit if counts is None else f"{unit}:{counts}", scale, shift)


# Guessing


def guess_columns(table: Table) -> dict[str, Column]:
    """Guess the columns from their names, and their units from their names or the size of their numbers."""
    rows = [row for row in table.head(PREVIEWED) if len(row) == len(table.names)]
    cells = {name: [row[place] for row in rows] for place, name in enumerate(table.names)}
    found: dict[str, Column] = {}
    for column in sorted(table.names, key=lambda name: (name not in SI_UNITS, len(name))):
        channel, unit = _meaning(column)
        if channel is None or channel in found or table.names.count(column) > 1:
            continue
        if channel != "torque_enable" or _is_switch(column, cells[column]):
            found[channel] = Column(column, unit)
    stated = dict(zip(table.names, table.units, strict=False))
    for channel, column in found.items():
        unit = stated.get(column.name, "")
        if not column.unit and is_unit_of(unit, channel):
            found[channel] = Column(column.name, unit)
    duty = _words_of(found["duty_cycle"].name) if "duty_cycle" in found else MEASURED_WORDS
    if not duty & MEASURED_WORDS and not {*GOALS.values()} & found.keys():
        found["goal_duty_cycle"] = found.pop("duty_cycle")
    values = {channel: _numbers(cells[column.name]) for channel, column in found.items()}
    for channel in {*GOALS.values()} & found.keys():
        if len(set(values[channel])) < 2:  # not yet, perhaps
            values[channel] = _all_numbers(table, found[channel].name)
    angles = [values[channel] for channel in ("goal_position", "position") if channel in values]
    for channel, column in found.items():
        if not column.unit:
            known = "turn/s" if channel.endswith("velocity") else "turn"
            turns = re.split(r"[./]", column.name)[-1] in IN_TURNS
            found[channel] = Column(column.name, known if turns else likely_unit(channel, values[channel], angles))
    # A drive that logs the goals of all its loops is commanded by the outermost one that changes.
    goals = sorted((c for c in GOALS.values() if c in found), key=lambda goal: len(set(values[goal])) < 2)
    return {channel: found[channel] for channel in SI_UNITS if channel in found and channel not in goals[1:]}


def _meaning(column: str) -> tuple[str | None, str]:
    """Return channel and unit that a column's name suggests; None and "" if it suggests none."""
    parts = [part for part in re.split(r"[^\w%°µ]+|_", column) if part]
    if is_unit_of(last := re.split(r"[./]", column)[-1], "time"):
        return "time", last
    for count in (2, 1):
        unit = "/".join(parts[-count:])
        rest = channel_of("_".join(parts[:-count]))
        if len(parts) > count and rest is not None and unit.lower() in UNITS:
            # A letter or digit at the end of a goal's name is rarely another command's unit.
            rest = goal_channel(rest, unit) if len(unit) > 1 or unit == "%" else rest
            if is_unit_of(unit, rest):
                return rest, unit
    return channel_of(column), ""


def _is_switch(column: str, cells: Sequence[str]) -> bool:
    """Return True if a column holds on and off; one named after the torque must be on once, or it may be a torque."""
    states = set(_numbers(cells))
    sure = _words_of(column) & ENABLE_WORDS
    return len(states) > 0 and states <= {0.0, 1.0} and (bool(sure) or 1.0 in states)


def _words_of(text: str) -> set[str]:
    return {word.lower() for word in re.split(r"[^\w]+|_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text))}


def channel_of(text: str) -> str | None:
    """Return the channel that a name suggests, None if it suggests none."""
    if text in SI_UNITS:
        return text
    said = _words_of(text)
    if said & (TORQUE_WORDS | OTHER_WORDS):
        said -= MEASURED_WORDS
    base = next((channel for channel, known in WORDS if said & set(known.split())), None)
    if INPUT in said and (base in ("position", "velocity") or said & TORQUE_WORDS):
        said.add("goal")
    if not said & GOAL_WORDS:
        return base if base in SI_UNITS else None
    if base in (None, "torque_enable") and said & TORQUE_WORDS and not said & ENABLE_WORDS:
        return "goal_torque"
    named = {None: "position", "supply_voltage": "voltage"}.get(base, base)
    return "command_time" if base == "time" else f"goal_{named}" if named in COMMANDS else None


def _numbers(cells: Sequence[str]) -> NDArray[np.float64]:
    found: list[float] = []
    for cell in cells:
        try:
            found.append(FLAGS[cell.lower()] if cell.lower() in FLAGS else float(cell.replace(",", ".")))
        except ValueError:
            continue
    return np.array([value for value in found if math.isfinite(value)])


def _all_numbers(table: Table, column: str) -> NDArray[np.float64]:
    """Return the finite numbers of a whole column, none if it holds others."""
    try:
        values = table.columns([column])[column]
    except InputError:
        return np.array([])
    return values[np.isfinite(values)] if values.dtype.kind != "M" else np.array([])


def likely_unit(channel: str, values: NDArray[np.float64], angles: Sequence[NDArray[np.float64]]) -> str:
    """Return a unit that fits these numbers; empty for the SI unit."""
    largest = float(np.abs(values).max(initial=0.0))
    match SI_UNITS[channel]:
        case "s":
            steps = np.abs(np.diff(values))
            step = float(np.median(steps[steps > 0.0])) if steps.any() else 0.0
            return "" if step < 0.5 else "ms" if step < 500.0 else "us" if step < 5e5 else "ns"
        case "rad":
            largest = max(float(np.abs(angle).max(initial=0.0)) for angle in angles) if angles else largest
            whole = all(np.array_equal(angle, np.round(angle)) for angle in angles)
            return "" if largest <= 7.0 else "counts" if whole and largest > 360.0 else "deg"
        case "rad/s":
            return "deg/s" if largest > 40.0 else ""
        case "A":
            return "mA" if largest > 50.0 else ""
        case "V":
            return "mV" if largest > 500.0 else ""
        case "1":
            return "%" if channel.endswith("duty_cycle") and 1.05 < largest <= 105.0 else ""
        case _:
            return ""
