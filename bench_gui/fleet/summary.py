"""A fleet as the window shows it: plain data that needs neither the compiler nor scipy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.base.units import AngleUnit, fixed, significant, with_uncertainty
from core.fleet.plan import FleetRequest

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterSummary:
    """One parameter of one model over the units, in SI units."""

    name: str
    symbol: str
    unit: str
    values: Array
    """(units,); NaN if a unit does not have the model."""
    half_widths: Array
    """Half widths of the 95 % intervals, (units,); infinite if a unit's runs do not determine the value."""
    catalogue: float
    """Value of the servo's model in the catalogue; NaN if there is none."""
    share: bool = False
    """True if deviations are shares of the value."""
    centre: float = float("nan")
    """Centre of the population; NaN if there is none."""
    centre_half: float = float("nan")
    """Half width of its 95 % interval; infinite if too few units determine the value."""
    between: float = float("nan")
    """Standard deviation between units, as a share or in the unit; NaN if unknown."""
    between_interval: tuple[float, float] = (float("nan"), float("nan"))
    uncertainty: float = float("nan")
    """Standard error of one unit's value, in the form of `between`."""
    band: tuple[float, float] = (float("nan"), float("nan"))
    """Values between which 95 % of the units are expected."""
    differs: bool = False
    """True if the units differ more than their intervals explain."""

    @property
    def determined(self) -> NDArray[np.bool_]:
        """True for each unit whose runs determine the value, (units,)."""
        return np.isfinite(self.values) & np.isfinite(self.half_widths)

    @property
    def median(self) -> float:
        """Median of the determined values, or of all if there are none; NaN without any value."""
        known = self.determined if self.determined.any() else np.isfinite(self.values)
        return float(np.median(self.values[known])) if known.any() else float("nan")

    def shown_in(self, angle: AngleUnit) -> tuple[float, str]:
        """Return factor and unit of displayed values; the unit is empty for a pure number."""
        if self.unit == "rad" or self.unit.startswith("rad/"):
            return angle.per_radian, angle.symbol + self.unit[3:]
        return 1.0, "" if self.unit == "1" else self.unit

    def value_in_words(self, place: int, angle: AngleUnit) -> str:
        """Return the value of a unit with its interval."""
        factor, unit = self.shown_in(angle)
        value, half = factor * float(self.values[place]), factor * float(self.half_widths[place])
        return with_uncertainty(value, half, unit)

    def deviation_in_words(self, deviation: float, angle: AngleUnit) -> str:
        """Return a standard deviation as text, for example "4.1 %"."""
        if not np.isfinite(deviation):
            return fixed(deviation, 1)
        if self.share:
            return f"{significant(100.0 * deviation, 2)} %"
        factor, unit = self.shown_in(angle)
        return f"{significant(factor * deviation, 2)}" + (f" {unit}" if unit else "")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A parameter or error in which a unit is an outlier."""

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
    """Unit → what makes it an outlier."""
    note: str = ""
    """Reason why the units are not treated as a population; empty if they are."""


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
    """Reason why it cannot be fitted."""
    damage: str = ""
    """Sentence about unreadable runs of its session."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TransferSummary:
    """Errors of each unit's model on every unit's recordings."""

    friction: str
    units: tuple[str, ...]
    errors: Array
    """[rad], (units, units): row fitted to, column scored on; infinite where it diverges."""
    alike: tuple[int, ...]
    """Indices of the units in an order that puts similar ones beside each other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FleetSummary:
    """A fleet, as far as it has been computed."""

    folder: Path
    request: FleetRequest
    units: tuple[UnitSummary, ...]
    models: Mapping[str, ModelSummary]
    recommended: str
    """Friction model for the whole fleet; empty while there is none."""
    choice: str
    """Reason for the choice, as text."""
    transfer: TransferSummary | None
    problems: tuple[str, ...] = ()
    """Results that could not be computed for the fleet, as text."""

    @property
    def servo(self) -> str:
        """Catalogue name."""
        return self.request.fit.servo

    @property
    def tasks(self) -> int:
        """Total number of fits."""
        return sum(unit.tasks for unit in self.units)

    @property
    def done(self) -> int:
        """Number of finished fits."""
        return sum(unit.done for unit in self.units)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Paths of its recordings."""
        return tuple(dict.fromkeys(unit.session for unit in self.units))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Unit → its index."""
        return {unit.name: place for place, unit in enumerate(self.units)}
