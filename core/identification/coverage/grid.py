"""Recorded conditions: trajectory, load, gain and supply, with the number of runs of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.base.json_fields import from_plain, plain
from core.identification.runs.grouping import SAME_DIGITS
from core.motion.recording import Recording

CONDITIONS = ("trajectory", "mass", "length", "kp", "supply_voltage")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One condition: name, kg, m, the servo's unit, V, and the number of its runs."""

    trajectory: str
    mass: float
    length: float
    kp: float
    supply_voltage: float
    count: int


@dataclass(frozen=True, kw_only=True)
class ConditionGrid:
    """Every recorded condition, rising by load, gain, supply, then trajectory."""

    cells: tuple[Cell, ...]

    @property
    def loads(self) -> tuple[tuple[float, float], ...]:
        """Mass [kg] and length [m] of each load."""
        return tuple(sorted({(cell.mass, cell.length) for cell in self.cells}))

    @property
    def gains(self) -> tuple[float, ...]:
        """Values of kp."""
        return tuple(sorted({cell.kp for cell in self.cells}))

    @property
    def supplies(self) -> tuple[float, ...]:
        """Nominal supply voltages [V]."""
        return tuple(sorted({cell.supply_voltage for cell in self.cells}))

    @property
    def trajectories(self) -> tuple[str, ...]:
        """Names of the trajectories."""
        return tuple(sorted({cell.trajectory for cell in self.cells}))

    @property
    def possible(self) -> int:
        """Number of cells in the full product of the recorded values."""
        return len(self.loads) * len(self.gains) * len(self.supplies) * len(self.trajectories)

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain data."""
        return plain(self.cells)

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> ConditionGrid:
        """Read the data of `to_json`."""
        return from_plain(cls, {"cells": data})


def grid_of_conditions(recordings: Sequence[Recording]) -> ConditionGrid:
    """Count the runs of each condition; numbers that agree to SAME_DIGITS digits are the same."""
    counts = Counter(_condition_of(recording) for recording in recordings)
    order = sorted(counts, key=lambda c: (c[1], c[2], c[3], c[4], c[0]))
    return ConditionGrid(
        cells=tuple(Cell(**dict(zip(CONDITIONS, values, strict=True)), count=counts[values]) for values in order)
    )


def _condition_of(recording: Recording) -> tuple[Any, ...]:
    """Values of CONDITIONS."""
    known = recording.conditions()
    return tuple(v if isinstance(v, str) else float(f"{v:.{SAME_DIGITS}g}") for v in (known[c] for c in CONDITIONS))
