"""A time step so fine that the result does not depend on it.

The integrator is of first order, so that parameters fitted with a step make up for what the step costs, and another
engine or another step follows the motion worse. The search takes the coarse step; its end is polished with steps half
as long, and again half as long, until a step ten times finer moves the motion by a small share of the fit's own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.identification.evaluate import discretisation_error, evaluate
from core.identification.objective import NO_PRIOR, Batch
from core.identification.polish import FINE, polish, smooth_losses
from core.identification.prior import Prior
from core.model import ServoModel
from core.recording import Recording

Array = NDArray[np.float64]

SHARE = 0.1
"""Of the fit's mean absolute error that the step may cost: errors add in squares, so that this changes it by 0.5 %."""
FINEST = 16
"""Most parts of a step."""


def refined(
    model: ServoModel,
    recordings: Sequence[Recording],
    others: Sequence[Array] = (),
    lifted: Sequence[Array] = (),
    *,
    dt: float | None = None,
    supply: str = "logged",
    threads: int | None = None,
    prior: Prior = NO_PRIOR,
) -> tuple[ServoModel, list[Array]]:
    """A fitted model with as many substeps as its motion needs, its values polished with them, and its other optima.

    others: values (n_free,) at other optima, polished with the last step; lifted: those of simpler models fitted
    before, which the result is never worse than.
    """
    options: dict[str, Any] = {"dt": dt, "supply": supply, "threads": threads}
    first = model.substeps
    while 2 * model.substeps <= FINEST and _costs_too_much(model, recordings, options):
        model = replace(model, substeps=2 * model.substeps)
        batch = Batch(model, recordings, **options, prior=prior)
        starts = np.array([model.parameters.vector(), *lifted])
        vector, _ = polish(batch, starts[int(np.argmin(smooth_losses(batch, starts)))], rough=True, difference=FINE)
        model = model.with_parameters(model.parameters.with_vector(vector))
    if model.substeps == first:
        return model, list(others)
    batch = Batch(model, recordings, **options, prior=prior)
    moved = [polish(batch, other, rough=True, difference=FINE)[0] for other in others]
    ranked = [model.parameters.vector(), *moved]
    ranked = [ranked[place] for place in np.argsort(smooth_losses(batch, np.array(ranked)))]
    vector, _ = polish(batch, ranked[0])
    return model.with_parameters(model.parameters.with_vector(vector)), ranked[1:]


def _costs_too_much(model: ServoModel, recordings: Sequence[Recording], options: dict[str, Any]) -> bool:
    cost = discretisation_error(model, recordings, dt=options["dt"], supply=options["supply"])
    return cost > SHARE * evaluate(model, recordings, **options).mean_mae
