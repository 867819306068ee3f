"""What the columns of a table mean: `time=t_ms:ms,goal=goal:deg,position=pos:deg` makes a recording of it.

Left of `=` stands a channel of `core.recording`, by its name or a word for it (WORDS); right of it the column's name,
and behind the last colon its unit (UNITS), left out for SI units. An entry whose column's name holds a comma is put
in double quotes.
"""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.bench import Bench
from core.catalogue import ServoSpec, load_servo
from core.errors import InputError, ModelError
from core.recording import CHANNELS, REQUIRED_CHANNELS, Recording, ServoSettings
from core.trajectories import canonical_name
from sessions.errors import shown
from sessions.importers.bam_json import name_of_file
from sessions.importers.kinds import NotARecordingError, UnknownTableError
from sessions.importers.plausible import check_plausible
from sessions.importers.tables import OPENERS, Table, open_table
from sessions.schema import CHANNEL_DTYPES
from sessions.strict_json import MAX_MAGNITUDE, name, number

SI_UNITS = {channel.name: channel.unit for channel in CHANNELS}

_COUNTS = ("count", "counts", "tick", "ticks")
_SPELLINGS = (
    ("s", 1.0, "s sec second seconds"),
    ("s", 1e-3, "ms msec millis"),
    ("s", 1e-6, "us µs usec micros"),
    ("s", 1e-9, "ns nsec nanos"),
    ("rad", 1.0, "rad radian radians"),
    ("rad", 1e-3, "mrad"),
    ("rad", math.pi / 180.0, "deg ° degree degrees"),
    ("rad", 2.0 * math.pi, "rev turn turns"),
    ("rad", math.nan, "counts count ticks tick"),
    ("rad/s", 1.0, "rad/s"),
    ("rad/s", math.pi / 180.0, "deg/s °/s dps"),
    ("rad/s", 2.0 * math.pi, "rev/s turn/s"),
    ("rad/s", 2.0 * math.pi / 60.0, "rpm"),
    ("A", 1.0, "A amp amps"),
    ("A", 1e-3, "mA"),
    ("V", 1.0, "V volt volts"),
    ("V", 1e-3, "mV"),
    ("1", 1.0, "1"),
    ("1", 0.01, "% percent"),
    ("degC", 1.0, "degC °C C celsius"),
)
"""SI unit, factor and spellings of each unit; the factor of a count is the encoder's."""
UNITS = {unit.lower(): (si, factor) for si, factor, units in _SPELLINGS for unit in units.split()}
"""Unit in lower case to its SI unit, which is its dimension, and its factor."""

WORDS = (
    ("velocity", "velocity vel speed omega dq"),
    ("duty_cycle", "duty pwm"),
    ("supply_voltage", "voltage supply vin vbat volt volts"),
    ("temperature", "temperature temp"),
    ("torque_enable", "enable enabled"),
    ("position", "position pos angle theta q encoder"),
    ("time", "time t timestamp stamp elapsed clock"),
    ("current", "current i amps"),
    ("position", "measured actual"),
)
"""Words that a channel goes by, the most telling first."""
GOAL_WORDS = frozenset(
    ("goal", "target", "setpoint", "reference", "ref", "command", "commanded", "cmd", "desired", "des")
)
"""Turn a position into the goal, and a time into that of the command."""

FACTS = {
    **dict.fromkeys(("mass", "length", "arm_mass", "angle_offset"), "bench"),
    **dict.fromkeys(("kp", "ki", "kd", "supply_voltage", "damping"), "settings"),
    **dict.fromkeys(("servo", "trajectory"), "text"),
}
"""What is to be known of a run besides its samples, and what it belongs to."""
REQUIRED_FACTS = {"servo": "SERVO", "mass": "KG", "length": "M", "kp": "P"}
"""Facts that have no default, and what stands for their value in a command."""

