"""A fleet as the window shows it: plain data that loads neither the compiler nor scipy when it arrives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.fleet.plan import FleetRequest
from core.units import AngleUnit, fixed, significant, with_uncertainty

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterSummary:
    """One parameter of one model over the units, SI units."""

    name: str
    symbol: str
    unit: str
    values: Array
    """(units,); NaN where a unit has not got the model."""
    half_widths: Array
    """Of the 95 % intervals, (units,); infinite where a unit's runs do not determine the value."""
    catalogue: float
    """Value of the servo's model in the catalogue; NaN without one."""
    share: bool = False
    """Whether deviations are shares of the value."""
    centre: float = float("nan")
    """Of the population; NaN without one."""
    between: float = float("nan")
    """Standard deviation between units, as a share or in the unit; NaN where it is unknown."""
    between_interval: tuple[float, float] = (float("nan"), float("nan"))
    uncertainty: float = float("nan")
    """Of one unit's value, as `between`."""
    band: tuple[float, float] = (float("nan"), float("nan"))
    """Values between which 95 % of the units are expected."""
    differs: bool = False
    """Whether the units differ more than their intervals explain."""

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Which units' runs determine it, (units,)."""
        return np.isfinite(self.values) & np.isfinite(self.half_widths)

    @property
    def median(self) -> float:
        """Of the determined values, else of all; NaN without any."""
        known = self.determined if self.determined.any() else np.isfinite(self.values)
        return float(np.median(self.values[known])) if known.any() else float("nan")

    def shown_in(self, angle: AngleUnit) -> tuple[float, str]:
        """Factor and unit of its values on the screen; the unit is empty for a pure number."""
        if self.unit == "rad" or self.unit.startswith("rad/"):
            return angle.per_radian, angle.symbol + self.unit[3:]
        return 1.0, "" if self.unit == "1" else self.unit

    def value_in_words(self, place: int, angle: AngleUnit) -> str:
        """Value of a unit with its interval."""
        factor, unit = self.shown_in(angle)
        value, half = factor * float(self.values[place]), factor * float(self.half_widths[place])
        return with_uncertainty(value, half, unit)

    def deviation_in_words(self, deviation: float, angle: AngleUnit) -> str:
        """A standard deviation, e.g. "4.1 %"."""
        if not np.isfinite(deviation):
            return fixed(deviation, 1)
        if self.share:
            return f"{significant(100.0 * deviation, 2)} %"
        factor, unit = self.shown_in(angle)
        return f"{significant(factor * deviation, 2)}" + (f" {unit}" if unit else "")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something in which a unit is unlike the others."""

    parameter: str
    """Empty for an error."""
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelSummary:
    """One friction model over the units; errors (units,) in rad, NaN where there is none."""

    friction: str
    train: Array
    validation: Array
    parameters: tuple[ParameterSummary, ...]
    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)
    """Unit → in what it is unlike the others."""
    note: str = ""
    """Why nothing is said of the units as a population; empty when there is."""


@dataclass(frozen=True, kw_only=True)
class UnitSummary:
    """One unit."""

    name: str
    session: str
    """Path."""
    runs: int
    tasks: int
    done: int
    best: str
    """Friction model recommended for it alone; empty while there is none."""
    problem: str = ""
    """Why it cannot be fitted."""
    damage: str = ""
    """Sentence about runs of its session that could not be read."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TransferSummary:
    """Errors of each unit's model on every unit's recordings."""

    friction: str
    units: tuple[str, ...]
    errors: Array
    """[rad], (units, units): row fitted to, column judged on; infinite where it diverges."""
    alike: tuple[int, ...]
    """Places of the units in an order that puts similar ones beside each other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FleetSummary:
    """A fleet as far as it has come."""

    folder: Path
    request: FleetRequest
    units: tuple[UnitSummary, ...]
    models: Mapping[str, ModelSummary]
    recommended: str
    """Friction model for the whole fleet; empty while there is none."""
    choice: str
    """Why, in words."""
    transfer: TransferSummary | None
    problems: tuple[str, ...] = ()
    """What could not be said of the fleet, in words."""

    @property
    def servo(self) -> str:
        """Catalogue name."""
        return self.request.fit.servo

    @property
    def tasks(self) -> int:
        """Fits there are to be."""
        return sum(unit.tasks for unit in self.units)

    @property
    def done(self) -> int:
        """Fits that are there."""
        return sum(unit.done for unit in self.units)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Where its recordings are."""
        return tuple(dict.fromkeys(unit.session for unit in self.units))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Unit → its place among the units."""
        return {unit.name: place for place, unit in enumerate(self.units)}
