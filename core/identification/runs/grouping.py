"""Errors of runs by shared conditions: trajectory, load, gain, or two of them as a grid.

It works on plain numbers, so the window's tables and `bench evaluate --by` group alike without any simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError

Value = str | float

CONDITIONS: dict[str, tuple[str, str]] = {
    "trajectory": ("Trajectory", ""),
    "mass": ("Load", "kg"),
    "length": ("Length", "m"),
    "arm_mass": ("Arm mass", "kg"),
    "kp": ("Gain kp", ""),
    "ki": ("Gain ki", ""),
    "kd": ("Gain kd", ""),
    "supply_voltage": ("Supply", "V"),
    "servo": ("Servo", ""),
}
"""Title and unit of the conditions by which runs can be grouped; gains are in the servo's own unit."""

SAME_DIGITS = 6
"""Numbers that agree in this many significant digits are the same condition."""


@dataclass(frozen=True)
class Group:
    """Runs that share the values of the conditions by which they are grouped."""

    values: tuple[Value, ...]
    runs: tuple[str, ...]

    def mean(self, errors: Mapping[str, float]) -> float | None:
        """Return the mean error of the runs; `errors` are by run id. None if no run has one."""
        known = [errors[run] for run in self.runs if math.isfinite(errors.get(run, math.nan))]
        return sum(known) / len(known) if known else None


@dataclass(frozen=True)
class Grid:
    """Groups by two conditions, laid out as a table."""

    by: tuple[str, str]
    rows: tuple[Value, ...]
    columns: tuple[Value, ...]
    cells: Mapping[tuple[Value, ...], Group]
    """Runs by (row, column); cells without recordings are absent."""

    def means(self, errors: Mapping[str, float]) -> Array:
        """Return mean errors, (rows, columns); NaN where there is none."""
        found = np.full((len(self.rows), len(self.columns)), np.nan)
        for i, row in enumerate(self.rows):
            for k, column in enumerate(self.columns):
                group = self.cells.get((row, column))
                mean = group.mean(errors) if group is not None else None
                if mean is not None:
                    found[i, k] = mean
        return found


def group_runs(runs: Mapping[str, Mapping[str, Value]], by: Sequence[str]) -> tuple[Group, ...]:
    """Divide runs, conditions by id, into groups: numbers rising, texts in alphabetical order.

    Raises:
        InputError: A condition does not exist.
    """
    wrong = [name for name in by if name not in CONDITIONS]
    if wrong or not by:
        raise InputError(f"no condition {', '.join(wrong) or 'given'}; runs can be grouped by {', '.join(CONDITIONS)}")
    found: dict[tuple[Value, ...], list[str]] = {}
    for run, conditions in runs.items():
        found.setdefault(tuple(_rounded(conditions[name]) for name in by), []).append(run)
    order = sorted(found, key=lambda values: [(isinstance(v, str), v) for v in values])
    return tuple(Group(values, tuple(found[values])) for values in order)


def grid_of(runs: Mapping[str, Mapping[str, Value]], row: str, column: str) -> Grid:
    """Lay out runs by two conditions.

    Raises:
        InputError: A condition does not exist.
    """
    groups = group_runs(runs, (row, column))
    rows = tuple(group.values[0] for group in group_runs(runs, (row,)))
    columns = tuple(group.values[0] for group in group_runs(runs, (column,)))
    return Grid((row, column), rows, columns, {group.values: group for group in groups})


def named(condition: str, value: Value) -> str:
    """Return a value as displayed text, e.g. "0.741 kg", "kp 200", "sin_sin"."""
    if isinstance(value, str):
        return value
    title, unit = CONDITIONS[condition]
    if unit:
        return f"{value:g} {unit}"
    return f"{title.split()[-1]} {value:g}"


def heading(condition: str) -> str:
    """Return a condition with its unit, e.g. "Load [kg]"."""
    title, unit = CONDITIONS[condition]
    return f"{title} [{unit}]" if unit else title


def _rounded(value: Value) -> Value:
    return value if isinstance(value, str) else float(f"{value:.{SAME_DIGITS}g}")