_ENTRY = re.compile(r"(?P<column>.+?)(?::(?P<unit>[^:]*?)(?::(?P<counts>\d{1,9}))?)?", re.DOTALL)
_FIELD = re.compile(r"\{(\w*)\}")
_NUMBER = r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?"
PREVIEWED = 200
"""Rows from which units are guessed."""
MOST_SHOWN = 12
"""Columns that a message names."""


@dataclass(frozen=True)
class Column:
    """A column of a table and the unit its numbers are in."""

    name: str
    unit: str = ""
    """One of UNITS, a count with ":4096" behind it; empty: the channel's own."""

    def factor(self, channel: str, servo: ServoSpec) -> float:
        """What the numbers are multiplied with; raises InputError for a unit of another dimension."""
        unit, _, counts = self.unit.lower().partition(":")
        si, factor = UNITS[unit] if unit else (SI_UNITS[channel], 1.0)
        if si != SI_UNITS[channel]:
            raise InputError(f"{channel} cannot be in {self.unit}; its units are {', '.join(units_of(channel))}")
        if math.isnan(factor):
            return 2.0 * math.pi / (int(counts) if counts else servo.encoder_counts_per_turn)
        return factor


@dataclass(frozen=True, kw_only=True)
class TableImport:
    """How tables become recordings; without columns they are refused, with a guess."""

    columns: Mapping[str, Column] = field(default_factory=dict)
    """By channel."""
    facts: Mapping[str, float | str] = field(default_factory=dict)
    """Of FACTS, those that hold for all files."""
    name_pattern: str = ""
    """Of file names without their endings, e.g. "{trajectory}_m{mass}_kp{kp}", with fields of FACTS."""

    def trouble(self, path: Path | None = None) -> str:
        """Return in one line what is still needed before tables can be read; empty when nothing is.

        path: a file, whose name is held against the pattern.
        """
        used = [column.name for column in self.columns.values()]
        for channel in REQUIRED_CHANNELS:
            if channel not in self.columns and channel != "torque_enable":
                return f"choose the column of {channel}"
        for column in used:
            if used.count(column) > 1:
                return f"column {shown(column)} is chosen twice"
        try:
            told = facts_from_name(stem(path), self.name_pattern) if path is not None else {}
        except InputError as error:
            return str(error)
        missing = [fact for fact in REQUIRED_FACTS if fact not in self.facts and fact not in told]
        return f"missing: {', '.join(missing)}" if missing else ""


# The columns as text


def parse_columns(text: str) -> dict[str, Column]:
    """Columns by channel from `time=t,goal=goal_deg:deg`; raises InputError."""
    found: dict[str, Column] = {}
    for entry in next(csv.reader([" ".join(text.split("\n"))], skipinitialspace=True), []):
        word, equals, right = entry.strip().partition("=")
        if not equals or not right.strip():
            raise InputError(f"--columns: {shown(entry)!r} is no CHANNEL=COLUMN[:UNIT], e.g. position=pos:deg")
        channel = channel_named(word.strip())
        if channel in found:
            raise InputError(f"--columns: {channel} stands there twice")
        found[channel] = _column(right.strip(), channel)
    return found


def columns_text(columns: Mapping[str, Column]) -> str:
    """Inverse of `parse_columns`."""
    entries = []
    for channel, column in columns.items():
        unit = column.unit or (SI_UNITS[channel] if ":" in column.name else "")
        entry = f"{channel.removesuffix('_position')}={column.name}{':' if unit else ''}{unit}"
        entries.append('"{}"'.format(entry.replace('"', '""')) if "," in entry or '"' in entry else entry)
    return ",".join(entries)


def units_of(channel: str) -> list[str]:
    """Units that a channel can be in, the SI unit first."""
    return [spellings.split()[0] for si, _, spellings in _SPELLINGS if si == SI_UNITS[channel]]


