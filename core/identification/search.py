"""Global search: CMA-ES by ask and tell (Hansen and Ostermeier 2001, package `cmaes`) with our own restarts.

A search is a sequence of descents, each with twice the population of the one before (IPOP, Auger and Hansen 2005) and
each ended when it no longer improves. The first ones begin at given starts; after them, one that spreads out again
from the best point takes turns with one from a random point. On real recordings the former left the nearby optima in
which single descents end. The search ends when its budget is used or when several descents have ended at the same
best value. The whole sequence is a pure function of the seed and of the objective's values, which makes a search
resumable: the values on record are told again, and the search goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from cmaes import CMA
from numpy.typing import NDArray

Array = NDArray[np.float64]

POPULATION = 16
"""Candidates of the first descent: one block of the kernel's lanes."""

LARGEST_POPULATION = 128
START_SIGMA = 0.2
"""Of the unit interval."""
WARM_SIGMA = 0.07
"""For starts after the first, which are optima of other models."""
RANDOM_SIGMA = 0.3
MARGIN = 0.02
"""Starts are moved this far off their bounds, as a distribution centred on a bound loses half its samples."""
IMPROVEMENT = 1e-4
"""Relative improvement that counts as progress."""
AGREEMENT = 1e-3
"""A descent that ends this close to the best, relatively, has found the same optimum."""
AGREEING_DESCENTS = 3
"""So many descents with the same optimum end the search."""


@dataclass(frozen=True)
class Generation:
    """One population of a search."""

    descent: int
    """0 for the first descent, then 1, 2, …"""
    index: int
    """Counts generations over all descents."""
    evaluations: int
    """Candidates evaluated so far, this population included."""
    sigma: float
    """Step size, of the unit interval."""
    values: tuple[float, ...]
    """Objective of each candidate."""
    best: Array
    """Best candidate of this generation in the parameters' units, (n,)."""
    best_value: float
    overall_best_value: float
    improved: bool
    """Whether it holds the best candidate so far."""


@dataclass(frozen=True)
class SearchResult:
    """Outcome of a search."""

    best: Array
    value: float
    evaluations: int
    descents: int
    stopped: bool
    """Whether it was asked to stop before its budget was used."""


def search(
    objective: Callable[[Array], Array],
    bounds: Array,
    starts: Sequence[Array],
    budget: int,
    seed: int,
    *,
    recorded: Sequence[Sequence[float]] = (),
    on_generation: Callable[[Generation], None] | None = None,
    on_recorded: Callable[[Generation], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """Minimise an objective over a box.

    objective: (p, n) candidates → (p,) values; bounds (n, 2); starts: candidates (n,) that are evaluated exactly and
    each begin a descent, in order, with an even share of the budget; budget: evaluations; recorded: values of the first
    generations of an earlier search with the same seed and bounds, told instead of evaluated; on_recorded hears of
    these, on_generation of the others. The result is never worse than any start.
    """
    lower, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    dimension = len(bounds)
    patience = 30 + 3 * dimension
    randomness = np.random.default_rng(np.random.SeedSequence([seed, dimension]))
    past = iter(recorded)
    state = _Progress()

    def evaluate(unit: Array, descent: int, sigma: float) -> Array:
        candidates = lower + width * unit
        known = next(past, None)
        fresh = known is None or len(known) != len(unit)
        values = np.asarray(objective(candidates) if fresh else known, dtype=np.float64)
        values = np.where(np.isfinite(values), values, np.finfo(np.float64).max)
        generation = state.take(unit, candidates, values, descent, sigma)
        tell = on_generation if fresh else on_recorded
        if tell is not None:
            tell(generation)
        return values

    ordered = [(start - lower) / np.where(width > 0, width, 1.0) for start in starts]
    evaluate(np.clip(np.array(ordered), 0.0, 1.0), 0, 0.0)

    descent = 0
    stopped = False
    converged: list[float] = []
    while state.evaluations < budget and not stopped and not _agreed(converged, state.value):
        if descent < len(ordered):
            mean, sigma = ordered[descent], START_SIGMA if descent == 0 else WARM_SIGMA
        elif (descent - len(ordered)) % 2 == 0:
            mean, sigma = state.unit_best, START_SIGMA
        else:
            mean, sigma = randomness.uniform(0.1, 0.9, dimension), RANDOM_SIGMA
        population = min(POPULATION * 2 ** min(descent, 10), LARGEST_POPULATION)
        cma = CMA(
            mean=np.clip(mean, MARGIN, 1.0 - MARGIN),
            sigma=sigma,
            bounds=np.tile([0.0, 1.0], (dimension, 1)),
            population_size=population,
            seed=int(randomness.integers(2**31)),
        )
        share = _descent_budget(state.evaluations, budget, descent, len(ordered))
        best, idle = np.inf, 0
        while state.evaluations < share and idle < patience:
            # What is on record is told first, which takes no time: stopping must not end with less than there was.
            if should_stop is not None and state.generations >= len(recorded) and should_stop():
                stopped = True
                break
            unit = np.array([cma.ask() for _ in range(population)])
            values = evaluate(unit, descent, float(cma._sigma))
            cma.tell(list(zip(unit, values.tolist(), strict=True)))
            progress = float(values.min()) < best * (1.0 - IMPROVEMENT)
            idle = 0 if progress else idle + 1
            best = min(best, float(values.min()))
            if cma.should_stop():
                idle = patience
        if idle >= patience:
            converged.append(best)
        descent += 1
    return SearchResult(state.best, state.value, state.evaluations, descent, stopped)


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

    def take(self, unit: Array, candidates: Array, values: Array, descent: int, sigma: float) -> Generation:
        self.evaluations += len(values)
        winner = int(values.argmin())
        improved = bool(values[winner] < self.value)
        if improved:
            self.value = float(values[winner])
            self.best = candidates[winner].copy()
            self.unit_best = unit[winner].copy()
        generation = Generation(
            descent=descent,
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
