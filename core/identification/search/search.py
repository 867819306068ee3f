"""Global search: many descents, each by CMA-ES (Hansen and Ostermeier 2001, package `cmaes`) and local steps.

Motion with stiction has many optima: a run in which the simulated servo sticks a moment earlier stays apart to its
end. A descent from a random point first follows a surrogate, an objective whose optima are fewer and lie near the true
ones: a short CMA-ES on it, then steps to its minimum and from there to the objective's own. The first descents begin
at given starts; after them, ones from random points take turns with ones from the best. The search ends when its
budget is used and two descents from random points confirm the best value, or when most of them ended at it. The whole
sequence is a pure function of the seed and of the objectives' values, which makes a search resumable: the values on
record are used again, and the search goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from cmaes import CMA

from core.arrays import Array

Objective = Callable[[Array], Array]
Descent = Callable[[Array], tuple[Array, int]]
"""From a point (n,) to the minimum nearby, and how many candidates it took."""

MARGIN = 0.02
"""Starts are moved this far off their bounds, as a distribution centred on a bound loses half its samples."""
AGREEMENT = 5e-3
"""A descent that ends this close to the best, relatively, has found the same optimum, or as good a one."""
AGREEING_DESCENTS = 4
"""So many descents from random points with the same optimum end the search, if they are …"""
AGREEING_SHARE = 0.75
"""… most of them: an optimum that few of them find may not be the best."""
CONFIRMING_DESCENTS, CONFIRMING = 3, 1e-2
"""So many confirm the best value by ending this close to it, relatively."""
SURROGATE_EVALUATIONS = 50
"""Of the surrogate's CMA-ES, per parameter."""
TURNS = ("spread", "jump", "random", "jump", "random", "jump", "random", "jump")
"""How descents begin after the given starts: by CMA-ES from the best, at a random point, with a jump off the best."""
JUMPS = (0.02, 0.05, 0.1, 0.2)
"""Standard deviation of the jumps off the best, in turn, of the unit interval."""


@dataclass(frozen=True)
class _Kind:
    """How a CMA-ES goes about it; sigma of the unit interval."""

    population: int
    sigma: float
    patience: int
    """Generations without progress that end it."""
    improvement: float
    """Relative improvement that counts as progress."""


_BY_SURROGATE = _Kind(16, 0.3, 25, 1e-3)
"""By the surrogate."""
_AFTER_SURROGATE = _Kind(16, 0.03, 25, 3e-4)
_WARM = _Kind(16, 0.07, 25, 3e-4)
"""From the optimum of another model."""
_RANDOM = _Kind(32, 0.3, 25, 3e-4)
_SPREADING = (_Kind(16, 0.05, 25, 3e-4), _Kind(24, 0.1, 25, 3e-4), _Kind(48, 0.3, 25, 3e-4))
"""From the best, in turn."""


@dataclass(frozen=True)
class Surrogate:
    """An objective that is easier to descend, and steps to its minimum."""

    objective: Objective
    descend: Descent


@dataclass(frozen=True)
class Generation:
    """One population of a search."""

    descent: int
    """0 for the first descent, then 1, 2, …"""
    surrogate: bool
    """Whether its values are the surrogate's; the best ones below are the objective's all the same."""
    index: int
    """Counts generations over all descents."""
    evaluations: int
    """Candidates evaluated so far, this population included."""
    sigma: float
    """Step size, of the unit interval."""
    values: tuple[float, ...]
    """Of each candidate."""
    best: Array
    """Best candidate of this generation in the parameters' units, (n,)."""
    best_value: float
    """Its value, the smallest of `values`."""
    overall_best_value: float
    """Smallest value of the objective so far."""
    improved: bool
    """Whether it holds the best candidate so far."""


@dataclass(frozen=True, eq=False)
class End:
    """Where a descent ended."""

    value: float
    point: Array
    """In the parameters' units, (n,)."""


@dataclass(frozen=True)
class SearchResult:
    """Outcome of a search."""

    best: Array
    value: float
    ends: tuple[Array, ...]
    """Where descents ended, the best first; the first one is `best`."""
    random_ends: tuple[End, ...]
    """Of the descents from random points, and of the first one, which searches as widely."""
    evaluations: int
    descents: int
    stopped: bool
    """Whether it was asked to stop before its budget was used."""


