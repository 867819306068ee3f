"""The command that an import proposes for an unknown table works when it is copied."""

import gzip
import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from sessions import Session

FACTS = {"SERVO": "xl330", "KG": "0.05", "M": "0.1", "P": "400"}
"""Text that a person puts in place of capital letters."""
REPORTS = Path(__file__).resolve().parents[3] / "shared/data/reports"
REPORTED = sorted(path for path in REPORTS.glob("*/*.*") if path.suffix not in (".db3", ".mcap"))
"""The bags among them hold nothing."""
REMEDY = re.compile(
    r"it would be [^:]*: (?P<columns>\S+?)(?:;|$)|with (?P<option>--where|--split-by) '(?P<value>[^']*)'"
)


def proposed(said, facts):
    """Words of the proposed command after "bench", with a fact for each placeholder."""
    return [facts.get(word, word) for word in shlex.split(said.split("say what they mean: ")[1])[1:]]


def remedied(words, said):
    """The command with the remedy that a refusal names: entries of --columns, or another option."""
    remedy = REMEDY.search(said)
    assert remedy is not None, said
    if remedy["option"]:
        return [*words, remedy["option"], remedy["value"]]
    place, new = words.index("--columns") + 1, remedy["columns"].split(",")
    changed = {entry.partition("=")[0] for entry in new}
    kept = [entry for entry in words[place].split(",") if entry.partition("=")[0] not in changed]
    return [*words[:place], ",".join([*kept, *new]), *words[place + 1 :]]


def imported(bench, path, session, **facts):
    """The runs of a file, by the command that is proposed for it, and by the remedy that it names if it fails."""
    words = proposed(bench("import", path, "-o", session, code=1).err, {**FACTS, **facts})
    try:
        bench(*words)
    except AssertionError as refused:
        bench(*remedied(words, str(refused).splitlines()[0]))
    return Session.open(session).load_all()


@pytest.mark.skipif(not REPORTED, reason="the reported logs lie outside the project")
@pytest.mark.parametrize("path", REPORTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_command_proposed_for_a_reported_log_imports_it(tmp_path, bench, path):
    bigger = {"SERVO": "mx106", "M": "0.15"} if "_kp" in path.stem else {}
    assert imported(bench, path, tmp_path / "lab", **bigger)


# Random tables

NAMES = [
    "goal/pos",
    "target/angle",
    "cmd_pos/measured_pos",
    "q_des/q",
    "GoalPosition/PresentPosition",
    "command/state",
    "action/position",
    "setpoint/encoder",
    "desired_position/actual_position",
    "elbow.target/elbow.angle",
    "cmd:pos/act:pos",
    "ref/theta",
]
CLOCKS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
TIMES = ["t", "time", "timestamp", "elapsed", "t_{}", "time [{}]", "stamp ({})", "{}"]
DATES = [
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y-%m-%dT%H:%M:%S.%f+02:00",
    "%H:%M:%S.%f",
    "%d.%m.%Y %H:%M:%S.%f",
]
ANGLES = {"rad": 1.0, "deg": 57.29577951308232, "counts": 651.8986469044033, "turns": 0.15915494309189535}
OTHERS = ["current_mA", "motor_current", "torque", "effort", "temp", "note", "on", "joint_2_load", "phase", "Vbus [V]"]
COMMANDS = ["goal_voltage", "cmd_current_A", "torque_cmd", "target_velocity", "desired duty", "voltage setpoint [V]"]
KINDS = ["csv", "csv", "csv", "csv.gz", "tsv", "npz", "json", "parquet"]
STEMS = ["log", "run 7", "-x", "it's", "sin_sin_m0.05_kp400", "xl330_slow_m0.05_l0.1_kp400", "2026-01-01_test"]


class Shape:
    """Random choices of a table's shape."""

    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)

    def one(self, options):
        return options[self.numbers.integers(len(options))]

    def maybe(self, share=0.25):
        return self.numbers.random() < share


def motion(shape):
    """Time, goal and position of a servo that the XL-330 can be, in SI units."""
    time = shape.one([0.002, 0.005, 0.01, 0.02]) * np.arange(shape.numbers.integers(150, 400))
    amplitude = shape.numbers.uniform(0.3, 1.4)
    pace = min(6.0 / amplitude, shape.numbers.uniform(2.0, 8.0))
    return time, amplitude * np.sin(pace * time), 0.9 * amplitude * np.sin(pace * time - 0.15)


