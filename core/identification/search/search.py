"""Global search: many descents, each by CMA-ES (Hansen and Ostermeier 2001, package `cmaes`) and local steps.

Motion with stiction has many optima: a run in which the simulated servo sticks slightly earlier remains different to
its end. A descent from a random point therefore first follows a surrogate, an objective with fewer optima that lie near
the true ones. It runs a short CMA-ES on the surrogate, then steps to its minimum, and from there to the objective's
own.

The first descents begin at given starts. After them, descents from random points alternate with descents from the best.
The search ends when its budget is used and three of the descents from random points, to which the first one counts,
ended at the best value, or when most of them did. The whole sequence is a pure function of the seed and of the
objectives' values. A search can therefore be resumed: recorded values are used again, and the search continues from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from cmaes import CMA
from numpy.typing import NDArray

from core.base.arrays import Array

Objective = Callable[[Array], Array]
Descent = Callable[[Array], tuple[Array, int]]
"""Function from a point (n,) to the minimum nearby and the number of candidates used."""

MARGIN = 0.02
"""Distance by which starts are moved off their bounds: a distribution centred on a bound loses half its samples."""
AGREEMENT = 5e-3
"""A descent whose value is within this relative distance of the best has found the same or an equally good optimum."""
AGREEING_DESCENTS = 4
"""Number of descents from random points with the same optimum that end the search, if they are …"""
AGREEING_SHARE = 0.75
"""… this share of all: an optimum that few of them find may not be the best."""
CONFIRMING_DESCENTS, CONFIRMING = 3, 1e-2
"""Number of descents that confirm the best value by ending within this relative distance of it."""
SURROGATE_EVALUATIONS = 50
"""Evaluations per parameter of the CMA-ES on the surrogate."""
TURNS = ("spread", "jump", "random", "jump", "random", "jump", "random", "jump")
"""Kinds of descents after the given starts: CMA-ES from the best, a random point, a jump off the best."""
JUMPS = (0.02, 0.05, 0.1, 0.2)
"""Standard deviations of the jumps off the best, in turn, in the unit interval."""


@dataclass(frozen=True)
class _Kind:
    """Settings of a CMA-ES; sigma in the unit interval."""

    population: int
    sigma: float
    patience: int
    """Number of generations without progress that end it."""
    improvement: float
    """Relative improvement that counts as progress."""


_BY_SURROGATE = _Kind(16, 0.3, 25, 1e-3)
"""Settings on the surrogate."""
_AFTER_SURROGATE = _Kind(16, 0.03, 25, 3e-4)
_WARM = _Kind(16, 0.07, 25, 3e-4)
"""Settings from the optimum of another model."""
_RANDOM = _Kind(32, 0.3, 25, 3e-4)
_SPREADING = (_Kind(16, 0.05, 25, 3e-4), _Kind(24, 0.1, 25, 3e-4), _Kind(48, 0.3, 25, 3e-4))
"""Settings from the best, in turn."""


@dataclass(frozen=True)
class Surrogate:
    """Objective that is easier to descend, and steps to its minimum."""

    objective: Objective
    descend: Descent


@dataclass(frozen=True)
class Generation:
    """One population of a search."""

    descent: int
    """Number of the descent, from 0."""
    surrogate: bool
    """True if the values are those of the surrogate; the best ones below are always those of the objective."""
    index: int
    """Number of the generation, over all descents."""
    evaluations: int
    """Number of candidates evaluated so far, including this population."""
    sigma: float
    """Step size in the unit interval."""
    values: tuple[float, ...]
    """Value of each candidate."""
    best: Array
    """Best candidate of this generation in the parameters' units, (n,)."""
    best_value: float
    """Value of the best candidate, the smallest of `values`."""
    overall_best_value: float
    """Smallest value of the objective so far."""
    improved: bool
    """True if this generation has the best candidate so far."""


@dataclass(frozen=True, eq=False)
class End:
    """End of a descent."""

    value: float
    point: Array
    """Point in the parameters' units, (n,)."""


@dataclass(frozen=True)
class SearchResult:
    """Result of a search."""

    best: Array
    value: float
    ends: tuple[Array, ...]
    """Ends of the descents, best first; the first one is `best`."""
    random_ends: tuple[End, ...]
    """Ends of the descents from random points, and of the first one, which searches as widely."""
    evaluations: int
    descents: int
    stopped: bool
    """True if it was stopped before its budget was used."""


