"""Tables of other programs as recordings, given the meaning of their columns and the facts of the bench."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.words import counted
from core.motion.recording import JOINT, MOTION, Recording
from core.motion.refresh import rates_in_words
from core.motion.trajectories import canonical_name
from core.servo.actuator import COMMANDS
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec, load_servo
from core.servo.settings import ServoSettings
from sessions.errors import shown
from sessions.importers.bam_json import doubtful_supply, name_of_file
from sessions.importers.columns import (
    GOALS,
    PREVIEWED,
    SI_UNITS,
    Column,
    channel_of,
    columns_text,
    goal_of,
    guess_columns,
    is_unit_of,
    parse_columns,
    units_of,
)
from sessions.importers.datasets import Dataset, calibrated
from sessions.importers.joints import guess_joint_columns, guess_one_joint, joint_columns, joints_text
from sessions.importers.kinds import UnknownTableError
from sessions.importers.names import FACTS, FIELD, facts_from_name, stem
from sessions.importers.plausible import check_plausible
from sessions.importers.rows import GOAL, check_clock, check_keys, groups, guess_rows, shifted, tidied, unwrapped
from sessions.importers.tables import Table
from sessions.run_file.schema import CHANNEL_DTYPES
from sessions.strict_json import MAX_MAGNITUDE, name, number

REQUIRED_FACTS = {"servo": "SERVO", "mass": "KG", "length": "M", "kp": "P"}
"""Facts without a default, and the placeholder for their value in a command."""

NO_PENDULUM = {"mass": 0.0, "length": 0.0}
"""Facts in place of the bench for a joint of a robot."""

MOST_SHOWN = 12
"""Number of columns that a message names."""


@dataclass(frozen=True, kw_only=True)
class TableImport:
    """Rules that turn tables into recordings; without columns, tables are refused, with a guess."""

    columns: Mapping[str, Column] = field(default_factory=dict[str, Column])
    """Columns by channel."""
    facts: Mapping[str, float | str] = field(default_factory=dict[str, float | str])
    """FACTS that apply to all files. "servo" also settles which variant of its servo a BAM log is of."""
    where: Mapping[str, str] = field(default_factory=dict[str, str])
    """Values of columns, as text, that the rows must have."""
    split_by: str = ""
    """Column of whose values each makes a run."""
    goal_shift: int | Literal["auto"] = 0
    """Rows by which goals are moved, later if positive: loggers often write the goal of a neighbouring cycle.

    "auto" takes those that `import_paths` finds for all tables together; a single table is read as it is.
    """
    calibration: Mapping[str, Column] = field(default_factory=dict[str, Column])
    """Unit of goals and positions by motor, see `sessions.importers.datasets.read_calibration`."""
    joints: Mapping[str, str] | None = None
    """Joints of a robot that the tables hold, see `sessions.importers.joints`; None for a pendulum."""
    joint: str = ""
    """Joint of a robot that the columns are of, whose load is not stated; empty for a pendulum."""
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
        for channel in missing_channels(self.columns):
            return f"choose the column of {channel}"
        for column in used:
            if used.count(column) > 1:
                return f"column {shown(column)} is chosen twice"
        try:
            named = facts_from_name(stem(path), self.name_pattern) if path else FIELD.findall(self.name_pattern)
        except InputError as error:
            return str(error)
        missing = [fact for fact in required_facts(self.columns) if fact not in self.facts and fact not in named]
        return f"missing: {', '.join(missing)}" if missing else ""


def missing_channels(columns: Mapping[str, Column]) -> list[str]:
    """Return the channels that a run needs and these columns lack."""
    return [channel for channel in ("time", goal_of(columns), "position") if channel not in columns]


def required_facts(columns: Mapping[str, Column]) -> dict[str, str]:
    """Return REQUIRED_FACTS; a gain is needed only for a servo that is commanded by an angle."""
    angle = goal_of(columns) == "goal_position"
    return {fact: text for fact, text in REQUIRED_FACTS.items() if angle or fact != "kp"}


def read_runs(table: Table, path: Path, request: TableImport) -> list[Recording]:
    """Read a table as recordings: one, or one for each value of the column to split by.

    Args:
        table: The table.
        path: Its file, whose name may state facts.
        request: Meaning of the columns, and the facts.

    Raises:
        UnknownTableError: if the request has no columns.
        InputError: for an invalid table.
    """
    if request.joints is not None:
        return _of_robot(table, path, request, request.joints)
    if not request.columns:
        raise unknown_table(table)
    shift = 0 if request.goal_shift == "auto" else request.goal_shift
    columns, noted = _with_stated_units(table, calibrated(request.columns, request.calibration))
    _check_goal_name(columns)
    facts = _facts(table, path, request)
    servo = load_servo(str(facts["servo"]))
    bench, settings = _conditions(facts, servo)
    doubt = doubtful_supply(servo, settings.supply_voltage)
    used, goal = _check_names(table, request), goal_of(request.columns)
    if request.calibration and columns == request.columns:
        raise InputError(f"--calibration: no goal or position is named after {listed([*request.calibration])}")
    raw = table.columns(used)
    count = len(raw[used[0]])
    if count < 2:
        raise InputError(f"{counted(count, 'sample')} below the names, at least 2 are needed")
    if not request.where and not request.split_by:
        check_keys(table, used, count)
    noted += [f"{table.note} left out"] if table.note else []
    noted += [f"{doubt}: check --servo"] if doubt else []
    origin = {"format": "table", "source_file": name_of_file(path.name), "columns": columns_text(columns)}
    origin |= {"goal_shift": shift} if shift else {}
    recordings: list[Recording] = []
    refused: dict[str, str] = {}
    for key, rows in groups(table, count, request.where, request.split_by):
        run = f"{request.split_by} {key}: " if key else ""
        try:
            channels, places, left_out = tidied(shifted(_channels(table, raw, rows, columns, servo), shift))
            check_clock(channels["time"], rows[places], table, used, count)
        except InputError as error:
            refused[run] = str(error)
            continue
        channels, turned = unwrapped(channels, goal == "goal_position")
        try:
            unusual = check_plausible(channels, columns, bench, settings, servo)
        except InputError as error:
            raise InputError(f"{run}{error}") from None
        title = stem(path) + (f"-{key}" if key else "")
        of_robot = {JOINT: request.joint, MOTION: title} if request.joint else {}
        rates = rates_in_words(channels["time"], channels["position"], channels[GOAL], "command_time" in channels)
        still = [] if np.ptp(channels["position"]) else ["the position is the same in all rows"]
        notes = [*noted, *([] if of_robot else [*unusual, *still]), *left_out, *turned, *rates]
        channels[goal] = channels.pop(GOAL)
        recordings.append(
            Recording(
                id=name_of_file(f"{title}{path.name[len(stem(path)) :]}"),
                trajectory=canonical_name(name(facts.get("trajectory", _as_name(title)), "trajectory")),
                bench=bench,
                settings=settings,
                channels={channel: channels[channel] for channel in CHANNEL_DTYPES if channel in channels},
                provenance={**origin, **of_robot, **({"left_out": "; ".join(notes)} if notes else {})},
            )
        )
    return _noting(recordings, refused)


def _of_robot(table: Table, path: Path, request: TableImport, joints: Mapping[str, str]) -> list[Recording]:
    """Read the runs of all joints; their load is computed from the robot's file when they are identified."""
    columns = request.columns or guess_joint_columns(table) or guess_one_joint(table)
    if not columns:
        raise unknown_table(table)
    if stated := [fact for fact in request.facts if FACTS[fact] == "bench"]:
        raise InputError(f"the load on a joint comes from the robot's file: leave out --{stated[0].replace('_', '-')}")
    one = replace(request, joints=None, facts={**request.facts, **NO_PENDULUM})
    found: list[Recording] = []
    for joint, own in joint_columns(table, columns, joints):
        try:
            found += read_runs(table, path, replace(one, columns=own, joint=joint))
        except InputError as error:
            raise InputError(f"joint {shown(joint)}: {error}") from None
    return found if request.columns else _noted(found, f"read as --columns {columns_text(columns)}")