def search(
    objective: Objective,
    bounds: Array,
    starts: Sequence[Array],
    budget: int,
    seed: int,
    *,
    most: int | None = None,
    surrogate: Surrogate | None = None,
    refine: Descent | None = None,
    recorded: Sequence[Sequence[float]] = (),
    on_generation: Callable[[Generation], None] | None = None,
    on_recorded: Callable[[Generation], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """Minimise an objective over a box.

    objective: (p, n) candidates → (p,) values; bounds (n, 2); starts: candidates (n,) that are evaluated exactly and
    each begin a descent, in order, with an even share of the budget; budget: evaluations, those of the surrogate and
    of the steps included; most: what it may use while the best is not confirmed, None: no more; surrogate: what
    descents from random points follow first; refine: steps to the objective's own minimum, in place of CMA-ES;
    recorded: values of the first generations of an earlier search with the same seed and bounds, used instead of
    evaluations; on_recorded hears of these, on_generation of the others. The result is never worse than any start.
    """
    run = _Search(objective, bounds, seed, surrogate, refine, recorded, on_generation, on_recorded, should_stop)
    return run.through(starts, budget, max(budget, most or 0))


@dataclass(eq=False)
class _Search:
    """The descents of one search; points are of the unit cube."""

    objective: Objective
    bounds: Array
    seed: int
    surrogate: Surrogate | None
    refine: Descent | None
    recorded: Sequence[Sequence[float]]
    on_generation: Callable[[Generation], None] | None
    on_recorded: Callable[[Generation], None] | None
    should_stop: Callable[[], bool] | None

    def __post_init__(self) -> None:
        lower, upper = self.bounds.T
        self.lower = lower
        self.width = np.where(upper > lower, upper - lower, 1.0)
        self.dimension = len(self.bounds)
        self.randomness = np.random.default_rng(np.random.SeedSequence([self.seed, self.dimension]))
        self.state = _Progress()
        self.stopped = False
        self.descent = 0

    def through(self, starts: Sequence[Array], budget: int, most: int) -> SearchResult:
        """All descents."""
        state = self.state
        ordered = [(start - self.lower) / self.width for start in starts]
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
            ends.append(End(value, self.lower + self.width * end))
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
        """How the next descent begins, where, and the CMA-ES it takes, None where steps do."""
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
        """Where the surrogate leads from a point."""
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
        """Where steps end."""
        found, candidates = steps(self.lower + self.width * np.clip(unit, 0.0, 1.0))
        self.state.evaluations += candidates
        return (found - self.lower) / self.width

    def evaluate(self, unit: Array, sigma: float, surrogate: bool = False) -> Array:
        """Values of candidates, from the record while there is one."""
        candidates = self.lower + self.width * unit
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
        """Best point of a CMA-ES and its value."""
        cma = CMA(
            mean=np.clip(mean, MARGIN, 1.0 - MARGIN),
            sigma=kind.sigma,
            bounds=np.tile([0.0, 1.0], (self.dimension, 1)),
            population_size=kind.population,
            seed=int(self.randomness.integers(2**31)),
        )
        point, best, idle = mean, np.inf, 0
        while self.state.evaluations < share and idle < kind.patience and not cma.should_stop():
            # What is on record comes first, which takes no time: stopping must not end with less than there was.
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
    """Whether enough descents from random points ended at the best value."""
    return _agreeing(random_ends, best, AGREEMENT) >= max(AGREEING_DESCENTS, AGREEING_SHARE * len(random_ends))


def _agreeing(random_ends: Sequence[End], best: float, within: float) -> int:
    return sum(end.value <= best * (1.0 + within) for end in random_ends)


def confirmed(random_ends: Sequence[End], best: float) -> bool:
    """Whether enough descents from random points came to the best value for it to be taken for the least there is."""
    return _agreeing(random_ends, best, CONFIRMING) >= CONFIRMING_DESCENTS


def _descent_budget(used: int, budget: int, descent: int, starts: int) -> int:
    """Evaluations at which a descent must end: descents from given starts share what is left evenly."""
    waiting = max(1, starts - descent)
    return used + -(-(budget - used) // waiting)


class _Progress:
    """The best so far and the count."""

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
