"""The last part of a fit: a smooth loss made small from where the search ended.

A search makes the mean absolute error small, which outliers and model error do not lead astray. On readings rounded to
encoder steps that error is smallest where a shaft at rest lies on a step, not where it was. The polish minimises
√(r² + ε²) with ε one encoder step (pseudo-Huber): squares for residuals of the encoder's kind, absolute values for all
larger ones, where it changes next to nothing. It is smooth, so that damped Gauss-Newton steps find its minimum, and
intervals follow from it (Huber 1964). Several dampings are tried at each step, as a simulation costs little beside the
Jacobian; SciPy's trust region spends most of its time on decompositions of tall matrices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.catalogue import load_servo
from core.identification.objective import Batch
from core.identification.sensitivity import DIFFERENCE, Differences

Array = NDArray[np.float64]

MOST_STEPS = 25
"""Each takes one Jacobian."""
ENOUGH = 1e-6
"""Relative improvement that ends it."""
ROUGH_STEPS, ROUGH = 12, 1e-3
"""The same for a polish that is one of many."""
DAMPINGS = np.array([1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4])
"""Tried at each step, relative to the last one that served."""
SHARES = (1.0, 0.5)
"""Of each damped step: as many candidates as the kernel simulates together."""
WORST_TRUST = 1e4


def smooth_scale(servo: str) -> float:
    """ε of the loss [rad]."""
    return load_servo(servo).encoder_step


def smooth_losses(batch: Batch, matrix: Array) -> Array:
    """Mean over runs of the mean of √(r² + ε²) − ε [rad], (p,) for candidates (p, n)."""
    scale = smooth_scale(batch.model.servo)
    losses = batch.residuals(matrix, lambda _, r: (np.sqrt(r * r + scale * scale) - scale).mean(axis=0))
    return np.mean(losses, axis=0)


def polish(batch: Batch, vector: Array, *, rough: bool = False, difference: float = DIFFERENCE) -> tuple[Array, int]:
    """Values (n,) of the batch's model at the minimum of the smooth loss near `vector`, within its bounds, and how many
    candidates were simulated for it.

    The same values where no minimum is nearby; rough: stop where little is left to gain; difference: of the Jacobian,
    as a share of the catalogue's bounds, wide ones look over kinks.
    """
    low, high = batch.model.parameters.bounds().T
    at = np.clip(vector, low, high)
    least, trust = float(smooth_losses(batch, at[None])[0]), 1e-3
    candidates = 1
    for _ in range(ROUGH_STEPS if rough else MOST_STEPS):
        widths, normal, slope = _normal_equations(batch, at, difference)
        candidates += 1 + 2 * len(at) + len(DAMPINGS) * len(SHARES)
        dampings = trust * DAMPINGS
        steps = [_step(normal, slope, damping, (at <= low), (at >= high)) * widths for damping in dampings]
        tried = np.clip(at + np.array([share * step for share in SHARES for step in steps]), low, high)
        values = smooth_losses(batch, tried)
        best = int(np.argmin(values))
        if not values[best] < least:
            if trust >= WORST_TRUST:
                break
            trust *= DAMPINGS[-1] / DAMPINGS[0]
            continue
        gained = 1.0 - values[best] / least if least > 0.0 else 0.0
        at, least, trust = tried[best], float(values[best]), min(max(dampings[best % len(dampings)], 1e-9), 1.0)
        if gained < (ROUGH if rough else ENOUGH):
            break
    return at, candidates


def _normal_equations(batch: Batch, at: Array, difference: float) -> tuple[Array, Array, Array]:
    """Catalogue intervals, and per these JᵀWJ and JᵀWr; W weighs as the loss does, each run alike."""
    differences = Differences.at(batch.model, at, difference)
    scale = smooth_scale(batch.model.servo)

    def equations(_: int, residuals: Array) -> tuple[Array, Array]:
        jacobian, residual = differences.split(residuals)
        weighted = jacobian / (np.sqrt(residual**2 + scale**2) * len(residual))[:, None]
        return weighted.T @ jacobian, weighted.T @ residual

    found = batch.residuals(differences.matrix, equations)
    return differences.widths, np.sum([normal for normal, _ in found], axis=0), np.sum([s for _, s in found], axis=0)


def _step(normal: Array, slope: Array, damping: float, lowest: NDArray[np.bool_], highest: NDArray[np.bool_]) -> Array:
    """A damped step; parameters at a bound that would leave it stay."""
    free = ~((lowest & (slope > 0.0)) | (highest & (slope < 0.0)))
    step = np.zeros(len(slope))
    inner = normal[np.ix_(free, free)]
    damped = inner + damping * np.diag(np.diag(inner) + np.finfo(np.float64).tiny)
    step[free] = -np.linalg.lstsq(damped, slope[free], rcond=None)[0]
    return step