def clock(shape, time):
    """Name and values of the column of time."""
    if shape.maybe():
        form, start = shape.one(DATES), datetime(2026, 1, 1, 10, tzinfo=UTC)
        return shape.one(["time", "date", "timestamp", "Datetime"]), [
            f"{start + timedelta(seconds=t):{form}}" for t in time.tolist()
        ]
    unit = shape.one(list(CLOCKS))
    stamps = np.round((shape.one([0, 0, 1767225600]) + time) * CLOCKS[unit], 6)
    return shape.one(TIMES).format(unit), [round(t) for t in stamps.tolist()] if unit != "s" else stamps.tolist()


def angles(shape, goal, position):
    """Names and values of the columns of goal and position; turns are named, or they would pass for radians."""
    unit = shape.one(list(ANGLES))
    ending = shape.one(["_{}", " [{}]", " ({})"] + ["", "", ""] * (unit != "turns")).format(unit)
    for name, angle in zip(shape.one(NAMES).split("/"), (goal, position), strict=True):
        if angle is goal and shape.maybe(0.2):
            yield shape.one(COMMANDS), goal.tolist()
            continue
        values = angle * ANGLES[unit]
        yield f"{name}{ending}", (np.round(2048 + values) if unit == "counts" else values).tolist()


def table(shape, columns):
    """Names and rows: of one servo or two, one episode or two, repeated, or with goals in rows of their own."""
    names, rows = list(columns), list(zip(*columns.values(), strict=True))
    for other in shape.numbers.permutation(OTHERS)[: shape.numbers.integers(4)].tolist():
        cells = {"temp": [34.0], "note": ["fine"], "on": [1.0]}.get(other, shape.numbers.normal(size=7).tolist())
        names, rows = [*names, other], [(*row, cells[place % len(cells)]) for place, row in enumerate(rows)]
    if shape.maybe():
        rows = [(*row[:gone], None, *row[gone + 1 :]) for row in rows for gone in (2, 1)]
    if shape.maybe():
        rows = [row for row in rows for _ in range(2)]
    if shape.maybe(0.2):
        return [*names, shape.one(["id", "motor_id", "dxl"])], [(*row, key) for row in rows for key in (1, 2)]
    if shape.maybe(0.2):
        return [*names, shape.one(["episode", "trial", "rep"])], [(*row, key) for key in (0, 1) for row in rows]
    return names, rows


def text(shape, names, rows, delimiter):
    """The content of a text file."""
    comma = delimiter != "," and shape.maybe(0.5)

    def cell(value):
        written = f"{value:.9f}" if isinstance(value, float) else "" if value is None else str(value)
        return written.replace(".", ",") if comma and isinstance(value, float) else written

    lines = [delimiter.join(map(cell, row)) for row in rows]
    above = ["# rig 3", ""] if shape.maybe() else []
    half = [lines[-1].split(delimiter)[0]] if shape.maybe() else []
    return shape.one(["\n", "\r\n"]).join([*above, delimiter.join(names), *lines, *half]).encode()


def random_table(seed, folder):
    """Write a log in a shape that people use; return its file, and time and position in SI units."""
    shape = Shape(seed)
    time, goal, position = motion(shape)
    names, rows = table(shape, dict([clock(shape, time), *angles(shape, goal, position)]))
    kind = shape.one(KINDS)
    path = folder / f"{shape.one(STEMS)}.{kind}"
    arrays = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    if kind == "json":
        records = {"log": [dict(zip(names, row, strict=True)) for row in rows]}
        path.write_text(json.dumps(shape.one([arrays, records])))
    elif kind == "npz":
        gaps = {name: [np.nan if value is None else value for value in values] for name, values in arrays.items()}
        np.savez(path, **{name.replace("/", "."): np.array(values) for name, values in gaps.items()})
    elif kind == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
        parquet.write_table(pytest.importorskip("pyarrow").table(arrays), path)
    else:
        content = text(shape, names, rows, "\t" if kind == "tsv" else shape.one(",;;\t"))
        path.write_bytes(gzip.compress(content) if kind == "csv.gz" else content)
    return path, time, position


@pytest.mark.parametrize("seed", range(100))
def test_the_command_proposed_for_a_random_table_imports_it(tmp_path, bench, seed):
    path, time, position = random_table(seed, tmp_path)
    for run in imported(bench, path, tmp_path / "lab"):
        np.testing.assert_allclose(np.ptp(run.time), np.ptp(time), rtol=0.02)
        np.testing.assert_allclose(np.ptp(run.position), np.ptp(position), rtol=0.02)
