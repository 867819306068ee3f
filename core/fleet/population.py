"""A fleet as one kind of servo: each parameter's centre and spread over the units, and their correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import from_plain, plain_fields
from core.base.words import counted
from core.fleet.parameter_spread import FEWEST, ParameterSpread, parameter_spread
from core.fleet.result import UnitResult


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Distribution of one friction model over the units of a fleet."""

    servo: str
    friction: str
    units: tuple[str, ...]
    parameters: tuple[ParameterSpread, ...]
    """Free parameters, in the model's order."""
    correlation: Array
    """Correlation of the units' coordinates, shape (parameters, parameters), shrunk. Rows of parameters without a
    spread are those of the identity matrix."""
    shrinkage: float
    """Share by which correlations were shrunk towards 0, because few units determine them poorly."""

    def of(self, name: str) -> ParameterSpread:
        """Return the spread of one parameter."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    @property
    def covariance(self) -> Array:
        """Covariance between units in the coordinates, shape (parameters, parameters).

        Standard errors of one unit's values do not reveal how their errors are correlated. A trade-off that the runs
        leave open is therefore part of the correlations, and draws vary along it as the fits do.
        """
        deviations = np.array([parameter.between for parameter in self.parameters])
        return deviations[:, None] * self.correlation * deviations

    @property
    def strongest(self) -> tuple[tuple[str, str, float], ...]:
        """Pairs of symbols with their correlation, strongest first, without parameters that have no spread."""
        pairs = [
            (first.symbol, second.symbol, float(self.correlation[i, i + 1 + k]))
            for i, first in enumerate(self.parameters)
            for k, second in enumerate(self.parameters[i + 1 :])
            if first.between > 0.0 and second.between > 0.0
        ]
        return tuple(sorted(pairs, key=lambda pair: -abs(pair[2])))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**plain_fields(self), "covariance": self.covariance.tolist()}

    @classmethod
    @reading_json("a population", IdentificationError)
    def from_json(cls, data: Any) -> Population:
        """Invert `to_json`; raise IdentificationError for anything else."""
        read = from_plain(cls, data)
        correlation, parameters, count = read.correlation, read.parameters, len(read.units)
        if correlation.shape != (len(parameters),) * 2 or not np.isfinite(correlation).all():
            raise ValueError(f"{correlation.shape} correlations of {len(parameters)} parameters")
        if any(p.values.shape != (count,) or p.errors.shape != (count,) for p in parameters):
            raise ValueError(f"a parameter does not have the values of {count} units")
        return read


def population(units: Sequence[UnitResult], friction: str) -> Population:
    """Describe one friction model over the units that have it; raise IdentificationError below FEWEST units."""
    results = {unit.facts.name: unit.results[friction] for unit in units if friction in unit.results}
    if len(results) < FEWEST:
        raise IdentificationError(
            f"{counted(len(results), 'unit')} with {friction.upper()}: too few for a population; fit at least {FEWEST}"
        )
    models = [result.model for result in results.values()]
    parameters: list[ParameterSpread] = []
    for free in models[0].parameters.free:
        own = [model.parameters[free.name] for model in models]
        parameters.append(
            parameter_spread(
                free.name,
                np.array([p.value for p in own]),
                np.array([result.evidence.of(free.name).standard_error for result in results.values()]),
                symbol=free.symbol,
                unit=free.unit,
                bounds=(min(p.lower for p in own), max(p.upper for p in own)),
            )
        )
    correlation, shrinkage = shrunk_correlation(parameters)
    return Population(
        servo=models[0].servo,
        friction=friction,
        units=tuple(results),
        parameters=tuple(parameters),
        correlation=correlation,
        shrinkage=shrinkage,
    )


def shrunk_correlation(parameters: Sequence[ParameterSpread]) -> tuple[Array, float]:
    """Return the correlations over units in the coordinates, shrunk towards 0, and the share of shrinkage.

    The share is that of the correlations' own sampling errors (Schäfer and Strimmer 2005). For a pair of parameters
    only units that determine both count. Parameters without spread are uncorrelated.
    """
    count = len(parameters)
    varying = [i for i, parameter in enumerate(parameters) if parameter.between > 0.0]
    scaled = np.full((count, len(parameters[0].values) if parameters else 0), np.nan)
    for i in varying:
        own = np.where(parameters[i].determined, parameters[i].coordinates, np.nan)
        scaled[i] = (own - np.nanmean(own)) / np.nanstd(own)
    found = np.eye(count)
    square, doubt = 0.0, 0.0
    for place, i in enumerate(varying):
        for k in varying[place + 1 :]:
            products = (scaled[i] * scaled[k])[~np.isnan(scaled[i] * scaled[k])]
            if len(products) < FEWEST:
                continue
            n = len(products)
            found[i, k] = found[k, i] = np.clip(products.mean(), -1.0, 1.0)
            square += found[i, k] ** 2
            doubt += n / (n - 1.0) ** 3 * float(np.sum((products - products.mean()) ** 2))
    shrinkage = float(min(1.0, doubt / square)) if square > 0.0 else 1.0
    found = np.eye(count) + (1.0 - shrinkage) * (found - np.eye(count))
    # Correlations from different sets of units can be inconsistent: make the matrix positive again.
    values, directions = np.linalg.eigh(found)
    if values.min(initial=1.0) < 0.0:
        found = directions * np.maximum(values, 1e-9) @ directions.T
        found /= np.sqrt(np.outer(np.diag(found), np.diag(found)))
    return found, shrinkage


def drawn(
    parameters: Sequence[ParameterSpread], correlation: Array, about: Sequence[float], count: int, seed: int
) -> Array:
    """Draw specimens, clipped at the bounds; the first ones do not depend on `count`.

    Args:
        parameters: Spreads of the parameters.
        correlation: Their correlation, shape (parameters, parameters).
        about: Central values, shape (parameters,). Parameters without spread keep them.
        count: Number of specimens.
        seed: Random seed.

    Returns:
        Values of the specimens, shape (count, parameters).
    """
    values, directions = np.linalg.eigh(correlation)
    root = directions * np.sqrt(np.maximum(values, 0.0))
    unit = np.random.default_rng(seed).normal(size=(count, len(parameters))) @ root.T
    columns = [
        parameter.from_coordinate(parameter.to_coordinate(float(middle)) + parameter.between * unit[:, place])
        if parameter.between > 0.0
        else np.full(count, float(middle))
        for place, (parameter, middle) in enumerate(zip(parameters, about, strict=True))
    ]
    return np.stack(columns, axis=1) if columns else np.empty((count, 0))
