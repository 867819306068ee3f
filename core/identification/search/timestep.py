"""The simulation step of a fit, chosen from what it costs.

A step that is too long moves the simulated motion, and the parameters absorb it: they then hold for that step only.
Before a search, rough descents from the start values and from random points of the bounds tell how large an error the
fit will leave, and the longest step is taken that costs a small share of it. At the optimum this is checked again. The
end of the search is polished with a finer step where the error of its own would be seen in the intervals of the
parameters, which are the narrower the more readings a fit rests on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from core.arrays import Array
from core.identification.evidence.sensitivity import correlation_length
from core.identification.search.objective import NO_PRIOR, Batch
from core.identification.search.polish import FINE, WIDE, polish
from core.identification.search.prior import Prior
from core.model import ServoModel
from core.recording import Recording
from core.terms import Supply

SEARCH_SHARE = 0.1
"""Share of the fit's mean absolute error that the step may cost."""
INTERVAL_SHARE = 0.5
"""In the result it may cost no more than this share of the error over √n, n being the number of independent readings:
the step then moves no parameter by more than about half its standard error."""
EXPECTED = 0.5
"""The search is expected to lower the error of the best rough descent to this share of it."""
PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Steps of a sampling interval to choose from."""
MOST_FINAL = 4
"""The result's step is at most this many times shorter than that of the search."""
ROUGH_STEP = 0.005
"""Longest step of the rough descents [s]."""
MOST_SAMPLES, FEWEST_RUNS = 6_000, 5
"""Size of the random selection of runs for the rough descents: at most so many samples, at least so many runs."""
RANDOM_STARTS = 1


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """How recordings are simulated: grid [s] (None: their own), kind of supply, threads and prior, see `Batch`."""

    dt: float | None = None
    supply: Supply = "logged"
    threads: int | None = None
    prior: Prior = NO_PRIOR

    def batch(self, model: ServoModel, recordings: Sequence[Recording]) -> Batch:
        """The recordings ready to be simulated."""
        return Batch(model, recordings, dt=self.dt, supply=self.supply, threads=self.threads, prior=self.prior)


def few(recordings: Sequence[Recording]) -> list[Recording]:
    """At most MOST_SAMPLES of a random selection of whole runs, but FEWEST_RUNS of them; the same each time."""
    order: list[int] = np.random.default_rng(0).permutation(len(recordings)).tolist()
    samples = np.cumsum([recordings[place].samples for place in order])
    return [recordings[place] for place in sorted(order[: max(FEWEST_RUNS, int((samples <= MOST_SAMPLES).sum()))])]


def fewest_parts(
    model: ServoModel, recordings: Sequence[Recording], how: Simulated, vector: Array, most: float, parts: Sequence[int]
) -> int:
    """The fewest of these parts of a sampling interval whose step costs at most `most` [rad] at a candidate (n_free,);
    the last where none does.

    A step costs the mean |θ(h) − θ(0)|, which for a second-order step is 4/3 of |θ(h) − θ(h/2)|, or 16/3 of
    |θ(h/2) − θ(h/4)|. The lesser counts in each run: where a shaft comes to rest a moment earlier or later, and from
    there on somewhere else, one of the two is large however short the step.
    """
    found = model.with_vector(vector)

    @cache
    def motions(count: int) -> list[Array]:
        batch = how.batch(replace(found, substeps=count), recordings)
        return batch.residuals(None, lambda _, residuals: residuals[:, 0].copy())

    @cache
    def halved(count: int) -> Array:
        return np.array([np.abs(a - b).mean() for a, b in zip(motions(count), motions(2 * count), strict=True)])

    for count in parts:
        if 4.0 / 3.0 * np.minimum(halved(count), 4.0 * halved(2 * count)).mean() <= most:
            return count
    return parts[-1]


def chosen_parts(template: ServoModel, recordings: Sequence[Recording], how: Simulated) -> int:
    """Parts of a sampling interval (the template's dt) to search with, from the error and the cost to be expected."""
    fewest = next((count for count in PARTS if template.dt / count <= ROUGH_STEP), PARTS[-1])
    rough = how.batch(replace(template, substeps=fewest), few(recordings))
    pieces = rough.in_pieces(1.0)
    low, high = template.parameters.bounds().T
    random = np.random.default_rng(0).uniform(0.05, 0.95, (RANDOM_STARTS, len(low)))
    ends: list[Array] = []
    for start in (template.parameters.vector(), *(low + random * (high - low))):
        led, _ = polish(pieces, start, rough=True, difference=WIDE)
        ends.append(polish(rough, led, rough=True, difference=FINE)[0])
    errors = rough.scores(np.array(ends)).combined("mae")
    best = int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))
    return fewest_parts(
        template, recordings, how, ends[best], SEARCH_SHARE * expected_error(template, EXPECTED * errors[best]), PARTS
    )


def final_share(residuals: Sequence[Array]) -> float:
    """Share of the mean absolute error that the step of a result may cost, by its residuals of each run (n,) [rad]."""
    independent = sum(map(len, residuals)) / correlation_length(residuals)
    return min(SEARCH_SHARE, INTERVAL_SHARE / math.sqrt(independent))


def expected_error(model: ServoModel, error: float) -> float:
    """A mean error [rad], but no less than the encoder's rounding leaves."""
    return max(error, 0.25 * model.spec.encoder_step)