def search(
    objective: Objective,
    bounds: Array,
    starts: Sequence[Array],
    budget: int,
    seed: int,
    *,
    most: int | None = None,
    logarithmic: Sequence[bool] | None = None,
    surrogate: Surrogate | None = None,
    refine: Descent | None = None,
    recorded: Sequence[Sequence[float]] = (),
    on_generation: Callable[[Generation], None] | None = None,
    on_recorded: Callable[[Generation], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """Minimise an objective over a box.

    The result is never worse than any start.

    Args:
        objective: Function of candidates (p, n) that returns values (p,).
        bounds: Lower and upper bounds, (n, 2).
        starts: Candidates (n,) that are evaluated exactly. Each begins a descent, in order, with an equal share of the
            budget.
        budget: Number of evaluations, including those of the surrogate and of the steps.
        seed: Random seed.
        most: Largest number of evaluations while the best value is not confirmed. None: `budget`.
        logarithmic: Whether each parameter is searched by its logarithm; its bounds are positive then. None: none is.
        surrogate: Objective that descents from random points follow first.
        refine: Steps to the objective's own minimum, in place of CMA-ES.
        recorded: Values of the first generations of an earlier search with the same seed and bounds, used in place of
            evaluations.
        on_generation: Called with each evaluated generation.
        on_recorded: Called with each recorded generation.
        should_stop: Polled between generations.
    """
    scale = np.zeros(len(bounds), dtype=bool) if logarithmic is None else np.asarray(logarithmic, dtype=bool)
    run = _Search(objective, bounds, scale, seed, surrogate, refine, recorded, on_generation, on_recorded, should_stop)
    return run.through(starts, budget, max(budget, most or 0))


@dataclass(eq=False)
class _Search:
    """Descents of one search; points are in the unit cube."""

    objective: Objective
    bounds: Array
    logarithmic: NDArray[np.bool_]
    seed: int
    surrogate: Surrogate | None
    refine: Descent | None
    recorded: Sequence[Sequence[float]]
    on_generation: Callable[[Generation], None] | None
    on_recorded: Callable[[Generation], None] | None
    should_stop: Callable[[], bool] | None

    def __post_init__(self) -> None:
        lower, upper = self.scaled(self.bounds.T)
        self.lower = lower
        self.width = np.where(upper > lower, upper - lower, 1.0)
        self.dimension = len(self.bounds)
        self.randomness = np.random.default_rng(np.random.SeedSequence([self.seed, self.dimension]))
        self.state = _Progress()
        self.stopped = False
        self.descent = 0

    def scaled(self, values: Array) -> Array:
        """Return values (…, n), with the logarithms of those that are searched so."""
        return np.where(self.logarithmic, np.log(np.where(self.logarithmic, values, 1.0)), values)

    def unit(self, values: Array) -> Array:
        """Return values (n,) in the unit cube."""
        return (self.scaled(values) - self.lower) / self.width

    def values(self, unit: Array) -> Array:
        """Return points (…, n) of the unit cube in the parameters' units."""
        found = self.lower + self.width * unit
        # Rounding must not put a bound's exponential beyond the bound.
        powers = np.clip(np.exp(np.where(self.logarithmic, found, 0.0)), *self.bounds.T)
        return np.where(self.logarithmic, powers, found)

    def through(self, starts: Sequence[Array], budget: int, most: int) -> SearchResult:
        """Run all descents."""
        state = self.state
        ordered = [self.unit(start) for start in starts]
        self.evaluate(np.clip(np.array(ordered), 0.0, 1.0), 0.0)
        random_ends: list[End] = []
        ends: list[End] = []
        while not _agreed(random_ends, state.value):
            end_at = budget if confirmed(random_ends, state.value) else most
            if state.evaluations >= end_at:
                break
            share = _descent_budget(state.evaluations, end_at, self.descent, len(ordered))
            begin, mean, kind = self.begin(ordered)
            if begin in ("random", "jump"):
                mean = self.by_surrogate(mean, begin == "random", share)
            end, value = mean, np.inf
            if kind is not None and not self.stopped:
                end, value = self.descend(mean, kind, share)
            if self.stopped:
                break
            if self.refine is not None:
                end = self.stepped(self.refine, end)
                value = float(self.evaluate(end[None], 0.0)[0])
            ends.append(End(value, self.values(end)))
            if begin == "random":
                random_ends.append(ends[-1])
            self.descent += 1
        others = (e.point for e in sorted(ends, key=lambda e: e.value) if not np.array_equal(e.point, state.best))
        return SearchResult(
            best=state.best,
            value=state.value,
            ends=(state.best, *others),
            random_ends=tuple(random_ends),
            evaluations=state.evaluations,
            descents=self.descent,
            stopped=self.stopped,
        )

    def begin(self, starts: Sequence[Array]) -> tuple[str, Array, _Kind | None]:
        """Return the kind of the next descent, its start, and its CMA-ES; None if it uses steps."""
        wide = None if self.refine is not None else _RANDOM if self.surrogate is None else _AFTER_SURROGATE
        if self.descent == 0:
            return "random", starts[0], wide
        if self.descent < len(starts):
            return "start", starts[self.descent], _WARM if self.refine is None else None
        cycle, turn = divmod(self.descent - len(starts), len(TURNS))
        if TURNS[turn] == "spread":
            return "spread", self.state.unit_best, _SPREADING[cycle % len(_SPREADING)]
        if TURNS[turn] == "jump":
            size = JUMPS[turn // 2 % len(JUMPS)]
            return "jump", self.state.unit_best + size * self.randomness.normal(size=self.dimension), wide
        return "random", self.randomness.uniform(0.05, 0.95, self.dimension), wide

    def by_surrogate(self, mean: Array, far: bool, share: int) -> Array:
        """Return the result of the surrogate from a point."""
        if self.surrogate is None:
            return mean
        if far:
            most = min(share, self.state.evaluations + SURROGATE_EVALUATIONS * self.dimension)
            mean, _ = self.descend(mean, _BY_SURROGATE, most, surrogate=True)
        if not self.stopped:
            mean = self.stepped(self.surrogate.descend, mean)
            self.evaluate(mean[None], 0.0)
        return mean

    def stepped(self, steps: Descent, unit: Array) -> Array:
        """Return the end of the steps."""
        found, candidates = steps(self.values(np.clip(unit, 0.0, 1.0)))
        self.state.evaluations += candidates
        return self.unit(found)

    def evaluate(self, unit: Array, sigma: float, surrogate: bool = False) -> Array:
        """Return the values of candidates, from the record as long as there is one."""
        candidates = self.values(unit)
        place = self.state.generations
        known = self.recorded[place] if place < len(self.recorded) else None
        fresh = known is None or len(known) != len(unit)
        judge = self.surrogate.objective if surrogate and self.surrogate is not None else self.objective
        values = np.asarray(judge(candidates) if fresh else known, dtype=np.float64)
        values = np.where(np.isfinite(values), values, np.finfo(np.float64).max)
        generation = self.state.take(unit, candidates, values, self.descent, sigma, surrogate)
        tell = self.on_generation if fresh else self.on_recorded
        if tell is not None:
            tell(generation)
        return values

    def descend(self, mean: Array, kind: _Kind, share: int, surrogate: bool = False) -> tuple[Array, float]:
        """Return the best point of a CMA-ES and its value."""
        cma = CMA(
            mean=np.clip(mean, MARGIN, 1.0 - MARGIN),
            sigma=kind.sigma,
            bounds=np.tile([0.0, 1.0], (self.dimension, 1)),
            population_size=kind.population,
            seed=int(self.randomness.integers(2**31)),
        )
        point, best, idle = mean, np.inf, 0
        while self.state.evaluations < share and idle < kind.patience and not cma.should_stop():
            # Recorded generations come first and take no time, so stopping never ends with less than was recorded.
            on_record = self.state.generations < len(self.recorded)
            if self.should_stop is not None and not on_record and self.should_stop():
                self.stopped = True
                break
            unit = np.array([cma.ask() for _ in range(kind.population)])
            values = self.evaluate(unit, float(cma._sigma), surrogate)
            cma.tell(list(zip(unit, values.tolist(), strict=True)))
            winner = int(values.argmin())
            idle = 0 if values[winner] < best * (1.0 - kind.improvement) else idle + 1
            if values[winner] < best:
                point, best = unit[winner], float(values[winner])
        return point, best


def _agreed(random_ends: Sequence[End], best: float) -> bool:
    """Return True if enough descents from random points ended at the best value."""
    return _agreeing(random_ends, best, AGREEMENT) >= max(AGREEING_DESCENTS, AGREEING_SHARE * len(random_ends))


def _agreeing(random_ends: Sequence[End], best: float, within: float) -> int:
    return sum(end.value <= best * (1.0 + within) for end in random_ends)


def confirmed(random_ends: Sequence[End], best: float) -> bool:
    """Return True if enough descents from random points reached the best value to accept it as the smallest."""
    return _agreeing(random_ends, best, CONFIRMING) >= CONFIRMING_DESCENTS


def _descent_budget(used: int, budget: int, descent: int, starts: int) -> int:
    """Return the evaluations at which a descent must end: descents from given starts share the rest evenly."""
    waiting = max(1, starts - descent)
    return used + -(-(budget - used) // waiting)


class _Progress:
    """Best candidate and counts so far."""

    def __init__(self) -> None:
        self.best: Array = np.empty(0)
        self.unit_best: Array = np.empty(0)
        self.value = np.inf
        self.evaluations = 0
        self.generations = 0

    def take(
        self, unit: Array, candidates: Array, values: Array, descent: int, sigma: float, surrogate: bool
    ) -> Generation:
        self.evaluations += len(values)
        winner = int(values.argmin())
        improved = bool(values[winner] < self.value) and not surrogate
        if improved:
            self.value = float(values[winner])
            self.best = candidates[winner].copy()
            self.unit_best = unit[winner].copy()
        generation = Generation(
            descent=descent,
            surrogate=surrogate,
            index=self.generations,
            evaluations=self.evaluations,
            sigma=sigma,
            values=tuple(values.tolist()),
            best=candidates[winner].copy(),
            best_value=float(values[winner]),
            overall_best_value=self.value,
            improved=improved,
        )
        self.generations += 1
        return generation
