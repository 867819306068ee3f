"""Spread of one parameter over the units of a fleet, separated from the uncertainty of each unit's value.

The observed spread of a parameter is its spread between units plus the uncertainty of each unit's value. The two are
separated as in a random-effects meta-analysis (DerSimonian and Laird 1986). Each squared deviation from the centre is
divided by the variance between units plus the unit's own squared standard error. The variance between units is the one
for which these ratios sum to their expectation (Paule and Mandel 1982, who solve for it, where DerSimonian and Laird
take one step). Its 95 % interval is where that sum is a likely χ² (Viechtbauer 2007). With equal standard errors both
equal the observed variance minus the squared standard error.

Coordinates are logarithms for parameters that must be positive, because specimens differ by factors. This includes
parameters that may be 0, if every unit's value is clear of 0. Other parameters, with a sign or at or near 0 in some
unit, use the plain value, and draws are clipped at the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import root_scalar
from scipy.stats import chi2

from core.base.arrays import Array
from core.base.json_fields import ArrayOrInfinite, OrInfinite, OrUnknown, from_plain, plain_fields
from core.base.units import as_certain, significant
from core.base.words import counted
from core.identification.evidence.model import NORMAL_95
from core.servo.terms import physical_limits

LOGARITHMIC, LINEAR = "logarithmic", "linear"
FEWEST = 3
"""Smallest number of units for a spread."""
CLEAR = 2.0
"""Distance from 0, in standard errors, at which a value is clear of it."""
LEVEL = 0.95
_SMALLEST = 1e-12
"""Smallest standard error in the coordinate: data without noise determine a value exactly."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterSpread:
    """Spread of one free parameter over the units; SI units."""

    name: str
    symbol: str
    unit: str
    coordinate: str
    """LOGARITHMIC or LINEAR."""
    lower: float
    """Bounds of the search, the widest of all units."""
    upper: float
    values: Array
    """Value of each unit, shape (units,)."""
    errors: ArrayOrInfinite
    """Standard error of each unit's value, shape (units,); infinite if its runs do not determine it."""
    centre: float
    """Mean of the determined values in the coordinate, weighted by 1/(variance between units + squared standard
    error); for logarithms this is a geometric mean. Median of all values if fewer than FEWEST units determine it."""
    centre_error: OrInfinite
    """Standard error of the centre, in the coordinate; infinite if the centre is a median."""
    between: float
    """Standard deviation between units in the coordinate: a share, or in the parameter's unit. 0 if unknown."""
    between_interval: tuple[float, OrInfinite]
    """95 % interval of `between`; (0, infinite) if unknown."""
    differing: OrUnknown
    """Probability of differences this large if all units were equal (p-value); NaN if unknown."""

    @property
    def determined(self) -> NDArray[np.bool_]:
        """True for units whose runs determine the parameter, shape (units,)."""
        return np.isfinite(self.errors)

    @property
    def known(self) -> bool:
        """True if enough units determine the parameter."""
        return int(self.determined.sum()) >= FEWEST

    @property
    def differs(self) -> bool:
        """True if the units differ more than their intervals explain."""
        return self.differing < 1.0 - LEVEL

    @property
    def coordinates(self) -> Array:
        """Values in the coordinate, shape (units,)."""
        return self.to_coordinate(self.values)

    @property
    def coordinate_errors(self) -> Array:
        """Standard errors in the coordinate, shape (units,)."""
        scale = np.maximum(self.values, np.finfo(np.float64).tiny) if self.coordinate == LOGARITHMIC else 1.0
        return np.maximum(self.errors / scale, _SMALLEST)

    @property
    def uncertainty(self) -> float:
        """Root mean square of the determined values' standard errors in the coordinate; infinite if none is."""
        errors = self.coordinate_errors[self.determined]
        return float(np.sqrt(np.mean(errors**2))) if len(errors) else math.inf

    @property
    def median(self) -> float:
        """Median of the determined values; of all values if none is determined."""
        return float(np.median(self.values[self.determined] if self.determined.any() else self.values))

    @property
    def mean(self) -> float:
        """Plain mean of the determined values; of all values if none is determined."""
        return float(np.mean(self.values[self.determined] if self.determined.any() else self.values))

    def to_coordinate(self, values: ArrayLike) -> Array:
        """Convert values to the coordinate."""
        return (
            np.log(np.maximum(values, 1e-300))
            if self.coordinate == LOGARITHMIC
            else np.asarray(values, dtype=np.float64)
        )

    def from_coordinate(self, coordinates: ArrayLike) -> Array:
        """Invert `to_coordinate`, clipped at the bounds."""
        plain = np.exp(coordinates) if self.coordinate == LOGARITHMIC else coordinates
        return np.clip(plain, self.lower, self.upper)

    def in_words(self, deviation: float) -> str:
        """Format a standard deviation of the coordinate, e.g. "4.1 %" or "0.012 N·m"."""
        if self.coordinate == LOGARITHMIC:
            return f"{significant(100.0 * deviation, 2)} %"
        return f"{significant(deviation, 2)}{'' if self.unit == '1' else f' {self.unit}'}"

    def half_width(self, error: float) -> float:
        """Half width of the 95 % interval that a standard error of the coordinate means at the centre, in the unit."""
        return NORMAL_95 * error * (self.centre if self.coordinate == LOGARITHMIC else 1.0)

    @property
    def text(self) -> str:
        """Centre, spread between units and uncertainty in one sentence."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        count = f"{int(self.determined.sum())} of {counted(len(self.values), 'unit')}"
        shown = as_certain(self.centre, self.half_width(self.centre_error))
        if not self.known:
            return f"{self.symbol} = {shown}{unit}, determined in {count} only: its spread is unknown"
        low, high = self.between_interval
        centre = f"{self.symbol} = {shown}{unit} over {count}"
        own = f"values are certain to {self.in_words(self.uncertainty)}"
        if not self.differs:
            return f"{centre}: units do not differ by more than their intervals; {own}, the spread is below " + (
                self.in_words(high)
            )
        interval = f"{self.in_words(low)} … {self.in_words(high)}"
        return f"{centre}: units differ by {self.in_words(self.between)} ({interval}), {own}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for infinite and unknown numbers."""
        data = plain_fields(self)
        first = ("name", "symbol", "unit", "coordinate", "lower", "upper", "values")
        settled = {name: data.pop(name) for name in first}
        errors = {"standard_errors": data.pop("errors"), "median": self.median, "mean": self.mean}
        return {**settled, **errors, **data, "text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterSpread:
        """Invert `to_json`; raise KeyError, TypeError, ValueError or OverflowError for anything else."""
        if data["coordinate"] not in (LOGARITHMIC, LINEAR):
            raise ValueError(f"no coordinate {data['coordinate']!r}")
        return from_plain(cls, {**data, "errors": data["standard_errors"]})


def parameter_spread(
    name: str, values: Array, errors: Array, *, symbol: str, unit: str, bounds: tuple[float, float]
) -> ParameterSpread:
    """Separate the spread between units from the uncertainty of each value.

    Args:
        name: Name of the parameter.
        values: Value of each unit, shape (units,).
        errors: Standard error of each value, shape (units,). Infinite values are undetermined and do not count.
        symbol: Symbol of the parameter.
        unit: Unit of the parameter.
        bounds: Bounds of the search.
    """
    errors = np.where(np.isfinite(errors), errors, math.inf)
    low, _, included = physical_limits(name)
    determined = np.isfinite(errors)
    positive = low == 0.0 and (not included or bool(np.all(values[determined] > CLEAR * errors[determined])))
    positive = positive and bool(np.all(values[determined] > 0.0)) and bool(determined.any())
    settled: dict[str, Any] = {
        "name": name,
        "symbol": symbol,
        "unit": unit,
        "coordinate": LOGARITHMIC if positive else LINEAR,
        "lower": bounds[0],
        "upper": bounds[1],
        "values": values,
        "errors": errors,
    }
    unknown = ParameterSpread(
        **settled,
        centre=float(np.median(values)),
        centre_error=math.inf,
        between=0.0,
        between_interval=(0.0, math.inf),
        differing=math.nan,
    )
    if not unknown.known:
        return unknown
    seen, variances = unknown.coordinates[determined], unknown.coordinate_errors[determined] ** 2
    freedom = len(seen) - 1
    between = _variance_at(freedom, seen, variances)
    weights = 1.0 / (variances + between)
    ends = [_variance_at(float(chi2.ppf(p, freedom)), seen, variances) for p in (0.5 + LEVEL / 2, 0.5 - LEVEL / 2)]
    return ParameterSpread(
        **settled,
        centre=float(unknown.from_coordinate(weights @ seen / weights.sum())),
        centre_error=float(1.0 / math.sqrt(weights.sum())),
        between=math.sqrt(between),
        between_interval=(math.sqrt(ends[0]), math.sqrt(ends[1])),
        differing=float(chi2.sf(_deviance(0.0, seen, variances), freedom)),
    )


def _deviance(between: float, seen: Array, variances: Array) -> float:
    """Return the sum of squared deviations from the centre over their variances: χ² if `between` is true."""
    weights = 1.0 / (variances + between)
    centre = weights @ seen / weights.sum()
    return float(weights @ (seen - centre) ** 2)


def _variance_at(target: float, seen: Array, variances: Array) -> float:
    """Return the variance between units at which the falling deviance is `target`; 0 if it starts below."""

    def excess(between: float) -> float:
        return _deviance(between, seen, variances) - target

    if excess(0.0) <= 0.0:
        return 0.0
    above = float(np.ptp(seen)) ** 2
    while excess(above) > 0.0:
        above *= 2.0
    return float(root_scalar(excess, bracket=(0.0, above), method="brentq", xtol=1e-12 * above, rtol=1e-10).root)
