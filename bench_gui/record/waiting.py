"""Waiting runs of the queue as JSON data, for the next start of the window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from bench_gui.state.setup import Gains
from core.base.errors import InputError
from core.base.guards import is_array, is_finite
from core.motion.recording import DIRECTIONS, RunHeader, run_header
from core.motion.trajectories import Trajectory, make_trajectory
from core.practice.plan import Cell
from core.servo.bench import Bench
from core.servo.catalogue import load_servo


def waiting_to_json(runs: Iterable[tuple[Trajectory, RunHeader, Cell | None]]) -> list[dict[str, Any]]:
    """Return plain data for a file."""
    return [
        {
            "trajectory": trajectory.name,
            "duration": trajectory.duration,
            "parameters": trajectory.parameters.numbers(),
            "bench": header.bench.to_json(),
            "servo": header.settings.servo,
            "gains": asdict(Gains.of(header.settings)),
            "rate": header.rate,
            "address": header.provenance["servo_address"],
            "direction": header.provenance["positive_direction"],
            "cell": None if cell is None else asdict(cell),
        }
        for trajectory, header, cell in runs
    ]


def waiting_from_json(data: Any) -> list[tuple[Trajectory, RunHeader, Cell | None]]:
    """Inverse of `waiting_to_json`.

    Raises:
        ServoBenchError, LookupError, TypeError, ValueError, AttributeError: The data is not such a list.
    """
    if not is_array(data):
        raise InputError("queued runs: this is not a list")
    return [_run(entry) for entry in data]


def _run(entry: dict[str, Any]) -> tuple[Trajectory, RunHeader, Cell | None]:
    trajectory = make_trajectory(entry["trajectory"], entry["duration"], **entry["parameters"])
    settings = Gains.from_json(entry["gains"]).settings(load_servo(entry["servo"]))
    direction = {text: number for number, text in DIRECTIONS.items()}[entry["direction"]]
    cell = None if entry["cell"] is None else Cell(**entry["cell"])
    numbers = (entry["rate"], *((cell.length, cell.mass, cell.kp, cell.repetition) if cell is not None else ()))
    if not all(is_finite(number) and number > 0.0 for number in numbers):
        raise InputError(f"queued run: {numbers} must be positive numbers")
    bench = Bench.from_json(entry["bench"])
    return trajectory, run_header(trajectory, bench, settings, entry["rate"], entry["address"], direction), cell
