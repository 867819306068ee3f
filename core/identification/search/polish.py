"""The last part of a fit: a smooth loss made small from where the search ended.

A search makes the mean absolute error small, which outliers and model error do not lead astray. On readings rounded to
encoder steps that error is smallest where a shaft at rest lies on a step, not where it was. The polish minimises
√(r² + ε²) with ε one encoder step (pseudo-Huber): squares for residuals of the encoder's kind, absolute values for all
larger ones, where it changes next to nothing. It is smooth, so that damped Gauss-Newton steps find its minimum, and
intervals follow from it (Huber 1964). SciPy's trust region spends most of its time on decompositions of tall matrices.
"""

from __future__ import annotations

import numpy as np

from core.arrays import Array
from core.catalogue import load_servo
from core.identification.evidence.sensitivity import DIFFERENCE, Differences
from core.identification.search.objective import Batch
from core.identification.search.steps import Effort, descend, normal_equations, smooth_loss

WIDE, FINE = 1e-3, 1e-4
"""Differences on the way down, of pieces and of whole runs, as a share of the catalogue's bounds."""
AT_BOUND = 1e-9
"""A value this close to a bound, as a share of the catalogue's, lies at it."""
POLISHED = 4
"""Of all ends of the searches, those with the least smooth loss, from which the final one is sought."""
APART = 1e-2
"""Ends whose parameters differ by less, as a share of the bounds, are the same."""
NEAR = 2e-3
"""Of them, those whose loss comes this near to the least are polished to the end."""
ALIKE = 1.02
"""Mean absolute error a richer model may have over a simpler one's: the smooth loss decides, which is never larger."""
_DAMPINGS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4)
_SHARES = (1.0, 0.5)
"""With the dampings as many candidates as the kernel simulates together."""
_WHOLE = Effort(steps=25, enough=1e-6, dampings=_DAMPINGS, shares=_SHARES)
_ROUGH = Effort(steps=12, enough=1e-3, dampings=_DAMPINGS, shares=_SHARES)
"""For a polish that is one of many."""


def smooth_scale(servo: str) -> float:
    """ε of the loss [rad]."""
    return load_servo(servo).encoder_step


def smooth_losses(batch: Batch, matrix: Array) -> Array:
    """Mean over runs of the mean of √(r² + ε²) − ε [rad], (p,) for candidates (p, n), and what the prior adds."""
    scale = smooth_scale(batch.model.servo)
    losses = batch.residuals(matrix, lambda _, residuals: smooth_loss(residuals, scale).mean(axis=0))
    return np.mean(losses, axis=0) + batch.prior_costs(matrix)


def polish(batch: Batch, vector: Array, *, rough: bool = False, difference: float = DIFFERENCE) -> tuple[Array, int]:
    """Values (n,) of the batch's model at the minimum of the smooth loss near `vector`, within its bounds, and how many
    candidates were simulated for it.

    The same values where no minimum is nearby; rough: stop where little is left to gain; difference: of the Jacobian,
    as a share of the catalogue's bounds, wide ones look over kinks.
    """
    scale, count = smooth_scale(batch.model.servo), len(batch.samples)
    widths = Differences.at(batch.model, vector, difference).widths
    names = [p.name for p in batch.model.parameters.free]
    candidates = 0

    def losses(shares: Array) -> Array:
        nonlocal candidates
        candidates += len(shares)
        return smooth_losses(batch, shares * widths)

    def equations(at: Array) -> tuple[Array, Array]:
        nonlocal candidates
        differences = Differences.at(batch.model, at * widths, difference, widths)
        candidates += len(differences.matrix)

        def of_run(_: int, residuals: Array) -> tuple[Array, Array]:
            jacobian, residual = differences.split(residuals)
            normal, slope = normal_equations(jacobian, residual, scale)
            return normal / (count * len(residual)), slope / (count * len(residual))

        found = batch.residuals(differences.matrix, of_run)
        curvature, rise = batch.prior.equations(names, at * widths)
        normal = np.sum([normal for normal, _ in found], axis=0) + np.diag(curvature)
        return normal, np.sum([slope for _, slope in found], axis=0) + rise

    bounds = batch.model.parameters.bounds() / widths[:, None]
    at, _ = descend(vector / widths, bounds, losses, equations, _ROUGH if rough else _WHOLE)
    low, high = batch.model.parameters.bounds().T
    found = at * widths
    found = np.where(found - low < AT_BOUND * widths, low, np.where(high - found < AT_BOUND * widths, high, found))
    return found, candidates


def best_end(batch: Batch, best: Array, ends: list[Array], lifted: list[Array]) -> tuple[Array, list[Array]]:
    """Polish where searches ended: the end with the least smooth loss, and other polished ones; values (n,).

    best: the search's best; ends: where its descents ended; lifted: optima of simpler models, than all of which the end
    is not worse.
    """
    found = np.array([best, *ends, *lifted])
    polished: list[Array] = []
    nearest = _distinct(found[np.argsort(smooth_losses(batch, found))], batch.model.parameters.bounds())[:POLISHED]
    rough = np.array([polish(batch, vector, rough=True, difference=FINE)[0] for vector in nearest])
    losses = smooth_losses(batch, rough)
    for smoothest in rough[losses <= (1.0 + NEAR) * losses.min()]:
        for difference in (WIDE, FINE, DIFFERENCE):
            smoothest, _ = polish(batch, smoothest, difference=difference)
        polished.append(smoothest)
    found = np.array([*found, *polished])
    losses, maes = smooth_losses(batch, found), batch.scores(found).combined("mae")
    simpler = maes[1 + len(ends) : 1 + len(ends) + len(lifted)]
    allowed = ALIKE * simpler.min() if len(simpler) else np.inf
    chosen = int(np.argmin(np.where(maes <= allowed, losses, np.inf)))
    return found[chosen], [vector for vector in polished if not np.array_equal(vector, found[chosen])]


def _distinct(vectors: Array, bounds: Array) -> Array:
    """Drop vectors that lie near an earlier one, see `APART`. vectors: (m, n)."""
    width = np.where(bounds[:, 1] > bounds[:, 0], bounds[:, 1] - bounds[:, 0], 1.0)
    kept: list[Array] = []
    for vector in vectors:
        if all(np.abs((vector - other) / width).max() > APART for other in kept):
            kept.append(vector)
    return np.array(kept)
