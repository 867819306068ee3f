"""How well drawn servos stand for the units of a fleet: by how their motions are spread, whatever their values are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Array
from core.export.references import GridRun, converged_positions
from core.model import ServoModel

MIDDLE = 0.95
STEP = 1e-3
"""Between the samples of a motion that is compared [s]."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Draws held against units, on the same goals and load."""

    spread: float
    """Of the units' motions: standard deviation over units, root mean square over time [rad]."""
    ratio: float
    """The same of the draws' motions over it: 1 is right, less is too narrow."""
    covered: float
    """Share of the units' positions that lie within the middle 95 % of the draws'."""
    energy: float
    """Energy distance of the motions over the units' mean distance from each other (Székely and Rizzo 2013): 0 for the
    same distribution, 1 where units and draws have nothing in common."""

    @property
    def text(self) -> str:
        """One sentence."""
        spread, covered, middle = 1e3 * self.spread, 100.0 * self.covered, 100.0 * MIDDLE
        return (
            f"motions of the draws are spread {self.ratio:.2f} times as wide as the units' ({spread:.3g} mrad), "
            f"{covered:.0f} % of the units' positions lie within the middle {middle:.0f} % of the draws', energy "
            f"distance {self.energy:.2f}"
        )


def _spread(motions: Array) -> float:
    variance: Array = np.var(motions, axis=0, ddof=1)
    return float(np.sqrt(np.mean(variance)))


def agreement(units: Array, draws: Array) -> Agreement:
    """Compare motions: (units, samples) and (draws, samples) [rad]."""
    spread, drawn = _spread(units), _spread(draws)
    low: Array
    high: Array
    low, high = np.quantile(draws, (0.5 - MIDDLE / 2, 0.5 + MIDDLE / 2), axis=0)
    covered = float(np.mean((units >= low) & (units <= high)))
    across, among, within = _distance(units, draws), _distance(units, units), _distance(draws, draws)
    # Pairs of a unit with itself say nothing.
    among *= len(units) / (len(units) - 1)
    within *= len(draws) / (len(draws) - 1)
    energy = max(0.0, 2.0 * across - among - within) / among if among > 0.0 else 0.0
    return Agreement(spread=spread, ratio=drawn / spread if spread > 0.0 else 1.0, covered=covered, energy=energy)


def motions(models: Sequence[ServoModel], runs: Sequence[GridRun]) -> Array:
    """Converged motions of models, run after run, (models, samples) [rad]."""
    return np.array([np.concatenate([converged_positions(m, run, STEP) for run in runs]) for m in models])


def _distance(first: Array, second: Array) -> float:
    """Mean distance of two motions, one of each kind [rad]."""
    return float(np.mean([np.sqrt(np.mean((second - one) ** 2, axis=1)).mean() for one in first]))
