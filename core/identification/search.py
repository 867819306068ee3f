"""Global search: CMA-ES by ask and tell (Hansen and Ostermeier 2001, package `cmaes`) with our own restarts.

A search is a sequence of descents, each ended when it no longer improves. The first ones begin at given starts; after
them, one from a random point takes turns with one that spreads out again from the best. Motion with stiction has many
optima: a run in which the simulated servo sticks a moment earlier stays apart to its end. A descent from afar may
therefore be led by a surrogate first, an objective whose optima are fewer and lie near the true ones, and with which
three times as many descents on real recordings ended in the best valley. The search ends when its budget is used or
when several descents have ended at the same best value. The whole sequence is a pure function of the seed and of the
objectives' values, which makes a search resumable: the values on record are told again, and the search goes on from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from cmaes import CMA
from numpy.typing import NDArray

Array = NDArray[np.float64]
Objective = Callable[[Array], Array]

MARGIN = 0.02
"""Starts are moved this far off their bounds, as a distribution centred on a bound loses half its samples."""
AGREEMENT = 1e-3
"""A descent that ends this close to the best, relatively, has found the same optimum."""
AGREEING_DESCENTS = 3
"""So many descents from afar with the same optimum end the search; one that began at the best proves nothing."""


PROMISING = 2.0
"""Ends worse than this many times the best are not refined."""
ALIKE = 0.05
"""A refined end may be this much worse, relatively: what is refined is not quite the objective."""


@dataclass(frozen=True)
class _Kind:
    """How a descent goes about it; sigma of the unit interval."""

    population: int
    sigma: float
    patience: int
    """Generations without progress that end it."""
    improvement: float
    """Relative improvement that counts as progress."""


_FULL = _Kind(16, 0.2, 25, 3e-4)
_WARM = _Kind(16, 0.07, 25, 3e-4)
"""From the optimum of another model."""
_LED = _Kind(24, 0.3, 25, 1e-3)
"""By the surrogate."""
_AFTER_LED = _Kind(16, 0.03, 25, 3e-4)
_AFAR = _Kind(32, 0.3, 25, 3e-4)
_SPREADING = (_Kind(24, 0.1, 25, 3e-4), _Kind(48, 0.3, 25, 3e-4))


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


@dataclass(frozen=True)
class SearchResult:
    """Outcome of a search."""

    best: Array
    value: float
    ends: tuple[Array, ...]
    """Where descents ended, the best first; the first one is `best`."""
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
    surrogate: Objective | None = None,
    refine: Callable[[Array], Array] | None = None,
    recorded: Sequence[Sequence[float]] = (),
    on_generation: Callable[[Generation], None] | None = None,
    on_recorded: Callable[[Generation], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """Minimise an objective over a box.

    objective: (p, n) candidates → (p,) values; bounds (n, 2); starts: candidates (n,) that are evaluated exactly and
    each begin a descent, in order, with an even share of the budget; budget: evaluations, the surrogate's included;
    surrogate: leads descents from afar; refine: takes the end (n,) of a descent to the minimum nearby, its own
    evaluations not counted; recorded: values of the first generations of an earlier search with the same seed and
    bounds, told instead of evaluated; on_recorded hears of these, on_generation of the others. The result is never
    worse than any start.
    """
    lower, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    dimension = len(bounds)
    randomness = np.random.default_rng(np.random.SeedSequence([seed, dimension]))
    past = iter(recorded)
    state = _Progress()
    stopped = False

    def evaluate(unit: Array, descent: int, sigma: float, led: bool = False) -> Array:
        candidates = lower + width * unit
        known = next(past, None)
        fresh = known is None or len(known) != len(unit)
        judge = surrogate if led and surrogate is not None else objective
        values = np.asarray(judge(candidates) if fresh else known, dtype=np.float64)
        values = np.where(np.isfinite(values), values, np.finfo(np.float64).max)
        generation = state.take(unit, candidates, values, descent, sigma, led)
        tell = on_generation if fresh else on_recorded
        if tell is not None:
            tell(generation)
        return values

    def descend(mean: Array, kind: _Kind, descent: int, share: int, led: bool = False) -> tuple[Array, float, bool]:
        """Best point, its value, and whether it ended by itself."""
        nonlocal stopped
        cma = CMA(
            mean=np.clip(mean, MARGIN, 1.0 - MARGIN),
            sigma=kind.sigma,
            bounds=np.tile([0.0, 1.0], (dimension, 1)),
            population_size=kind.population,
            seed=int(randomness.integers(2**31)),
        )
        point, best, idle = mean, np.inf, 0
        while state.evaluations < share and idle < kind.patience:
            # What is on record is told first, which takes no time: stopping must not end with less than there was.
            if should_stop is not None and state.generations >= len(recorded) and should_stop():
                stopped = True
                break
            unit = np.array([cma.ask() for _ in range(kind.population)])
            values = evaluate(unit, descent, float(cma._sigma), led)
            cma.tell(list(zip(unit, values.tolist(), strict=True)))
            winner = int(values.argmin())
            idle = 0 if values[winner] < best * (1.0 - kind.improvement) else idle + 1
            if values[winner] < best:
                point, best = unit[winner], float(values[winner])
            if cma.should_stop():
                idle = kind.patience
        return point, best, idle >= kind.patience

    ordered = [(start - lower) / np.where(width > 0, width, 1.0) for start in starts]
    evaluate(np.clip(np.array(ordered), 0.0, 1.0), 0, 0.0)

    descent = 0
    converged: list[float] = []
    ends: list[tuple[float, Array]] = []
    while state.evaluations < budget and not stopped and not _agreed(converged, state.value):
        share = _descent_budget(state.evaluations, budget, descent, len(ordered))
        turn = descent - len(ordered)
        if 0 < descent < len(ordered):
            mean, kind, afar = ordered[descent], _WARM, False
        elif turn >= 0 and turn % 2:
            mean, kind, afar = state.unit_best, _SPREADING[turn // 2 % len(_SPREADING)], False
        elif turn >= 0:
            mean, kind, afar = randomness.uniform(0.1, 0.9, dimension), _AFAR, True
        else:
            mean, kind, afar = ordered[0], _FULL, True
        if afar and surrogate is not None:
            mean, _, _ = descend(mean, _LED, descent, state.evaluations + (share - state.evaluations) // 3, led=True)
            kind = _AFTER_LED
        end, value, ended = descend(mean, kind, descent, share)
        if refine is not None and not stopped and value < PROMISING * state.value:
            refined = (refine(lower + width * end) - lower) / width
            value_refined = float(evaluate(refined[None], descent, 0.0)[0])
            if value_refined < value * (1.0 + ALIKE):
                end, value = refined, value_refined
        ends.append((value, lower + width * end))
        if ended and turn % 2 == 0:
            converged.append(value)
        descent += 1
    others = (end for _, end in sorted(ends, key=lambda pair: pair[0]) if not np.array_equal(end, state.best))
    found = (state.best, *others)
    return SearchResult(state.best, state.value, found, state.evaluations, descent, stopped)


def _agreed(converged: list[float], best: float) -> bool:
    """Whether enough descents ended at the best value; descents that ended elsewhere do not count."""
    return sum(value <= best * (1.0 + AGREEMENT) for value in converged) >= AGREEING_DESCENTS


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
