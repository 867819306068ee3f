"""Registers as real servos report them, decoded by the control table: the logs of `data/feetech`, 10 rows a second.

How these logs were made is not known. What they must agree with is mechanics: a position that grows has a positive
speed, and the duty cycle that begins a motion has its direction.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from drivers.emulators.feetech.sts_series import SPEED_STEP
from drivers.serial_bus.table import load_table

LOGS = Path(__file__).parents[5] / "shared/data/feetech"
FILES = ("comp2", "nocomp2", "pgain_zero_db", "single", "single_3250")
COLUMNS = {"pos": "position", "speed": "velocity", "load": "load", "current": "current"}
FAR = 50
"""Distance from the goal at which a servo cannot be about to stop [counts]."""
FAST = 200
"""Speed at which a servo cannot be about to turn round [counts/s]."""
STS = load_table("sts")

pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="needs the logs of Feetech servos in ../shared/data/feetech")


@dataclass(frozen=True)
class Row:
    time: float
    target: int
    position: int
    velocity: int
    load: int
    current: int


def decoded(name: str, raw: str) -> int:
    register = STS[f"present_{name}"]
    return register.decode(int(raw).to_bytes(register.size, register.byte_order))


def servos(name: str) -> list[list[Row]]:
    """Rows of each servo."""
    with (LOGS / f"telemetry_{name}.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    return [
        [
            Row(
                datetime.fromisoformat(row["timestamp"]).timestamp(),
                int(row[f"target pos {id}"]),
                **{field: decoded(field, row[f"{column} {id}"]) for column, field in COLUMNS.items()},
            )
            for row in rows
            if row[f"pos {id}"] and row[f"target pos {id}"]
        ]
        for id in (column.removeprefix("pos ") for column in rows[0] if column.startswith("pos "))
    ]


@pytest.fixture(params=FILES)
def log(request):
    return servos(request.param)


def test_every_value_is_one_that_its_register_can_have(log):
    """A wrong sign bit makes a duty cycle above 100 %, or a speed that no such servo reaches."""
    rows = [row for rows in log for row in rows]
    assert len(rows) > 500
    assert all(0 <= row.position < STS.units["position_counts"] for row in rows)
    assert all(abs(row.load) <= STS.units["duty_steps"] for row in rows)
    assert all(row.velocity % SPEED_STEP == 0 and abs(row.velocity) < 4000 for row in rows)
    assert all(0 <= row.current < 100 for row in rows)
    assert {row.velocity > 0 for row in rows} == {row.load > 0 for row in rows} == {True, False}


def test_the_speed_has_the_direction_and_size_of_the_motion(log):
    moving = [
        (later.position - row.position, 0.5 * (row.velocity + later.velocity) * (later.time - row.time))
        for rows in log
        for row, later in pairwise(rows)
        if later.time - row.time < 0.15
        and min(abs(row.velocity), abs(later.velocity)) >= FAST
        and row.velocity * later.velocity > 0
    ]
    assert len(moving) > 50
    assert all(way * reported > 0 for way, reported in moving)
    assert sum(abs(reported) for _, reported in moving) == pytest.approx(sum(abs(way) for way, _ in moving), rel=0.15)


def test_the_load_is_opposite_to_the_motion_that_it_accelerates(log):
    """`reversed` in the table: its sign bit is set when the output drives towards larger positions."""
    assert STS["present_load"].reversed
    accelerating = [
        (later.target - later.position) * later.load
        for rows in log
        for row, later in pairwise(rows)
        if abs(later.target - later.position) > FAR
        and abs(later.velocity) > abs(row.velocity)
        and (later.target - later.position) * later.velocity > 0
    ]
    assert len(accelerating) > 50
    assert all(product < 0 for product in accelerating)
