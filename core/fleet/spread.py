"""A fleet as one model with its spread: the model at the population's centre, and models drawn around it.

The mean of values that compensate each other can be worse than any of the models. The mean model is therefore compared
with the units' own models and with the medoid, the unit's model that is best for the other units. If the medoid is
better, draws are spread around it instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError, ModelError
from core.base.json_fields import ArrayOrInfinite, from_plain, plain_fields
from core.base.sealed import parse_sealed, sealed_text
from core.fleet.plan import LoadUnit
from core.fleet.population import Population, drawn, population
from core.fleet.result import FleetResult, UnitResult
from core.fleet.work import Judge
from core.servo.model import ServoModel
from core.servo.terms import Supply

FORMAT, FORMAT_VERSION = "servobench-spread", 1
MEAN = "mean"
"""Name of the centre that is the mean model, not a unit's."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CentreErrors:
    """Mean absolute errors on each unit's recordings [rad], shape (units,), with the unit's mounting angle."""

    units: tuple[str, ...]
    own: ArrayOrInfinite
    """Errors of the unit's own model."""
    mean: ArrayOrInfinite
    """Errors of the mean model."""
    others: ArrayOrInfinite
    """Mean errors of the other units' models."""
    medoid: str
    """Unit whose model is best for the others."""
    medoid_errors: ArrayOrInfinite
    """Errors of the medoid's model; on the medoid itself, its own error."""

    @property
    def mean_is_best(self) -> bool:
        """True if the mean model is at least as good as the medoid's, on the units other than the medoid."""
        rest = np.array([unit != self.medoid for unit in self.units])
        return float(self.mean[rest].mean()) <= float(self.medoid_errors[rest].mean())

    @property
    def text(self) -> str:
        """Best single model of the fleet, and the cost of using a single one, in words."""
        rest = np.array([unit != self.medoid for unit in self.units])
        mean, medoid = (1e3 * float(errors[rest].mean()) for errors in (self.mean, self.medoid_errors))
        own, others = 1e3 * float(self.own.mean()), 1e3 * float(self.others.mean())
        best = (
            f"the mean model is off by {mean:.3g} mrad on average over the units, {self.medoid}'s by {medoid:.3g}"
            if self.mean_is_best
            else f"the mean model, off by {mean:.3g} mrad on average over the units, is worse than that of "
            f"{self.medoid}, {medoid:.3g}: draws are spread around the latter"
        )
        return (
            f"{best}; units' own models are off by {own:.3g} on their recordings, those of other units by {others:.3g}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for an error that is not finite."""
        data = plain_fields(self)
        return {"units": data.pop("units"), "medoid": data.pop("medoid"), **data, "text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CentreErrors:
        """Invert `to_json`; raise KeyError, TypeError or ValueError for anything else."""
        read = from_plain(cls, data)
        units, medoid, lists = read.units, read.medoid, (read.own, read.mean, read.others, read.medoid_errors)
        if medoid not in units or any(errors.shape != (len(units),) for errors in lists):
            raise ValueError(f"errors are required for each of {len(units)} units, {medoid!r:.100} among them")
        return read


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """Central model and the distribution of units around it."""

    population: Population
    centre: str
    """MEAN, or the name of the medoid."""
    model: ServoModel
    """Central model."""
    errors: CentreErrors | None = None
    """Errors of the candidates; None if the recordings were not available."""

    def units(self) -> list[ServoModel]:
        """Return each unit's own model, in the population's order."""
        values = np.stack([p.values for p in self.population.parameters], axis=1)
        return [self._at(row, name) for row, name in zip(values, self.population.units, strict=True)]

    def samples(self, count: int, seed: int = 0) -> list[ServoModel]:
        """Draw models from the distribution between units, with its correlations, within the bounds of the search.

        The same seed gives the same models.
        """
        found = self.population
        about = [self.model.values[p.name] for p in found.parameters]
        rows = drawn(found.parameters, found.correlation, about, count, seed)
        return [self._at(row, f"draw {place}") for place, row in enumerate(rows, 1)]

    def _at(self, values: Array, what: str) -> ServoModel:
        names = [p.name for p in self.population.parameters]
        moved = self.model.with_values(dict(zip(names, values.tolist(), strict=True)))
        return replace(moved, name=f"{self.model.servo} {self.model.friction.upper()} {what}", provenance={})

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "centre": self.centre,
            "model": self.model.to_json(),
            "population": self.population.to_json(),
            "errors": None if self.errors is None else self.errors.to_json(),
        }

    def to_json_text(self) -> str:
        """Return the file's content; the same spread gives the same bytes."""
        return sealed_text(self.to_json(), indent=1)

    @classmethod
    def from_json(cls, data: Any, source: str = "spread") -> Spread:
        """Invert `to_json`; raise IdentificationError naming the source for anything else."""
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
        """Read a spread file; raise IdentificationError if it is invalid."""
        try:
            data = parse_sealed(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise IdentificationError(f"{path}: cannot be read as a fleet's spread: {error}") from None
        return cls.from_json(data, str(path))


def fleet_spread(result: FleetResult, friction: str, load: LoadUnit | None = None) -> Spread:
    """Compute the spread of one friction model over a fleet's units.

    Args:
        result: The fleet.
        friction: The friction model.
        load: Reads the units' recordings, on which the mean model is compared with the others. None: the mean model is
            taken without a comparison.

    Raises:
        IdentificationError: Too few units have the model.
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
    """Return the model at the population's centre; its provenance holds the units and their spreads."""
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
    """Compare a mean model with the units' models on each unit's recordings.

    Raises ServoBenchError if the recordings cannot be read.
    """
    models = [unit.results[mean.friction].model for unit in units]
    values = tuple(model.values for model in (mean, *models))
    errors = np.array(
        [
            Judge(own=model, values=values, dt=dt, supply=supply)(load(unit.facts))
            for unit, model in zip(units, models, strict=True)
        ]
    )
    table, count = errors[:, 1:], len(units)
    apart = np.where(np.eye(count, dtype=bool), 0.0, table)
    elsewhere = apart.sum(axis=0) / (count - 1)
    best = int(np.argmin(elsewhere))
    return CentreErrors(
        units=tuple(unit.facts.name for unit in units),
        own=np.diag(table).copy(),
        mean=errors[:, 0],
        others=apart.sum(axis=1) / (count - 1),
        medoid=units[best].facts.name,
        medoid_errors=table[:, best],
    )
