"""A fleet as one kind of servo: each parameter's centre and spread over the units, and which vary together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.arrays import Array
from core.errors import IdentificationError, reading_json
from core.fleet.parameter_spread import FEWEST, ParameterSpread, parameter_spread
from core.fleet.result import UnitResult
from core.plain import from_plain, plain_fields
from core.words import counted


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """One friction model over the units of a fleet."""

    servo: str
    friction: str
    units: tuple[str, ...]
    parameters: tuple[ParameterSpread, ...]
    """The free ones, in the model's order."""
    correlation: Array
    """Of the units' coordinates, (parameters, parameters), shrunk; rows of parameters without a spread are those of
    the unit matrix."""
    shrinkage: float
    """Share by which correlations were shrunk towards 0, as so few units tell so little of them."""

    def of(self, name: str) -> ParameterSpread:
        """Spread of one parameter."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    @property
    def covariance(self) -> Array:
        """Between units, in the coordinates, (parameters, parameters).

        The standard errors of one unit's values say nothing of how these err together. A trade-off that the runs leave
        open therefore counts among the correlations, and draws move along it as the fits do.
        """
        deviations = np.array([parameter.between for parameter in self.parameters])
        return deviations[:, None] * self.correlation * deviations

    @property
    def strongest(self) -> tuple[tuple[str, str, float], ...]:
        """Pairs of symbols by how strongly they vary together, the strongest first; those without spread left out."""
        pairs = [
            (first.symbol, second.symbol, float(self.correlation[i, i + 1 + k]))
            for i, first in enumerate(self.parameters)
            for k, second in enumerate(self.parameters[i + 1 :])
            if first.between > 0.0 and second.between > 0.0
        ]
        return tuple(sorted(pairs, key=lambda pair: -abs(pair[2])))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**plain_fields(self), "covariance": self.covariance.tolist()}

    @classmethod
    @reading_json("a population", IdentificationError)
    def from_json(cls, data: Any) -> Population:
        """Inverse of `to_json`; raises IdentificationError on anything else."""
        read = from_plain(cls, data)
        correlation, parameters, count = read.correlation, read.parameters, len(read.units)
        if correlation.shape != (len(parameters),) * 2 or not np.isfinite(correlation).all():
            raise ValueError(f"{correlation.shape} correlations of {len(parameters)} parameters")
        if any(p.values.shape != (count,) or p.errors.shape != (count,) for p in parameters):
            raise ValueError(f"a parameter has not the values of {count} units")
        return read


def population(units: Sequence[UnitResult], friction: str) -> Population:
    """One friction model over the units that have it; raises IdentificationError for fewer than FEWEST."""
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
    """Correlations over units in the coordinates, shrunk towards 0 by the share that their own sampling errors are of
    them (Schäfer and Strimmer 2005), and that share.

    Of two parameters the units count that determine both. Parameters without spread are correlated with none.
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
    # Pairs of units that differ from pair to pair can contradict each other.
    values, directions = np.linalg.eigh(found)
    if values.min(initial=1.0) < 0.0:
        found = directions * np.maximum(values, 1e-9) @ directions.T
        found /= np.sqrt(np.outer(np.diag(found), np.diag(found)))
    return found, shrinkage


def drawn(
    parameters: Sequence[ParameterSpread], correlation: Array, about: Sequence[float], count: int, seed: int
) -> Array:
    """Values of so many specimens, (count, parameters), cut off at the bounds; the first ones do not depend on count.

    about: values they are spread about, (parameters,); what has no spread stays there.
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