def channel_named(text: str) -> str:
    """The channel of a name or a word for it; raises InputError."""
    channel = text if text in SI_UNITS else _channel_of(text)
    if channel is None:
        raise InputError(f"--columns: there is no channel {shown(text)!r}; there are {', '.join(SI_UNITS)}")
    return channel


def _column(text: str, channel: str) -> Column:
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise InputError(f"--columns: {shown(text)!r} is no COLUMN[:UNIT]")
    unit, counts = match["unit"], match["counts"]
    if unit is None:
        return Column(text)
    known = UNITS.get(unit.lower())
    if known is None or (counts is not None and not (math.isnan(known[1]) and int(counts))):
        raise InputError(
            f"--columns: {shown(text)!r} ends in no unit; write {shown(text)}:{SI_UNITS[channel]} if the colon is part "
            f"of the name; units of {channel} are {', '.join(units_of(channel))}"
        )
    return Column(match["column"], unit if counts is None else f"{unit}:{counts}")


# Guessing


def guess_columns(table: Table) -> dict[str, Column]:
    """What the columns may be, by their names, and their units, by their names or the size of their numbers."""
    found: dict[str, Column] = {}
    for column in sorted(table.names, key=len):
        channel, unit = _meaning(column)
        if channel is not None and channel not in found and table.names.count(column) == 1:
            found[channel] = Column(column, unit)
    rows = table.head(PREVIEWED)
    values = {
        channel: _numbers([row[table.names.index(column.name)] for row in rows if len(row) == len(table.names)])
        for channel, column in found.items()
    }
    angles = [values[channel] for channel in ("goal_position", "position") if channel in values]
    for channel, column in found.items():
        if not column.unit:
            found[channel] = Column(column.name, _likely_unit(channel, values[channel], angles))
    return {channel: found[channel] for channel in SI_UNITS if channel in found}


def _meaning(column: str) -> tuple[str | None, str]:
    """Channel and unit that a column's name speaks of; None, "" where it does not."""
    parts = [part for part in re.split(r"[^\w%°µ]+|_", column) if part]
    for count in (2, 1):
        unit = "/".join(parts[-count:])
        rest = _channel_of("_".join(parts[:-count]))
        if len(parts) > count and rest is not None and UNITS.get(unit.lower(), ("", 0))[0] == SI_UNITS[rest]:
            return rest, unit
    return _channel_of(column), ""


