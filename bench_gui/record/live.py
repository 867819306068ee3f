"""Samples of the present run, for its plots and its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.recorder import Phase

Array = NDArray[np.float64]
COLUMNS = (
    "time",
    "goal_position",
    "position",
    "velocity",
    "current",
    "duty_cycle",
    "supply_voltage",
    "temperature",
)
START_CAPACITY = 4096


class LiveRun:
    """Buffer that grows by doubling; plots use views of it, never copies of the whole."""

    def __init__(self, columns: tuple[str, ...] = COLUMNS) -> None:
        """Create an empty buffer.

        Args:
            columns: Channels to keep; the first is the time.
        """
        self._columns = {name: np.empty(START_CAPACITY) for name in columns}
        self.count = 0

    def clear(self) -> None:
        """Start a new run."""
        self.count = 0

    def take(self, rows: NDArray[Any]) -> bool:
        """Keep the live rows that are samples of a run; return True if there were any."""
        samples = rows[rows["phase"] == Phase.RUN]
        samples = samples[np.isfinite(samples["time"])]
        if not len(samples):
            return False
        needed = self.count + len(samples)
        capacity = len(self._columns["time"])
        if needed > capacity:
            size = max(needed, 2 * capacity)
            for name, column in self._columns.items():
                grown = np.empty(size)
                grown[: self.count] = column[: self.count]
                self._columns[name] = grown
        for name, column in self._columns.items():
            column[self.count : needed] = samples[name]
        self.count = needed
        return True

    def column(self, name: str) -> Array:
        """One channel of the run so far, (n,)."""
        return self._columns[name][: self.count]

    def has(self, name: str) -> bool:
        """Return True if the servo reports this channel."""
        return bool(np.isfinite(self.column(name)).any())
