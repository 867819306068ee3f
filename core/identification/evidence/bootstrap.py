"""Bootstrap over runs: how far the values would move had other runs of the same kind been recorded.

Runs are drawn anew with replacement and the model is polished on each draw, from where the fit lies. Samples of one
run err alike and runs under other conditions err otherwise; of both an interval from one residual's variance knows
little, while this asks the runs themselves (Efron and Tibshirani 1993, chapter 8). What the runs do not determine
stays near the fit, so that its spread says little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core.arrays import Array
from core.errors import IdentificationError
from core.identification.evidence.certainty import Bootstrap, Spread
from core.identification.search.objective import NO_PRIOR, Batch
from core.identification.search.polish import FINE, polish
from core.identification.search.prior import Prior
from core.model import ServoModel
from core.recording import Recording
from core.terms import Supply

FEWEST_DRAWS = 2
PERCENTILES = (2.5, 97.5)


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
    """Spread of every free parameter over draws of the runs a model was fitted to.

    The first draws are the same however many there are. on_draw hears how many are done; should_stop and should_yield
    (as `identify`) are polled between them, complete ones are kept, None where they are too few. Raises
    IdentificationError for fewer than two runs or draws.
    """
    if draws < FEWEST_DRAWS:
        raise IdentificationError(f"{draws} draw of the runs shows no spread: ask for at least {FEWEST_DRAWS}")
    if len({recording.id for recording in recordings}) < 2:
        raise IdentificationError(
            "the fit has one run only, and a bootstrap draws runs: record more, or leave the bootstrap out"
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
