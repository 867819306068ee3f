"""Bootstrap over runs: how far the values would move if other runs of the same kind had been recorded.

Runs are drawn with replacement, and the model is polished on each draw, from the values of the fit. Samples of one run
have correlated errors, and runs under other conditions have other errors. An interval from the variance of the
residuals hardly reflects either; the bootstrap does (Efron and Tibshirani 1993, chapter 8). Values that the runs do not
determine stay near the fit, so their spread has little meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.identification.evidence.certainty import Bootstrap, Spread
from core.identification.search.objective import NO_PRIOR, Batch
from core.identification.search.polish import FINE, polish
from core.identification.search.prior import Prior
from core.identification.search.steps import one_blas_thread
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply

FEWEST_DRAWS = 2
PERCENTILES = (2.5, 97.5)


@one_blas_thread()
def bootstrap(
    model: ServoModel,
    recordings: Sequence[Recording],
    draws: int,
    seed: int = 0,
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
    prior: Prior = NO_PRIOR,
    on_draw: Callable[[int], None] = lambda done: None,
    should_stop: Callable[[], bool] = lambda: False,
    should_yield: Callable[[], bool] = lambda: False,
) -> Bootstrap | None:
    """Return the spread of every free parameter over draws of the runs that a model was fitted to.

    The first draws are the same for any number of draws.

    Args:
        model: Fitted model.
        recordings: Runs that it was fitted to.
        draws: Number of draws.
        seed: Random seed.
        dt: Time between samples [s], see `Batch`.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.
        prior: Prior of the fit.
        on_draw: Called with the number of complete draws.
        should_stop: Polled between draws. True stops and keeps complete draws.
        should_yield: As for `identify`.

    Returns:
        The spread, or None if there are too few complete draws.

    Raises:
        IdentificationError: There are fewer than two runs or draws.
    """
    if draws < FEWEST_DRAWS:
        raise IdentificationError(f"{draws} draw of the runs shows no spread: use at least {FEWEST_DRAWS}")
    if len({recording.id for recording in recordings}) < 2:
        raise IdentificationError(
            "the fit has only one run, and a bootstrap draws runs: record more, or leave the bootstrap out"
        )
    found: list[Array] = []
    for number in range(draws):
        if should_stop():
            break
        drawn: list[int] = (
            np.random.default_rng([seed, number]).integers(len(recordings), size=len(recordings)).tolist()
        )
        batch = Batch(model, [recordings[i] for i in drawn], dt=dt, supply=supply, threads=threads, prior=prior)
        batch.spared = 1 if should_yield() else 0
        start, _ = polish(batch, model.parameters.vector(), difference=FINE)
        found.append(polish(batch, start)[0])
        on_draw(number + 1)
    if len(found) < FEWEST_DRAWS:
        return None
    values = np.array(found)
    low, high = np.percentile(values, PERCENTILES, axis=0)
    errors = values.std(axis=0, ddof=1)
    return Bootstrap(
        draws=len(found),
        seed=seed,
        spreads=tuple(
            Spread(name=p.name, standard_error=float(error), lower=float(lower), upper=float(upper))
            for p, error, lower, upper in zip(model.parameters.free, errors, low, high, strict=True)
        ),
    )
