"""One parameter over the units of a fleet: its spread between units apart from the uncertainty of each unit's value.

What is seen of a parameter is its spread between units plus the uncertainty of each unit's value. The two are told
apart as in a random-effects meta-analysis (DerSimonian and Laird 1986): the variance between units is the one at which
the deviations from the centre, each over the variance between units plus the unit's own squared standard error, sum to
their expectation (Paule and Mandel 1982, who solve for it, where DerSimonian and Laird take one step); its 95 %
interval is where that sum is a likely χ² (Viechtbauer 2007). With equal standard errors both are the observed variance
less the squared standard error.

Coordinates: logarithms for what must be positive, and for what may be 0 if every unit's value is clear of it, as
specimens differ by shares; the plain value for what has a sign or lies at or near 0 in some unit, with draws cut off at
the bounds.
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

from core.arrays import Array
from core.plain import ArrayOrInfinite, OrInfinite, OrUnknown, from_plain, plain_fields
from core.terms import physical_limits
from core.words import counted

LOGARITHMIC, LINEAR = "logarithmic", "linear"
FEWEST = 3
"""Units that say something about a spread."""
CLEAR = 2.0
"""Standard errors a value must lie from 0 to be clear of it."""
LEVEL = 0.95
_SMALLEST = 1e-12
"""Of a standard error, in the coordinate: data without any noise determine a value exactly."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterSpread:
    """One free parameter over the units; SI units."""

    name: str
    symbol: str
    unit: str
    coordinate: str
    """LOGARITHMIC or LINEAR."""
    lower: float
    """Bounds it was searched between, the widest of all units."""
    upper: float
    values: Array
    """(units,)"""
    errors: ArrayOrInfinite
    """Standard error of each unit's value, (units,); infinite where its runs do not determine it."""
    centre: float
    """Mean of the determined values in the coordinate, weighted by 1/(variance between units + squared standard
    error); of logarithms that is a geometric mean. The median of all values where fewer than FEWEST units determine
    it."""
    centre_error: OrInfinite
    """Its standard error, in the coordinate; infinite where it is a mere median."""
    between: float
    """Standard deviation between units, in the coordinate: as a share, or in the parameter's unit. 0 where unknown."""
    between_interval: tuple[float, OrInfinite]
    """Its 95 % interval; (0, infinite) where unknown."""
    differing: OrUnknown
    """How likely so large differences are of units that are all alike, by their standard errors; NaN where unknown."""

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Which units' runs determine it, (units,)."""
        return np.isfinite(self.errors)

    @property
    def known(self) -> bool:
        """Whether enough units determine it."""
        return int(self.determined.sum()) >= FEWEST

    @property
    def differs(self) -> bool:
        """Whether the units differ more than their intervals explain."""
        return self.differing < 1.0 - LEVEL

    @property
    def coordinates(self) -> Array:
        """Values in the coordinate, (units,)."""
        return self.to_coordinate(self.values)

    @property
    def coordinate_errors(self) -> Array:
        """Standard errors in the coordinate, (units,)."""
        scale = np.maximum(self.values, np.finfo(np.float64).tiny) if self.coordinate == LOGARITHMIC else 1.0
        return np.maximum(self.errors / scale, _SMALLEST)

    @property
    def uncertainty(self) -> float:
        """Root mean square of the determined values' standard errors, in the coordinate; infinite without any."""
        errors = self.coordinate_errors[self.determined]
        return float(np.sqrt(np.mean(errors**2))) if len(errors) else math.inf

    @property
    def median(self) -> float:
        """Of the values that are determined; of all where none is."""
        return float(np.median(self.values[self.determined] if self.determined.any() else self.values))

    @property
    def mean(self) -> float:
        """Plain mean of the values that are determined; of all where none is."""
        return float(np.mean(self.values[self.determined] if self.determined.any() else self.values))

    def to_coordinate(self, values: ArrayLike) -> Array:
        """Values in the coordinate."""
        return (
            np.log(np.maximum(values, 1e-300))
            if self.coordinate == LOGARITHMIC
            else np.asarray(values, dtype=np.float64)
        )

    def from_coordinate(self, coordinates: ArrayLike) -> Array:
        """Inverse of `to_coordinate`, cut off at the bounds."""
        plain = np.exp(coordinates) if self.coordinate == LOGARITHMIC else coordinates
        return np.clip(plain, self.lower, self.upper)

    def in_words(self, deviation: float) -> str:
        """A standard deviation of the coordinate, e.g. "4.1 %" or "0.012 N·m"."""
        if self.coordinate == LOGARITHMIC:
            return f"{100.0 * deviation:.2g} %"
        return f"{deviation:.2g}{'' if self.unit == '1' else f' {self.unit}'}"

    @property
    def text(self) -> str:
        """One sentence: centre, spread between units and uncertainty."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        count = f"{int(self.determined.sum())} of {counted(len(self.values), 'unit')}"
        if not self.known:
            return f"{self.symbol} = {self.centre:.4g}{unit}, determined in {count} only: its spread is not known"
        low, high = self.between_interval
        centre = f"{self.symbol} = {self.centre:.4g}{unit} over {count}"
        own = f"values are certain to {self.in_words(self.uncertainty)}"
        if not self.differs:
            return f"{centre}: units do not differ by more than their intervals; {own}, the spread is below " + (
                self.in_words(high)
            )
        interval = f"{self.in_words(low)} … {self.in_words(high)}"
        return f"{centre}: units differ by {self.in_words(self.between)} ({interval}), {own}"

    def to_json(self) -> dict[str, Any]:
        """Plain data; null for what is infinite or unknown."""
        data = plain_fields(self)
        first = ("name", "symbol", "unit", "coordinate", "lower", "upper", "values")
        settled = {name: data.pop(name) for name in first}
        errors = {"standard_errors": data.pop("errors"), "median": self.median, "mean": self.mean}
        return {**settled, **errors, **data, "text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterSpread:
        """Inverse of `to_json`; raises KeyError, TypeError, ValueError, OverflowError."""
        if data["coordinate"] not in (LOGARITHMIC, LINEAR):
            raise ValueError(f"no coordinate {data['coordinate']!r}")
        return from_plain(cls, {**data, "errors": data["standard_errors"]})


def parameter_spread(
    name: str, values: Array, errors: Array, *, symbol: str, unit: str, bounds: tuple[float, float]
) -> ParameterSpread:
    """Separate the spread between units from the uncertainty of each value.

    values: (units,); errors: their standard errors, infinite where a value is not determined, which then counts for
    nothing; bounds: of the search.
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
    """Sum over units of squared deviations from the centre over their variances: χ² if `between` is the true one."""
    weights = 1.0 / (variances + between)
    centre = weights @ seen / weights.sum()
    return float(weights @ (seen - centre) ** 2)


def _variance_at(target: float, seen: Array, variances: Array) -> float:
    """Variance between units at which the deviance, which falls with it, is `target`; 0 where it is less already."""

    def excess(between: float) -> float:
        return _deviance(between, seen, variances) - target

    if excess(0.0) <= 0.0:
        return 0.0
    above = float(np.ptp(seen)) ** 2
    while excess(above) > 0.0:
        above *= 2.0
    return float(root_scalar(excess, bracket=(0.0, above), method="brentq", xtol=1e-12 * above, rtol=1e-10).root)