def _noting(recordings: list[Recording], refused: Mapping[str, str]) -> list[Recording]:
    """Return the recordings, the first with a note on runs that are refused; raises InputError if most runs are."""
    for run, reason in refused.items():
        if len(refused) > len(recordings):
            raise InputError(f"{run}{reason}")
        recordings = _noted(recordings, f"left out {run}{reason}")
    return recordings


def _noted(recordings: list[Recording], note: str) -> list[Recording]:
    """Return the recordings, the first with a note."""
    first, *others = recordings
    left_out = "; ".join(filter(None, (first.provenance.get("left_out"), note)))
    return [replace(first, provenance={**first.provenance, "left_out": left_out}), *others]


def _facts(table: Table, path: Path, request: TableImport) -> dict[str, float | str]:
    """Return the facts of a file's runs; raises InputError if one is missing."""
    facts = {**request.facts, **facts_from_name(stem(path), request.name_pattern)}
    if "servo" not in facts and isinstance(table, Dataset) and "position" in request.columns:
        supply = facts.get("supply_voltage")
        facts["servo"] = table.servo_of(request.columns["position"].name, None if supply is None else float(supply))
    for fact, value in required_facts(request.columns).items():
        if fact not in facts:
            raise InputError(f"{fact} is not given: add --{fact} {value}, or {{{fact}}} to --from-name")
    return facts


