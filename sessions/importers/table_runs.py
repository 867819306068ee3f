"""Tables of other programs as recordings, given the meaning of their columns and the facts of the bench."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.words import counted
from core.motion.recording import REQUIRED_CHANNELS, Recording
from core.motion.trajectories import canonical_name
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec, load_servo
from core.servo.settings import ServoSettings
from sessions.errors import shown
from sessions.importers.bam_json import name_of_file
from sessions.importers.columns import PREVIEWED, SI_UNITS, Column, columns_text, guess_columns, parse_columns
from sessions.importers.kinds import NotARecordingError, UnknownTableError
from sessions.importers.names import FACTS, FIELD, facts_from_name, stem
from sessions.importers.plausible import check_plausible
from sessions.importers.tables import Table, open_table
from sessions.run_file.schema import CHANNEL_DTYPES
from sessions.strict_json import MAX_MAGNITUDE, name, number

REQUIRED_FACTS = {"servo": "SERVO", "mass": "KG", "length": "M", "kp": "P"}
"""Facts without a default, and the placeholder for their value in a command."""

MOST_SHOWN = 12
"""Number of columns that a message names."""


@dataclass(frozen=True, kw_only=True)
class TableImport:
    """Rules that turn tables into recordings; without columns, tables are refused, with a guess."""

    columns: Mapping[str, Column] = field(default_factory=dict[str, Column])
    """Columns by channel."""
    facts: Mapping[str, float | str] = field(default_factory=dict[str, float | str])
    """FACTS that apply to all files."""
    name_pattern: str = ""
    """Pattern of file names without endings, e.g. "{trajectory}_m{mass}_kp{kp}", with fields of FACTS."""

    def __post_init__(self) -> None:
        for fact, value in self.facts.items():
            _checked(fact, value)

    def trouble(self, path: Path | None = None) -> str:
        """Return what is still missing before tables can be read, in one line; empty if nothing is.

        Args:
            path: A file, whose name is matched with the pattern; None if none is known, as in a folder.
        """
        used = [column.name for column in self.columns.values()]
        for channel in REQUIRED_CHANNELS:
            if channel not in self.columns and channel != "torque_enable":
                return f"choose the column of {channel}"
        for column in used:
            if used.count(column) > 1:
                return f"column {shown(column)} is chosen twice"
        try:
            named = facts_from_name(stem(path), self.name_pattern) if path else FIELD.findall(self.name_pattern)
        except InputError as error:
            return str(error)
        missing = [fact for fact in REQUIRED_FACTS if fact not in self.facts and fact not in named]
        return f"missing: {', '.join(missing)}" if missing else ""


def read_run(content: bytes, path: Path, ending: str, request: TableImport) -> Recording:
    """Read a table as a recording.

    Raises:
        NotARecordingError: if the request has no columns.
        InputError: for an invalid table.
    """
    if not request.columns:
        raise unknown_table(content, ending)
    table = open_table(content, ending)
    facts = {**request.facts, **facts_from_name(stem(path), request.name_pattern)}
    for fact, value in REQUIRED_FACTS.items():
        if fact not in facts:
            raise InputError(f"{fact} is not given: add --{fact} {value}, or {{{fact}}} to --from-name")
    servo = load_servo(str(facts["servo"]))
    bench, settings = _conditions(facts, servo)
    channels = _channels(table, request.columns, servo)
    check_plausible(channels, request.columns, bench, servo)
    return Recording(
        id=name_of_file(path.name),
        trajectory=canonical_name(name(facts.get("trajectory", _as_name(stem(path))), "trajectory")),
        bench=bench,
        settings=settings,
        channels={channel: channels[channel] for channel in CHANNEL_DTYPES if channel in channels},
        provenance={
            "format": "table",
            "source_file": name_of_file(path.name),
            "columns": columns_text(request.columns),
        },
    )


def _as_name(stem: str) -> str:
    """Return a name for the motion in a file of this name."""
    return re.sub(r"[^\w .+-]", "_", stem).lstrip(" .+-")[:64] or "recording"


def _checked(fact: str, value: float | str) -> float | str:
    """Return a fact; raises InputError for a number that it cannot have."""
    if FACTS.get(fact, "text") == "text":
        return value
    return number(value, fact, -MAX_MAGNITUDE if fact == "angle_offset" else 0.0)


def _conditions(facts: Mapping[str, float | str], servo: ServoSpec) -> tuple[Bench, ServoSettings]:
    known: dict[str, dict[str, Any]] = {"bench": {}, "settings": {"supply_voltage": servo.supply_voltage}}
    for fact, value in facts.items():
        if FACTS[fact] != "text":
            known[FACTS[fact]][fact] = _checked(fact, value)
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
    # All times are taken relative to the first sample before they are scaled, which keeps large clocks exact.
    raw = table.columns([column.name for column in columns.values()])
    first, clock = raw[columns["time"].name][:1], columns["time"].factor("time", servo)
    if len(raw[columns["time"].name]) < 2:
        raise InputError(f"{counted(len(first), 'sample')} below the names, at least 2 are needed")
    channels: dict[str, NDArray[Any]] = {}
    for channel, column in columns.items():
        values = raw[column.name]
        if SI_UNITS[channel] == "s" and channel != "read_duration":
            channels[channel] = _seconds(values, first, column.factor(channel, servo), clock, channel)
        elif values.dtype.kind == "M":
            raise InputError(f"column {shown(column.name)} holds dates, but {channel} is a number")
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


def _seconds(
    values: NDArray[Any], first: NDArray[Any], factor: float, clock: float, channel: str
) -> NDArray[np.float64]:
    """Return seconds since the first sample.

    Args:
        values: Times of the channel.
        first: Time of the first sample.
        factor: Seconds per unit of `values`.
        clock: Seconds per unit of `first`.
        channel: Name of the channel, for the message.
    """
    if (values.dtype.kind == "M") != (first.dtype.kind == "M"):
        raise InputError(f"{channel} and time must both be dates or both be numbers")
    if values.dtype.kind == "M":
        return (values - first) / np.timedelta64(1, "s")
    return (values - first * (clock / factor)) * factor


def _check(channel: str, values: NDArray[Any], column: Column, table: Table) -> None:
    """Raise InputError, naming the row, for a value that a channel cannot hold."""
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


# Tables whose columns have no known meaning


def unknown_table(content: bytes, ending: str) -> NotARecordingError:
    """Return the error for a file whose columns have no known meaning."""
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


def suggested_command(
    error: UnknownTableError, paths: Sequence[Path], request: TableImport, session: Path | None = None
) -> str:
    """Return the command that imports these paths into a session.

    Facts that nothing states are placeholders in capital letters, and so is the session if there is none.
    """
    guess = parse_columns(error.guess)
    entries = [error.guess] if guess else []
    entries += [
        f"{channel.removesuffix('_position')}=COLUMN"
        for channel in REQUIRED_CHANNELS
        if channel not in guess and channel != "torque_enable"
    ]
    pattern = request.name_pattern or error.pattern
    known = {**REQUIRED_FACTS, **({"servo": error.servo} if error.servo else {}), **request.facts}
    in_name = FIELD.findall(pattern)
    options = {"columns": ",".join(entries)}
    options |= {fact.replace("_", "-"): str(value) for fact, value in known.items() if fact not in in_name}
    if pattern:
        options["from-name"] = pattern
    words = ["bench import", *(quote(_not_an_option(shown(path))) for path in paths)]
    # An option's value that begins with a dash needs the equals sign.
    words += [
        f"--{name}={quote(text)}" if text.startswith("-") else f"--{name} {quote(shown(text))}"
        for name, text in options.items()
    ]
    return " ".join([*words, "-o", quote(_not_an_option(shown(session))) if session is not None else "SESSION"])


def _not_an_option(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def listed(names: Sequence[str]) -> str:
    """Return the first of many names in one line."""
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return ", ".join(shown(each[:40]) for each in names[:MOST_SHOWN]) + more
