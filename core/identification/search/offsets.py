"""Offsets of single runs as nuisance parameters: a remounted horn, a supply that was not measured, a late command.

An angle, a voltage and a delay for each run are fitted alternately with the values that all runs share (block
coordinate descent), under normal priors on the deviation from the headers. The shared values then no longer absorb the
differences of single runs, and the offsets show which runs differ. Reported errors of a model exclude the offsets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.identification.evidence.model import RunOffset
from core.identification.evidence.sensitivity import correlation_length, deviance_factor
from core.identification.search.objective import Batch
from core.identification.search.polish import FINE, polish, smooth_scale
from core.identification.search.steps import normal_equations, smooth_loss

NAMES = ("angle", "supply", "delay")
ERRORS = tuple(f"{name}_error" for name in NAMES)
SPREADS = np.array([0.02, 0.3, 0.005])
"""Standard deviations of the priors: angle [rad], supply voltage [V], delay of the command [s].

The commands of 296 runs of an STS3215 took effect 24.7 ± 6.3 ms late.
"""
DIFFERENCES = np.array([1e-4, 1e-2, 2e-4])
"""Differences for the derivatives by the same."""
SHARES = (1.0, 0.5, 0.25, 0.0)
"""Shares of a step that are tried."""
ROUNDS = 6
ENOUGH = 0.05
"""The iteration ends when the largest change is below this, in standard deviations of the priors."""


@dataclass(frozen=True, eq=False)
class Offsets:
    """Offsets of each run in the order of SPREADS, (runs, 3), and their standard errors."""

    values: Array
    errors: Array

    def reported(self, batch: Batch) -> tuple[RunOffset, ...]:
        """Return the offsets of each run."""
        return tuple(
            RunOffset(id=identity, **dict(zip(NAMES, v, strict=True)), **dict(zip(ERRORS, e, strict=True)))
            for identity, v, e in zip(batch.ids, self.values.tolist(), self.errors.tolist(), strict=True)
        )


def with_offsets(batch: Batch, vector: Array) -> tuple[Array, Offsets]:
    """Return values (n,) of the batch's model near `vector` that fit best with run offsets, and the offsets."""
    offsets = Offsets(np.zeros((len(batch.samples), len(SPREADS))), np.tile(SPREADS, (len(batch.samples), 1)))
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
    """Take a Gauss-Newton step of each run's offsets."""
    scale = smooth_scale(batch.model.servo)
    here = _residuals(batch, vector, offsets.values)
    answers: list[list[Array]] = []
    for which, difference in enumerate(DIFFERENCES):
        moved = np.eye(len(SPREADS))[which] * difference
        above, below = (_residuals(batch, vector, offsets.values + sign * moved) for sign in (1.0, -1.0))
        answers.append([(a - b) / (2.0 * difference) for a, b in zip(above, below, strict=True)])
    alike = correlation_length(here)
    # Converts a rise of one run's summed loss to deviance; neighbouring samples have similar errors.
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
    values: Array = np.array(tried)[best, np.arange(len(best))]
    # A delay that most runs share is the model's.
    values[:, -1] -= np.median(values[:, -1])
    return Offsets(values, errors)


def _residuals(batch: Batch, vector: Array, values: Array) -> list[Array]:
    return batch.shifted(*values.T).residuals(vector[None], lambda _, residuals: residuals[:, 0].copy())