def _with_stated_units(table: Table, columns: Mapping[str, Column]) -> tuple[dict[str, Column], list[str]]:
    """Return the columns, those without a unit in the one that a line of the table states, and a phrase on it."""
    stated = dict(zip(table.names, table.units, strict=False))
    found, taken = dict(columns), list[str]()
    for channel, column in columns.items():
        unit = stated.get(column.name, "")
        if not column.unit and unit and is_unit_of(unit, channel):
            found[channel] = replace(column, unit=unit)
            taken.append(f"{column.name} in {unit}")
    return found, [f"units read from the file: {', '.join(taken)}"] if taken else []


def _as_name(stem: str) -> str:
    """Return a name for the motion in a file of this name."""
    return re.sub(r"[^\w .+-]", "_", stem).lstrip(" .+-")[:64] or "recording"


def _checked(fact: str, value: float | str) -> float | str:
    """Return a fact; raises InputError for a number that it cannot have."""
    if FACTS.get(fact, "text") == "text":
        return value
    return number(value, fact, -MAX_MAGNITUDE if fact == "angle_offset" else 0.0)


def _conditions(facts: Mapping[str, float | str], servo: ServoSpec) -> tuple[Bench, ServoSettings]:
    known: dict[str, dict[str, Any]] = {"bench": {}, "settings": {"kp": 0.0, "supply_voltage": servo.supply_voltage}}
    for fact, value in facts.items():
        if FACTS[fact] != "text":
            known[FACTS[fact]][fact] = _checked(fact, value)
    return Bench(**known["bench"]), ServoSettings(servo=servo.name, **known["settings"])


def _check_names(table: Table, request: TableImport) -> list[str]:
    """Return the columns that are channels; raises InputError for one that is missing."""
    columns = request.columns
    for channel in missing_channels(columns):
        short = channel.removesuffix("_position")
        raise InputError(f"no column is named for {channel}: add {short}=COLUMN to --columns")
    goals = [channel for channel in columns if channel in GOALS.values()]
    if len(goals) > 1:
        raise InputError(f"a servo follows one goal; leave out all but one of {', '.join(goals)} in --columns")
    used = [column.name for column in columns.values()]
    for named in (*used, *request.where, *filter(None, (request.split_by,))):
        if named not in table.names:
            near = difflib.get_close_matches(named, table.names, 1)
            hint = f", do you mean {shown(near[0])}?" if near else ""
            raise InputError(f"there is no column {shown(named)}{hint}; there are {listed(table.names)}")
    return used


def _check_goal_name(columns: Mapping[str, Column]) -> None:
    """Raise InputError if the goal is named after another quantity than an angle, and no unit says that it is one."""
    goal = columns.get("goal_position")
    if goal is None or goal.unit:
        return
    channel = channel_of(f"goal {goal.name}")
    if channel is None or channel == "goal_position" or channel not in GOALS.values():
        return
    words = COMMANDS[channel.removeprefix("goal_")].words
    raise InputError(
        f"{shown(goal.name)} looks like {words}: write {goal.entry(channel)} or "
        f"{goal.entry('goal_position', units_of(channel)[0])}; if it is an angle, {goal.entry('goal_position', 'rad')}"
    )


