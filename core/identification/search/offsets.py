"""Offsets of single runs: a horn that was put on anew, a supply that was not measured, as nuisance parameters.

An angle and a voltage of its own for every run are fitted in turn with the values that all runs share (block
coordinate descent), each under a normal prior about what the headers say. The shared values then no longer make up for
single runs; the offsets themselves tell which runs were made otherwise. Reported errors of a model exclude them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.arrays import Array
from core.identification.evidence.model import RunOffset
from core.identification.evidence.sensitivity import correlation_length, deviance_factor
from core.identification.search.objective import Batch
from core.identification.search.polish import FINE, polish, smooth_scale
from core.identification.search.steps import normal_equations, smooth_loss

SPREADS = np.array([0.02, 0.3])
"""Standard deviations of the priors: angle [rad], supply [V]."""
DIFFERENCES = np.array([1e-4, 1e-2])
"""Of the derivatives by them."""
SHARES = (1.0, 0.5, 0.25, 0.0)
"""Of a step that are tried."""
ROUNDS = 6
ENOUGH = 0.05
"""Largest movement, in standard deviations of the priors, that ends them."""


@dataclass(frozen=True, eq=False)
class Offsets:
    """Angle [rad] and supply [V] of each run, (runs, 2), and their standard errors."""

    values: Array
    errors: Array

    def reported(self, batch: Batch) -> tuple[RunOffset, ...]:
        """By run."""
        return tuple(
            RunOffset(id=identity, angle=v[0], angle_error=e[0], supply=v[1], supply_error=e[1])
            for identity, v, e in zip(batch.ids, self.values.tolist(), self.errors.tolist(), strict=True)
        )


def with_offsets(batch: Batch, vector: Array) -> tuple[Array, Offsets]:
    """Values (n,) of the batch's model near `vector` that follow the runs best where each has offsets of its own."""
    offsets = Offsets(np.zeros((len(batch.samples), 2)), np.tile(SPREADS, (len(batch.samples), 1)))
    for _ in range(ROUNDS):
        before = offsets.values
        for _ in range(2):
            offsets = _improved(batch, vector, offsets)
        vector, _ = polish(batch.shifted(*offsets.values.T), vector, rough=True, difference=FINE)
        if np.abs((offsets.values - before) / SPREADS).max() < ENOUGH:
            break
    vector, _ = polish(batch.shifted(*offsets.values.T), vector)
    return vector, _improved(batch, vector, offsets)


def _improved(batch: Batch, vector: Array, offsets: Offsets) -> Offsets:
    """A Gauss-Newton step of each run's offsets."""
    scale = smooth_scale(batch.model.servo)
    here = _residuals(batch, vector, offsets.values)
    answers: list[list[Array]] = []
    for which, difference in enumerate(DIFFERENCES):
        moved = np.eye(2)[which] * difference
        above, below = (_residuals(batch, vector, offsets.values + sign * moved) for sign in (1.0, -1.0))
        answers.append([(a - b) / (2.0 * difference) for a, b in zip(above, below, strict=True)])
    alike = correlation_length(here)
    # Of one run's deviance for a rise of its summed loss: neighbours err alike.
    factor = deviance_factor(np.concatenate(here), scale) / alike
    steps, errors = np.empty_like(offsets.values), np.empty_like(offsets.values)
    for run, residual in enumerate(here):
        normal, slope = normal_equations(np.column_stack([answer[run] for answer in answers]), residual, scale)
        precision = 0.5 * factor * normal + np.diag(SPREADS**-2)
        steps[run] = -np.linalg.solve(precision, 0.5 * factor * slope + offsets.values[run] / SPREADS**2)
        errors[run] = np.sqrt(np.diag(np.linalg.inv(precision)))
    tried = [offsets.values + share * steps for share in SHARES]
    costs = [
        [factor * smooth_loss(r, scale).sum() + np.sum((v / SPREADS) ** 2) for r, v in zip(found, values, strict=True)]
        for values in tried
        for found in [_residuals(batch, vector, values)]
    ]
    best = np.argmin(costs, axis=0)
    return Offsets(np.array(tried)[best, np.arange(len(best))], errors)


def _residuals(batch: Batch, vector: Array, values: Array) -> list[Array]:
    return batch.shifted(*values.T).residuals(vector[None], lambda _, residuals: residuals[:, 0].copy())
