"""The CSV of our exporter: a comment with all facts of the run, a line of names and units, then the samples.

    # servobench-run 1
    # {"trajectory": "sin_sin", "bench": {…}, "settings": {…}, "provenance": {…}}
    time [s],goal_position [rad],torque_enable [1],position [rad]

The samples follow, one per line. A missing value is `nan`.
"""

from __future__ import annotations

import contextlib
import io
import math
from array import array
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError, newer
from core.base.guards import is_object
from core.base.words import counted
from core.motion.recording import CHANNELS, Recording
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions.errors import shown
from sessions.header import SETTING_TEXTS
from sessions.importers.bam_json import known_servo, name_of_file
from sessions.importers.kinds import NotARecordingError
from sessions.run_file.schema import CHANNEL_DTYPES, FORMAT_VERSION, RUN_FORMAT
from sessions.strict_json import MAX_MAGNITUDE, name, number, parse_json, storable

COLUMNS = {channel.name: f"{channel.name} [{channel.unit}]" for channel in CHANNELS}
"""Channel name to the title of its column."""


def read_csv(content: bytes, file_name: str, said: str = "") -> Recording:
    """Read a run, which states its own servo, whatever servo is `said`.

    Raises:
        NotARecordingError: for a CSV file of another program.
        InputError: for an invalid file.
    """
    lines = io.BytesIO(content)
    version = _version(lines.readline())
    if version > FORMAT_VERSION:
        raise InputError(newer(f"format {version}"))
    comment = lines.readline()
    facts = parse_json(comment[2:]) if comment.startswith(b"# ") else None
    if not is_object(facts):
        raise InputError("line 2 does not hold the facts of the run")
    bench, settings, provenance = (facts.get(key) for key in ("bench", "settings", "provenance"))
    if not is_object(bench) or not is_object(settings) or not is_object(provenance):
        raise InputError("line 2 does not hold bench, settings and provenance")
    read = _settings(settings)
    # A run of another actuator, such as a Webots Servo, may name a servo that no catalogue has.
    with contextlib.suppress(InputError):
        read = replace(read, servo=known_servo(read.servo, provenance))
    return Recording(
        id=name_of_file(file_name),
        trajectory=name(facts.get("trajectory"), "trajectory"),
        bench=Bench.from_json({key: number(value, f"bench: {key}") for key, value in bench.items()}),
        settings=read,
        channels=_channels(lines),
        provenance={**storable(provenance, "provenance"), "source_file": name_of_file(file_name)},
    )


def _version(line: bytes) -> int:
    words = line.decode("ascii", "replace").split()
    if len(words) != 3 or words[:2] != ["#", RUN_FORMAT] or not words[2].isdecimal() or len(words[2]) > 9:
        raise NotARecordingError("not a recording: a CSV file that ServoBench did not write")
    return int(words[2])


def _settings(data: Mapping[str, Any]) -> ServoSettings:
    return ServoSettings.from_json(
        {
            key: name(value, key) if key in SETTING_TEXTS else number(value, f"settings: {key}")
            for key, value in data.items()
        }
    )


def _channels(lines: io.BytesIO) -> dict[str, NDArray[Any]]:
    heads = lines.readline(4096).decode("utf-8", "replace").strip().split(",")
    names = {head: channel for channel, head in COLUMNS.items()}
    for place, head in enumerate(heads):
        if head not in names:
            raise InputError(f"line 3: {shown(head[:60])!r} is not a column of a run")
        if head in heads[:place]:
            raise InputError(f"line 3: the column {head!r} is there twice; keep one of them")
    columns = [array("d") for _ in heads]
    for line_number, line in enumerate(lines, start=4):
        cells = line.split(b",")
        if len(cells) != len(columns):
            values = counted(len(cells), "value")
            raise InputError(f"line {line_number}: {values}, not {len(columns)}; the file may be truncated")
        if not line.endswith(b"\n"):
            raise InputError(f"line {line_number}: it has no line end; the file may be truncated")
        for column, cell, head in zip(columns, cells, heads, strict=True):
            column.append(_cell(cell, line_number, head))
    return {names[head]: _typed(names[head], column) for head, column in zip(heads, columns, strict=True)}


def _cell(cell: bytes, line_number: int, head: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.inf
    if abs(value) > MAX_MAGNITUDE or b"_" in cell:
        text = shown(cell[:40].decode("ascii", "replace").strip())
        raise InputError(f"line {line_number}: {text!r} is not a valid {head}")
    return value


def _typed(channel: str, column: array[float]) -> NDArray[Any]:
    values = np.frombuffer(column, np.float64).copy() if column else np.empty(0)
    dtype = CHANNEL_DTYPES[channel]
    if dtype.kind == "f":
        return values
    with np.errstate(invalid="ignore"):
        whole = values.astype(dtype)
    if not np.array_equal(whole, values):
        raise InputError(f"{channel} holds values that are not whole numbers within its range")
    return whole