def _channels(
    table: Table,
    raw: Mapping[str, NDArray[Any]],
    rows: NDArray[np.intp],
    columns: Mapping[str, Column],
    servo: ServoSpec,
) -> dict[str, NDArray[Any]]:
    """Return the channels of these rows in SI units; NaN for a missing value."""
    # All times are taken relative to the first sample before they are scaled, which keeps large clocks exact.
    times = raw[columns["time"].name][rows]
    first, clock = times[~_missing(times)][:1], columns["time"].factor("time", servo) * columns["time"].scale
    if not len(first):
        raise InputError("no row has a time")
    channels: dict[str, NDArray[Any]] = {}
    for channel, column in columns.items():
        values = raw[column.name][rows]
        if SI_UNITS[channel] == "s" and channel != "read_duration":
            factor = column.factor(channel, servo) * column.scale
            shift = 0.0 if channel == "time" else column.shift * column.factor(channel, servo)
            channels[channel] = _seconds(values, first, factor, clock, channel) + shift
        elif values.dtype.kind == "M":
            raise InputError(f"column {shown(column.name)} holds dates, but {channel} is a number")
        else:
            channels[channel] = column.in_si(values, channel, servo)
        _check(channel, channels[channel], rows, column, table)
    channels[GOAL] = channels.pop(goal_of(columns))
    return {"torque_enable": np.ones(len(rows)), **channels}


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)


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
        since = (values - first) / np.timedelta64(1, "s")
        return np.where(_missing(values), np.nan, since)
    return (values - first * (clock / factor)) * factor


def _check(channel: str, values: NDArray[Any], rows: NDArray[np.intp], column: Column, table: Table) -> None:
    """Raise InputError, naming the row, for a value that a channel cannot hold."""
    with np.errstate(invalid="ignore"):
        # A large time is one in another unit, which is named later.
        wrong = np.isinf(values) | ((np.abs(values) > MAX_MAGNITUDE) & (channel not in ("time", "command_time")))
        if channel == "torque_enable":
            wrong |= ~np.isin(values, (0, 1)) & ~np.isnan(values)
        elif CHANNEL_DTYPES[channel].kind == "u":
            wrong |= ~(values >= 0) | (values % 1 != 0)
    if np.any(wrong):
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{table.place(int(rows[row]))}: {channel} (column {shown(column.name)}) is {values[row]:g}, which is not "
            "possible"
        )


# Tables whose columns have no known meaning


def unknown_table(table: Table) -> UnknownTableError:
    """Return the error for a table whose columns have no known meaning."""
    guess = guess_columns(table)
    joints = ", of several joints (for the motion of a whole robot, add --joints)" if guess_joint_columns(table) else ""
    error = UnknownTableError(
        f"not a recording: a table that ServoBench did not write, with the columns {listed(table.names)}{joints}",
        table.names,
        table.head(PREVIEWED),
        columns_text(guess),
    )
    if isinstance(table, Dataset) and "position" in guess and table.joint_of(guess["position"].name):
        error.servo_by_supply = True
    if "time" in guess:
        error.rows_option = guess_rows(table, guess["time"].name, [column.name for column in guess.values()])
    return error


def suggested_command(
    error: UnknownTableError, paths: Sequence[Path], request: TableImport, session: Path | None = None
) -> str:
    """Return the command that imports these paths into a session.

    Facts that nothing states are placeholders in capital letters, and so is the session if there is none.
    """
    guess = calibrated(parse_columns(error.guess), request.calibration)
    entries = [columns_text(guess)] if guess else []
    entries += [f"{channel.removesuffix('_position')}=COLUMN" for channel in missing_channels(guess)]
    pattern = request.name_pattern or error.pattern
    known = {**required_facts(guess), **({"servo": error.servo} if error.servo else {}), **request.facts}
    if error.servo_by_supply and not error.servo and "servo" not in request.facts:
        known.pop("servo")
        known.setdefault("supply_voltage", "V")
    in_name = FIELD.findall(pattern)
    if request.joints is not None:
        known = {fact: value for fact, value in known.items() if fact not in NO_PENDULUM}
        error.rows_option = {**error.rows_option, "joints": joints_text(request.joints)}
    options = {"columns": ",".join(entries), **{key.replace("_", "-"): text for key, text in error.rows_option.items()}}
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
