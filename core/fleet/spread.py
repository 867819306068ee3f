"""A fleet as one model with its spread: the model at the population's centre, and others drawn about it.

A mean of values that make up for each other can be worse than each of them. The mean model is therefore held against
the units' own models and against the medoid, the unit's model that is the best one for the other units; where the
medoid is better, draws are spread about it instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.arrays import Array
from core.errors import IdentificationError, ModelError
from core.fleet.plan import LoadUnit
from core.fleet.population import Population, drawn, population
from core.fleet.result import FleetResult, UnitResult
from core.fleet.work import Judge
from core.model import ServoModel
from core.plain import ArrayOrInfinite, from_plain, plain_fields
from core.sealed import parse_sealed, sealed_text
from core.terms import Supply

FORMAT, FORMAT_VERSION = "servobench-spread", 1
MEAN = "mean"
"""Name of the centre that is no unit's."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CentreErrors:
    """Mean absolute errors on each unit's recordings [rad], (units,), with the unit's own mounting angle."""

    units: tuple[str, ...]
    own: ArrayOrInfinite
    """Of the unit's own model."""
    mean: ArrayOrInfinite
    """Of the mean model."""
    others: ArrayOrInfinite
    """Mean over the other units' models."""
    medoid: str
    """The unit whose model is best for the others."""
    medoid_errors: ArrayOrInfinite
    """Of that unit's model; on that unit it is its own."""

    @property
    def mean_is_best(self) -> bool:
        """Whether the mean model is at least as good as the medoid, on the units that are not the medoid."""
        rest = np.array([unit != self.medoid for unit in self.units])
        return float(self.mean[rest].mean()) <= float(self.medoid_errors[rest].mean())

    @property
    def text(self) -> str:
        """What single model describes the fleet best, and what a single one costs."""
        rest = np.array([unit != self.medoid for unit in self.units])
        mean, medoid = (1e3 * float(errors[rest].mean()) for errors in (self.mean, self.medoid_errors))
        own, others = 1e3 * float(self.own.mean()), 1e3 * float(self.others.mean())
        best = (
            f"the mean model is off by {mean:.3g} mrad on average over the units, {self.medoid}'s by {medoid:.3g}"
            if self.mean_is_best
            else f"the mean model, off by {mean:.3g} mrad on average over the units, is worse than that of "
            f"{self.medoid}, {medoid:.3g}: draws are about the latter"
        )
        return (
            f"{best}; units' own models are off by {own:.3g} on their recordings, those of other units by {others:.3g}"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data; null for an error that is not finite."""
        data = plain_fields(self)
        return {"units": data.pop("units"), "medoid": data.pop("medoid"), **data, "text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CentreErrors:
        """Inverse of `to_json`; raises KeyError, TypeError, ValueError."""
        read = from_plain(cls, data)
        units, medoid, lists = read.units, read.medoid, (read.own, read.mean, read.others, read.medoid_errors)
        if medoid not in units or any(errors.shape != (len(units),) for errors in lists):
            raise ValueError(f"errors of {len(units)} units, {medoid!r:.100} among them, are told for each of them")
        return read


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """A centre and the distribution of units about it."""

    population: Population
    centre: str
    """MEAN, or the name of the unit whose model it is."""
    model: ServoModel
    """At the centre."""
    errors: CentreErrors | None = None
    """None where the recordings were not at hand."""

    def units(self) -> list[ServoModel]:
        """Each unit's own model, in the population's order."""
        values = np.stack([p.values for p in self.population.parameters], axis=1)
        return [self._at(row, name) for row, name in zip(values, self.population.units, strict=True)]

    def samples(self, count: int, seed: int = 0) -> list[ServoModel]:
        """Models drawn from the distribution between units, with its correlations, within the bounds of the search;
        the same seed gives the same ones."""
        found = self.population
        about = [self.model.values[p.name] for p in found.parameters]
        rows = drawn(found.parameters, found.correlation, about, count, seed)
        return [self._at(row, f"draw {place}") for place, row in enumerate(rows, 1)]

    def _at(self, values: Array, what: str) -> ServoModel:
        names = [p.name for p in self.population.parameters]
        moved = self.model.with_values(dict(zip(names, values.tolist(), strict=True)))
        return replace(moved, name=f"{self.model.servo} {self.model.friction.upper()} {what}", provenance={})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "centre": self.centre,
            "model": self.model.to_json(),
            "population": self.population.to_json(),
            "errors": None if self.errors is None else self.errors.to_json(),
        }

    def to_json_text(self) -> str:
        """File contents; the same spread gives the same bytes."""
        return sealed_text(self.to_json(), indent=1)

    @classmethod
    def from_json(cls, data: Any, source: str = "spread") -> Spread:
        """Inverse of `to_json`; raises IdentificationError naming the source on anything else."""
        try:
            if data["format"] != FORMAT:
                raise ValueError("not the spread of a fleet")
            if int(data["version"]) > FORMAT_VERSION:
                raise ValueError(f"format version {data['version']} is newer than this program; update it")
            found = Population.from_json(data["population"])
            model = ServoModel.from_json(data["model"], source)
            lacking = [p.name for p in found.parameters if p.name not in model.parameters]
            if lacking:
                raise ValueError(f"the model has no {', '.join(lacking)}")
            errors = None if data["errors"] is None else CentreErrors.from_json(data["errors"])
            return cls(population=found, centre=str(data["centre"]), model=model, errors=errors)
        except (
            KeyError, TypeError, ValueError, AttributeError, OverflowError, ModelError, IdentificationError
        ) as error:  # fmt: skip
            raise IdentificationError(f"{source}: cannot be read as a fleet's spread: {error}") from None

    @classmethod
    def read(cls, path: Path) -> Spread:
        """Read a file; raises IdentificationError."""
        try:
            data = parse_sealed(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise IdentificationError(f"{path}: cannot be read as a fleet's spread: {error}") from None
        return cls.from_json(data, str(path))


def fleet_spread(result: FleetResult, friction: str, load: LoadUnit | None = None) -> Spread:
    """The spread of one friction model over a fleet's units.

    load: reads the units' recordings, on which the mean model is then held against the others; without it, it is taken
    unjudged. Raises IdentificationError for too few units.
    """
    units = result.having(friction)
    found = population(units, friction)
    mean = mean_model(found, units)
    if load is None:
        return Spread(population=found, centre=MEAN, model=mean)
    errors = centre_errors(mean, units, load, dt=result.plan.request.fit.dt, supply=result.plan.request.fit.supply)
    if errors.mean_is_best:
        return Spread(population=found, centre=MEAN, model=mean, errors=errors)
    medoid = next(unit for unit in units if unit.facts.name == errors.medoid).results[friction].model
    title = f"{medoid.servo} {friction.upper()} medoid of {len(units)} units ({errors.medoid})"
    model = replace(mean, parameters=medoid.parameters, name=title)
    return Spread(population=found, centre=errors.medoid, model=model, errors=errors)


def mean_model(found: Population, units: Sequence[UnitResult]) -> ServoModel:
    """The model at the population's centre, its provenance the units and their spreads."""
    template = next(unit for unit in units if unit.facts.name == found.units[0]).results[found.friction].model
    model = template.with_values({p.name: p.centre for p in found.parameters})
    provenance = {
        "source": f"mean of a fleet of {len(found.units)} units",
        "units": list(found.units),
        "friction": found.friction,
        "spreads": {p.name: {"coordinate": p.coordinate, "between": p.between} for p in found.parameters},
    }
    title = f"{found.servo} {found.friction.upper()} mean of {len(found.units)} units"
    return replace(model, name=title, provenance=provenance)


def centre_errors(
    mean: ServoModel, units: Sequence[UnitResult], load: LoadUnit, *, dt: float | None, supply: Supply
) -> CentreErrors:
    """Hold a mean model against the units' on each unit's recordings; raises ServoBenchError where they cannot be
    read."""
    models = [unit.results[mean.friction].model for unit in units]
    values = tuple(model.values for model in (mean, *models))
    errors = np.array(
        [
            Judge(own=model, values=values, dt=dt, supply=supply)(load(unit.facts))
            for unit, model in zip(units, models, strict=True)
        ]
    )
    table, count = errors[:, 1:], len(units)
    elsewhere = (table.sum(axis=0) - np.diag(table)) / (count - 1)
    best = int(np.argmin(elsewhere))
    return CentreErrors(
        units=tuple(unit.facts.name for unit in units),
        own=np.diag(table).copy(),
        mean=errors[:, 0],
        others=(table.sum(axis=1) - np.diag(table)) / (count - 1),
        medoid=units[best].facts.name,
        medoid_errors=table[:, best],
    )
