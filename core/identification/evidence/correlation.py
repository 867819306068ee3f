"""Correlations of a fit's estimates, from the Jacobian at the optimum: parameters that move together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.identification.evidence.sensitivity import SMALLEST, Sensitivity

STRONG = 0.95
"""Correlation beyond which parameters cannot be distinguished."""

IDLE = 1e-6
"""A parameter has no effect if its column is shorter than this share of the longest."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations of a model's free parameters."""

    symbols: tuple[str, ...]
    matrix: Array
    """Correlations, (p, p); NaN for parameters without effect in these runs."""

    @property
    def idle(self) -> tuple[str, ...]:
        """Symbols of the parameters without effect."""
        return tuple(s for s, own in zip(self.symbols, np.diag(self.matrix), strict=True) if np.isnan(own))

    @property
    def pairs(self) -> tuple[tuple[str, str, float], ...]:
        """Pairs beyond STRONG, the closest first."""
        found = [
            (self.symbols[i], self.symbols[k], float(self.matrix[i, k]))
            for i in range(len(self.symbols))
            for k in range(i + 1, len(self.symbols))
            if abs(self.matrix[i, k]) > STRONG
        ]
        return tuple(sorted(found, key=lambda pair: -abs(pair[2])))


def correlations(found: Sensitivity) -> Correlations:
    """Return the correlations of the estimates, from the inverse of JᵀJ in catalogue intervals.

    Singular values of J below SMALLEST of the largest are raised to it. An exact trade-off then shows as ±1, where a
    pseudo-inverse would leave it out.
    """
    jacobian = found.jacobian
    symbols = tuple(p.symbol for p in found.parameters)
    matrix = np.full((len(symbols), len(symbols)), np.nan)
    lengths = np.linalg.norm(jacobian, axis=0)
    seen = lengths > IDLE * lengths.max(initial=0.0)
    if seen.any():
        _, singular, directions = np.linalg.svd(np.linalg.qr(jacobian[:, seen], mode="r"), full_matrices=True)
        known = np.zeros(len(directions))
        known[: len(singular)] = singular
        scaled = directions / np.maximum(known, SMALLEST * known[0])[:, None]
        covariance = scaled.T @ scaled
        spread = np.sqrt(np.diag(covariance))
        matrix[np.ix_(seen, seen)] = np.clip(covariance / np.outer(spread, spread), -1.0, 1.0)
    return Correlations(symbols, matrix)
