"""Agreement of drawn servos with the units of a fleet, judged by the spread of their motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.export.references import GridRun, converged_positions
from core.servo.model import ServoModel

MIDDLE = 0.95
STEP = 1e-3
"""Sampling interval of compared motions [s]."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Comparison of draws with units, on the same goals and load."""

    spread: float
    """Spread of the units' motions: standard deviation over units, root mean square over time [rad]."""
    ratio: float
    """Spread of the draws' motions divided by the units': 1 is right, less is too narrow."""
    covered: float
    """Share of the units' positions within the central 95 % of the draws'."""
    energy: float
    """Energy distance of the motions divided by the units' mean distance from each other (Székely and Rizzo 2013): 0
    for the same distribution, 1 if units and draws have nothing in common."""

    @property
    def text(self) -> str:
        """Agreement in one sentence."""
        spread, covered, middle = 1e3 * self.spread, 100.0 * self.covered, 100.0 * MIDDLE
        return (
            f"motions of the draws have {self.ratio:.2f} times the spread of the units' ({spread:.3g} mrad), "
            f"{covered:.0f} % of the units' positions lie within the central {middle:.0f} % of the draws', energy "
            f"distance {self.energy:.2f}"
        )


def _spread(motions: Array) -> float:
    variance: Array = np.var(motions, axis=0, ddof=1)
    return float(np.sqrt(np.mean(variance)))


def agreement(units: Array, draws: Array) -> Agreement:
    """Compare motions of shape (units, samples) and (draws, samples) [rad]."""
    spread, drawn = _spread(units), _spread(draws)
    low: Array
    high: Array
    low, high = np.quantile(draws, (0.5 - MIDDLE / 2, 0.5 + MIDDLE / 2), axis=0)
    covered = float(np.mean((units >= low) & (units <= high)))
    across, among, within = _distance(units, draws), _distance(units, units), _distance(draws, draws)
    # Exclude pairs of a unit with itself, whose distance is 0.
    among *= len(units) / (len(units) - 1)
    within *= len(draws) / (len(draws) - 1)
    energy = max(0.0, 2.0 * across - among - within) / among if among > 0.0 else 0.0
    return Agreement(spread=spread, ratio=drawn / spread if spread > 0.0 else 1.0, covered=covered, energy=energy)


def motions(models: Sequence[ServoModel], runs: Sequence[GridRun]) -> Array:
    """Return the converged motions of models, runs concatenated, shape (models, samples) [rad]."""
    return np.array([np.concatenate([converged_positions(m, run, STEP) for run in runs]) for m in models])


def _distance(first: Array, second: Array) -> float:
    """Return the mean distance between a motion of each set [rad]."""
    return float(np.mean([np.sqrt(np.mean((second - one) ** 2, axis=1)).mean() for one in first]))
