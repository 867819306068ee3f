"""Results of a fleet's fits, unit by unit; complete or partial."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import ArrayOrInfinite, from_plain, plain_fields
from core.fleet.plan import Chain, FleetPlan, UnitFacts
from core.identification.choice.rule import Contender, choice_in_words, recommended
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, ModelResult
from core.identification.runs.split import Split


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitResult:
    """Models of one unit."""

    facts: UnitFacts
    split: Split
    """Split by which the models were fitted."""
    results: Mapping[str, ModelResult]
    """Best repeat of each friction model, with all repeats in it. Models that lack a repeat or a fold are left out. The
    validation error is the mean over the folds, if there are any."""
    tasks: int
    done: int
    """Number of fits of this unit, total and finished."""

    @property
    def complete(self) -> bool:
        """True if all fits are finished."""
        return self.done == self.tasks

    def identification(self, request: IdentificationRequest) -> Identification:
        """Return the result as one unit's identification; raise IdentificationError if no model is complete."""
        if not self.results:
            raise IdentificationError(f"{self.facts.name}: no model has been fitted yet")
        return Identification(request, self.split, tuple(self.results.values()), stopped=not self.complete)

    @property
    def best(self) -> ModelResult | None:
        """Model recommended for this unit alone; None if there is none yet."""
        if not self.results:
            return None
        return self.results[recommended(_contenders([self])).friction]


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfer:
    """Errors of each unit's model on every unit's recordings."""

    friction: str
    units: tuple[str, ...]
    errors: ArrayOrInfinite
    """Mean absolute error [rad], shape (units, units): row fitted to, column judged on; infinite if diverged."""

    @property
    def own(self) -> Array:
        """Error of each unit's model on its own recordings, most of them fitted to, (units,) [rad]."""
        return np.diagonal(self.errors)

    @property
    def elsewhere(self) -> Array:
        """Mean error of each unit's model over the other units, (units,) [rad]; NaN for a single unit."""
        return _mean_of_others(self.errors)

    @property
    def received(self) -> Array:
        """Mean error of the other units' models on each unit, (units,) [rad]; NaN for a single unit."""
        return _mean_of_others(self.errors.T)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for an error that is not finite."""
        return plain_fields(self)

    @classmethod
    @reading_json("a transfer matrix", IdentificationError)
    def from_json(cls, data: Any) -> Transfer:
        """Invert `to_json`; raise IdentificationError for anything else."""
        read = from_plain(cls, data)
        if read.errors.shape != (len(read.units), len(read.units)):
            raise ValueError(f"{read.errors.shape} errors of {len(read.units)} units")
        return read


@dataclass(frozen=True, kw_only=True, eq=False)
class FleetResult:
    """Results of all units of a fleet."""

    plan: FleetPlan
    units: tuple[UnitResult, ...]
    transfer: Transfer | None = None
    """Transfer matrix of the recommended model, once all fits are finished."""
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """Reasons why units could not be fitted, by unit."""

    @property
    def done(self) -> int:
        """Number of finished fits."""
        return sum(unit.done for unit in self.units)

    @property
    def complete(self) -> bool:
        """True if all fits are finished."""
        return self.done == self.plan.tasks

    @property
    def models(self) -> tuple[str, ...]:
        """Friction models of at least one unit."""
        return tuple(m for m in self.plan.request.fit.models if any(m in unit.results for unit in self.units))

    def having(self, friction: str) -> list[UnitResult]:
        """Return the units that have a friction model."""
        return [unit for unit in self.units if friction in unit.results]

    @cached_property
    def recommended(self) -> str:
        """Friction model recommended for the whole fleet, from the units that have every model.

        Raises IdentificationError if there is none yet.
        """
        return recommended(self._contenders).friction

    @cached_property
    def choice(self) -> str:
        """Recommended model and its evidence in words; raises as `recommended`."""
        return choice_in_words(self._contenders)

    @property
    def _contenders(self) -> list[Contender]:
        full = [unit for unit in self.units if all(model in unit.results for model in self.models)]
        if not self.models or not full:
            raise IdentificationError("no unit has been fitted yet; let the fleet continue")
        return _contenders(full)


def assembled(
    plan: FleetPlan,
    found: Mapping[str, ModelResult],
    transfer: Transfer | None = None,
    problems: Mapping[str, str] | None = None,
) -> FleetResult:
    """Assemble a fleet from its finished fits by key."""
    chains: dict[str, list[Chain]] = {unit.name: [] for unit in plan.units}
    for chain in plan.chains:
        chains[chain.unit].append(chain)
    units = tuple(_unit(plan, unit, chains[unit.name], found) for unit in plan.units)
    return FleetResult(plan=plan, units=units, transfer=transfer, problems=problems or {})


def _unit(plan: FleetPlan, facts: UnitFacts, chains: Sequence[Chain], found: Mapping[str, ModelResult]) -> UnitResult:
    first = chains[0].split
    results: dict[str, ModelResult] = {}
    for place, friction in enumerate(plan.request.fit.models):
        if any(chain.keys[place] not in found for chain in chains):
            continue
        splits: dict[Split, list[ModelResult]] = {}
        for chain in chains:
            splits.setdefault(chain.split, []).append(found[chain.keys[place]])
        best = _best(splits.pop(first))
        if splits:
            held = [_best(repeats) for repeats in splits.values()]
            best = replace(
                best,
                validation_mae=_mean([fold.validation_mae for fold in held]),
                validation_rmse=_mean([fold.validation_rmse for fold in held]),
                held_out={run: error for fold in held for run, error in fold.held_out.items()},
            )
        results[friction] = best
    return UnitResult(
        facts=facts,
        split=first,
        results=results,
        tasks=sum(len(chain.keys) for chain in chains),
        done=sum(key in found for chain in chains for key in chain.keys),
    )


def _best(repeats: Sequence[ModelResult]) -> ModelResult:
    best = min(repeats, key=lambda result: result.train_mae)
    return replace(
        best,
        evaluations=sum(result.evaluations for result in repeats),
        wall_seconds=sum(result.wall_seconds for result in repeats),
        repeats=tuple(repeat for result in repeats for repeat in result.repeats),
    )


def _contenders(units: Sequence[UnitResult]) -> list[Contender]:
    """Return each model with its errors over the units, which all have the same models."""
    return [
        Contender(
            friction=friction,
            parameters=len(units[0].results[friction].model.parameters.free),
            train_mae=float(np.mean([unit.results[friction].train_mae for unit in units])),
            held_out=tuple(tuple(unit.results[friction].held_out.values()) for unit in units),
            validation_mae=_mean([unit.results[friction].validation_mae for unit in units]),
        )
        for friction in units[0].results
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def _mean_of_others(errors: Array) -> Array:
    count = len(errors)
    if count < 2:
        return np.full(count, math.nan)
    return errors.sum(axis=1, where=~np.eye(count, dtype=bool)) / (count - 1)
