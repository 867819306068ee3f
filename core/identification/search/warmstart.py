"""Continuation of a search from a known optimum, with other free parameters and a few more evaluations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.identification.search.objective import Batch
from core.identification.search.search import search
from core.servo.model import ServoModel
from core.servo.terms import Metric

__all__ = ["NEAR", "NEARER", "Reduction", "reduction", "search_on"]

NEAR, NEARER = 0.5, 0.1
"""Share of the bounds that is searched around the best known point, first and second."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """Search space within a model's: some free parameters are held, some are tied to others.

    A reduced vector becomes the model's by `fixed + spread @ reduced`. fixed (n_free,) holds the values of held
    parameters and 0 elsewhere, spread (n_free, n_reduced) is a selection, and bounds are (n_reduced, 2).
    """

    fixed: Array
    spread: Array
    bounds: Array

    def full(self, reduced: Array) -> Array:
        """Return candidates (p, n_reduced) in the model's free parameters, (p, n_free)."""
        return self.fixed + reduced @ self.spread.T

    def reduced(self, full: Array) -> Array:
        """Return the nearest candidate of the reduced space, (n_reduced,); tied parameters are averaged."""
        shares = self.spread / np.maximum(self.spread.sum(axis=0), 1.0)
        return np.clip(full @ shares, self.bounds[:, 0], self.bounds[:, 1])


def reduction(model: ServoModel, held: dict[str, float], tied: Sequence[tuple[str, str]] = ()) -> Reduction:
    """Hold free parameters at values, possibly beyond their bounds, and tie pairs of them to one value."""
    names = [p.name for p in model.parameters.free]
    limits = model.parameters.bounds()
    leader = {second: first for first, second in tied if first in names and second in names}
    moving = [name for name in names if name not in held and name not in leader]
    fixed = np.array([held.get(name, 0.0) for name in names])
    spread = np.zeros((len(names), len(moving)))
    bounds = np.empty((len(moving), 2))
    for column, name in enumerate(moving):
        members = [row for row, other in enumerate(names) if other not in held and leader.get(other, other) == name]
        spread[members, column] = 1.0
        bounds[column] = limits[members, 0].max(), limits[members, 1].min()
    return Reduction(fixed, spread, bounds)


def search_on(
    model: ServoModel,
    batch: Batch,
    trials: int,
    seed: int,
    *,
    metric: Metric = "mae",
    within: Reduction | None = None,
    should_stop: Callable[[], bool] | None = None,
    should_yield: Callable[[], bool] | None = None,
) -> ServoModel:
    """Search from a model for a better one.

    The first half of the evaluations searches NEAR the start, the second NEARER the best of those. The result is never
    worse than the start.

    Args:
        model: Start.
        batch: Recordings, prepared for this model.
        trials: Number of evaluations.
        seed: Random seed.
        metric: Error to minimise, with the batch's prior.
        within: Reduced search space. None: all free parameters.
        should_stop: Polled between generations.
        should_yield: As for `identify`.
    """

    def values(candidates: Array) -> Array:
        batch.spared = 1 if should_yield is not None and should_yield() else 0
        full = space.full(candidates)
        return batch.penalised(batch.scores(full).combined(metric), full)

    space = within or reduction(model, {})
    best = space.reduced(model.parameters.vector())
    for share, seed_of_half in ((NEAR, seed), (NEARER, seed + 1)):
        half = 0.5 * share * (space.bounds[:, 1] - space.bounds[:, 0])
        box = np.column_stack(
            [np.maximum(best - half, space.bounds[:, 0]), np.minimum(best + half, space.bounds[:, 1])]
        )
        best = search(
            values,
            box,
            [best],
            max(1, trials // 2),
            seed_of_half,
            should_stop=should_stop,
        ).best
    return model.with_vector(space.full(best))