def _channel_of(text: str) -> str | None:
    words = re.split(r"[^\w]+|_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text))
    said = {word.lower() for word in words}
    base = next((channel for channel, known in WORDS if said & set(known.split())), None)
    if not said & GOAL_WORDS:
        return base
    return {None: "goal_position", "position": "goal_position", "time": "command_time"}.get(base)


def _numbers(cells: Sequence[str]) -> NDArray[np.float64]:
    found = []
    for cell in cells:
        try:
            found.append(float(cell.replace(",", ".")))
        except ValueError:
            continue
    return np.array([value for value in found if math.isfinite(value)])


def _likely_unit(channel: str, values: NDArray[np.float64], angles: Sequence[NDArray[np.float64]]) -> str:
    """A unit in which these numbers could be; empty for the SI unit."""
    largest = float(np.abs(values).max(initial=0.0))
    match SI_UNITS[channel]:
        case "s":
            step = float(np.median(np.abs(np.diff(values)))) if len(values) > 1 else 0.0
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
            return "%" if channel == "duty_cycle" and largest > 1.5 else ""
    return ""


def unknown_table(content: bytes, ending: str) -> NotARecordingError:
    """The error for a file of which nobody said what its columns mean."""
    try:
        table = open_table(content, ending)
    except InputError as error:
        return NotARecordingError(f"not a recording: {error}")
    return UnknownTableError(
        f"not a recording: a table that ServoBench did not write, with the columns {listed(table.names)}",
        table.names,
        table.head(PREVIEWED),
        columns_text(guess_columns(table)),
    )


def suggested_command(error: UnknownTableError, paths: Sequence[Path], request: TableImport) -> str:
    """The command that imports these paths once its capital letters are replaced."""
    guess = parse_columns(error.guess)
    entries = [error.guess] if guess else []
    entries += [
        f"{channel.removesuffix('_position')}=COLUMN"
        for channel in REQUIRED_CHANNELS
        if channel not in guess and channel != "torque_enable"
    ]
    in_name = _FIELD.findall(request.name_pattern)
    facts = [
        f"--{fact.replace('_', '-')} {quote(str(value))}"
        for fact, value in {**REQUIRED_FACTS, **request.facts}.items()
        if fact not in in_name
    ]
    pattern = [f"--from-name {quote(request.name_pattern)}"] if request.name_pattern else []
    files = [quote(shown(path)) for path in paths]
    return " ".join(["bench import", *files, "--columns", quote(",".join(entries)), *facts, *pattern, "-o SESSION"])


def listed(names: Sequence[str]) -> str:
    """The first names of many in one line."""
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return ", ".join(shown(each[:40]) for each in names[:MOST_SHOWN]) + more


# From a table to a recording


def read_run(content: bytes, path: Path, ending: str, request: TableImport) -> Recording:
    """Read a table as a recording; raises NotARecordingError without columns and InputError for a bad one."""
    if not request.columns:
        raise unknown_table(content, ending)
    table = open_table(content, ending)
    facts = {**request.facts, **facts_from_name(stem(path), request.name_pattern)}
    for fact, value in REQUIRED_FACTS.items():
        if fact not in facts:
            raise InputError(f"{fact} is not given: add --{fact} {value}, or {{{fact}}} to --from-name")
    servo = known_servo(str(facts["servo"]))
    bench, settings = _conditions(facts, servo)
    channels = _channels(table, request.columns, servo)
    check_plausible(channels, request.columns, bench, servo)
    return Recording(
        id=name_of_file(path.name),
        trajectory=canonical_name(name(facts.get("trajectory", stem(path)), "trajectory")),
        bench=bench,
        settings=settings,
        channels={name: channels[name] for name in CHANNEL_DTYPES if name in channels},
        provenance={
            "format": "table",
            "source_file": name_of_file(path.name),
            "columns": columns_text(request.columns),
        },
    )


def stem(path: Path) -> str:
    """A file's name without the endings this program knows."""
    found = path.name.removesuffix(".gz")
    return next((found[: -len(ending)] for ending in OPENERS if found.lower().endswith(ending)), found)


def known_servo(servo: str) -> ServoSpec:
    """The servo of a name; raises InputError with the way to one of one's own."""
    try:
        return load_servo(servo)
    except ModelError as error:
        raise InputError(f"{error}; for a servo of your own: --servo my.toml") from None


def facts_from_name(stem: str, pattern: str) -> dict[str, float | str]:
    """Facts in a file's name; raises InputError for a pattern with unknown fields and for a name that does not fit."""
    if not pattern:
        return {}
    parts = _FIELD.split(pattern)
    fields = parts[1::2]
    for wrong in fields:
        if wrong not in FACTS or fields.count(wrong) > 1:
            problem = "stands there twice" if wrong in FACTS else f"is none of {', '.join(FACTS)}"
            raise InputError(f"--from-name: {{{wrong}}} {problem}")
    texts = [re.escape(part) for part in parts[::2]]
    groups = [f"(?P<{fact}>{'.+?' if FACTS[fact] == 'text' else _NUMBER})" for fact in fields]
    match = re.fullmatch("".join(a + b for a, b in zip(texts, [*groups, ""], strict=True)), stem)
    if match is None:
        examples = {"servo": "xl330", "trajectory": "sin_sin"}
        example = _FIELD.sub(lambda found: examples.get(found[1], "0.5"), pattern)
        raise InputError(
            f"the name {shown(stem)!r} does not fit --from-name {shown(pattern)!r}; expected is e.g. {example}"
        )
    return {fact: text if FACTS[fact] == "text" else float(text) for fact, text in match.groupdict().items()}


def _conditions(facts: Mapping[str, float | str], servo: ServoSpec) -> tuple[Bench, ServoSettings]:
    known: dict[str, dict[str, Any]] = {"bench": {}, "settings": {"supply_voltage": servo.supply_voltage}}
    for fact, value in facts.items():
        if FACTS[fact] != "text":
            low = -MAX_MAGNITUDE if fact == "angle_offset" else 0.0
            known[FACTS[fact]][fact] = number(value, fact, low)
    return Bench(**known["bench"]), ServoSettings(servo=servo.name, **known["settings"])


def _channels(table: Table, columns: Mapping[str, Column], servo: ServoSpec) -> dict[str, NDArray[Any]]:
    for channel in REQUIRED_CHANNELS:
        if channel not in columns and channel != "torque_enable":
            short = channel.removesuffix("_position")
            raise InputError(f"no column is named for {channel}: add {short}=COLUMN to --columns")
    for column in columns.values():
        if column.name not in table.names:
            near = difflib.get_close_matches(column.name, table.names, 1)
            hint = f", do you mean {shown(near[0])}?" if near else ""
            raise InputError(f"there is no column {shown(column.name)}{hint}; there are {listed(table.names)}")
    raw = table.columns([column.name for column in columns.values()])
    first: Any = raw[columns["time"].name][:1]
    if len(raw[columns["time"].name]) < 2:
        raise InputError(f"{len(first)} samples below the names are too few, at least 2 are needed")
    channels: dict[str, NDArray[Any]] = {}
    for channel, column in columns.items():
        values = raw[column.name]
        if SI_UNITS[channel] == "s" and channel != "read_duration":
            channels[channel] = _seconds(values, first, column.factor(channel, servo), channel)
        elif values.dtype.kind == "M":
            raise InputError(f"column {shown(column.name)} holds dates, which {channel} is not")
        else:
            channels[channel] = values * column.factor(channel, servo)
        _check(channel, channels[channel], column, table)
    time = channels["time"]
    wrong = np.flatnonzero(np.diff(time) <= 0.0)
    if len(wrong):
        row = int(wrong[0]) + 1
        raise InputError(
            f"{table.place(row)}: time goes from {time[row - 1]:.6f} to {time[row]:.6f} s after the first sample; "
            "times must increase: sort the rows, or split the file where the clock was set"
        )
    return {"torque_enable": np.ones(len(time), np.uint8), **channels}


def _seconds(values: NDArray[Any], first: NDArray[Any], factor: float, channel: str) -> NDArray[np.float64]:
    """Seconds since the first sample."""
    if (values.dtype.kind == "M") != (first.dtype.kind == "M"):
        raise InputError(f"{channel} and time must both be dates or both be numbers")
    if values.dtype.kind == "M":
        return (values - first) / np.timedelta64(1, "s")
    return (values - first) * factor


def _check(channel: str, values: NDArray[Any], column: Column, table: Table) -> None:
    """Raise InputError naming the row of a value that a channel cannot hold; put flags and counts into their type."""
    with np.errstate(invalid="ignore"):
        wrong = np.isinf(values) | (np.abs(values) > MAX_MAGNITUDE)
        if CHANNEL_DTYPES[channel].kind == "u":
            wrong |= ~np.isin(values, (0, 1)) if channel == "torque_enable" else ~(values >= 0) | (values % 1 != 0)
        elif channel in REQUIRED_CHANNELS:
            wrong |= np.isnan(values)
    if np.any(wrong):
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{table.place(row)}: {channel} (column {shown(column.name)}) is {values[row]:g}, which is not possible"
            + ("; leave out rows without a value" if np.isnan(values[row]) else "")
        )
