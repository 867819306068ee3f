"""Time step of a fit's simulation, chosen by its cost.

A time step that is too long changes the simulated motion. The parameters absorb the difference and are then valid for
that step only. Before a search, rough descents from the start values and from random points show how large the error of
the fit will be. The longest step that costs a small share of this error is taken, and checked again at the optimum. The
end of the search is polished with a finer step if its error would affect the intervals of the parameters, which become
narrower with the number of readings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from core.base.arrays import Array
from core.identification.defaults import SEARCH_SHARE
from core.identification.evidence.sensitivity import correlation_length
from core.identification.request import IdentificationRequest, search_template
from core.identification.search.objective import NO_PRIOR, Batch
from core.identification.search.polish import FINE, WIDE, polish
from core.identification.search.prior import Prior
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply

INTERVAL_SHARE = 0.5
"""Share of the error over √n that the time step of the result may cost; n is the number of independent readings.

The time step then moves no parameter by more than about half its standard error.
"""
EXPECTED = 0.5
"""Ratio to which the search is expected to lower the error of the best rough descent."""
PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of time steps per sampling interval to choose from."""
MOST_FINAL = 4
"""Largest ratio of the search's time step to the result's."""
ROUGH_STEP = 0.005
"""Longest time step of the rough descents [s]."""
MOST_SAMPLES, FEWEST_RUNS = 6_000, 5
"""Size of the random selection of runs for the rough descents: largest number of samples, smallest number of runs."""
RANDOM_STARTS = 1


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Simulation of recordings: time between samples [s] (None: their own), supply, threads and prior, see `Batch`."""

    dt: float | None = None
    supply: Supply = "logged"
    threads: int | None = None
    prior: Prior = NO_PRIOR

    @classmethod
    def asked(cls, request: IdentificationRequest, friction: str, runs: int) -> Simulated:
        """Return how a request simulates a number of runs to fit a friction model to them."""
        prior = Prior.about(search_template(request, friction), request.prior, runs)
        return cls(dt=request.dt, supply=request.supply, threads=request.threads, prior=prior)

    def batch(self, model: ServoModel, recordings: Sequence[Recording]) -> Batch:
        """Return the recordings, prepared for the simulation."""
        return Batch(model, recordings, dt=self.dt, supply=self.supply, threads=self.threads, prior=self.prior)


def with_one_period(model: ServoModel, recordings: Sequence[Recording]) -> ServoModel:
    """Return the model with the control period of any of the runs for all of them, since it is that of the servo."""
    period = max(model.control.period(recording.settings) for recording in recordings)
    return replace(model, control=replace(model.control, control_period=period))


def few(recordings: Sequence[Recording]) -> list[Recording]:
    """Return at most MOST_SAMPLES, but at least FEWEST_RUNS runs, selected at random but always the same."""
    order: list[int] = np.random.default_rng(0).permutation(len(recordings)).tolist()
    samples = np.cumsum([recordings[place].samples for place in order])
    return [recordings[place] for place in sorted(order[: max(FEWEST_RUNS, int((samples <= MOST_SAMPLES).sum()))])]


def fewest_parts(
    model: ServoModel, recordings: Sequence[Recording], how: Simulated, vector: Array, most: float, parts: Sequence[int]
) -> int:
    """Return the smallest number of steps per sampling interval whose cost is at most `most`.

    A step costs the mean |θ(h) − θ(0)|. For a second-order step and a ratio r this is |θ(h) − θ(h/r)| / (1 − 1/r²), or
    r² times that of the step h/r. The smaller one counts in each run: where a shaft comes to rest slightly earlier or
    later, and from there on somewhere else, one of the two is large however short the step is.

    The ratio is not an integer. A delay of the command that is a whole number of steps would be one of the shorter
    steps as well, and what the step costs at any other delay would not show.

    Args:
        model: The model.
        recordings: The recordings.
        how: Simulation.
        vector: Candidate, (n_free,).
        most: Largest cost [rad].
        parts: Numbers to choose from, rising.

    Returns:
        The number of steps; the last of `parts` if none suffices.
    """
    found = model.with_vector(vector)

    @cache
    def motions(count: int) -> list[Array]:
        batch = how.batch(replace(found, substeps=count), recordings)
        return batch.residuals(None, lambda _, residuals: residuals[:, 0].copy())

    @cache
    def costs(count: int) -> Array:
        finer = 2 * count + 1
        apart = [np.abs(a - b).mean() for a, b in zip(motions(count), motions(finer), strict=True)]
        return np.array(apart) / (1.0 - (count / finer) ** 2)

    for count in parts:
        finer = 2 * count + 1
        if np.minimum(costs(count), (finer / count) ** 2 * costs(finer)).mean() <= most:
            return count
    return parts[-1]


def chosen_parts(template: ServoModel, recordings: Sequence[Recording], how: Simulated) -> int:
    """Return the steps per sampling interval (the template's dt) to search with, from the expected error and cost."""
    # No time step is longer than the control period, whatever is chosen.
    least = max(template.steps_between(template.dt, run.settings) for run in recordings)
    parts = [least, *(count for count in PARTS if count > least)]
    fewest = next((count for count in parts if template.dt / count <= ROUGH_STEP), parts[-1])
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
        template, recordings, how, ends[best], SEARCH_SHARE * expected_error(template, EXPECTED * errors[best]), parts
    )


def final_share(residuals: Sequence[Array]) -> float:
    """Return the share of the mean absolute error that a result's time step may cost; residuals in rad."""
    independent = sum(map(len, residuals)) / correlation_length(residuals)
    return min(SEARCH_SHARE, INTERVAL_SHARE / math.sqrt(independent))


def expected_error(model: ServoModel, error: float) -> float:
    """Return a mean error [rad], at least the error of the encoder's rounding."""
    return max(error, model.spec.rounding_error)
