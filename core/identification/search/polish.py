"""Last part of a fit: minimise a smooth loss from the result of the search.

A search minimises the mean absolute error, which is robust against outliers and model error. On readings rounded to
encoder steps, this error is smallest where a shaft at rest lies on a step, not where it really was. The polish
minimises √(r² + ε²) with ε one encoder step (pseudo-Huber): squares for residuals of the size of the rounding, absolute
values for all larger ones, where it hardly changes anything. The loss is smooth, so damped Gauss-Newton steps find its
minimum, and intervals follow from it (Huber 1964). SciPy's trust region spends most of its time on decompositions of
tall matrices.
"""

from __future__ import annotations

import numpy as np

from core.base.arrays import Array
from core.identification.evidence.sensitivity import DIFFERENCE, Differences
from core.identification.search.objective import Batch
from core.identification.search.steps import Effort, descend, normal_equations, smooth_loss
from core.servo.catalogue import load_servo

WIDE, FINE = 1e-3, 1e-4
"""Differences of early Jacobians, for pieces and for whole runs, as a share of the catalogue's bounds."""
AT_BOUND = 1e-9
"""A value this close to a bound, as a share of the catalogue's interval, lies at it."""
POLISHED = 4
"""Number of ends of the searches, those with the smallest smooth loss, among which the final one is sought."""
APART = 1e-2
"""Ends whose parameters differ by less than this share of the bounds are the same."""
NEAR = 2e-3
"""Ends whose loss is within this relative distance of the smallest are polished completely."""
ALIKE = 1.02
"""Largest mean absolute error of a richer model, relative to that of a simpler one.

The smooth loss decides, and it is never larger.
"""
_DAMPINGS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4)
_SHARES = (1.0, 0.5)
"""Together with the dampings, as many candidates as the kernel simulates together."""
_WHOLE = Effort(steps=25, enough=1e-6, dampings=_DAMPINGS, shares=_SHARES)
_ROUGH = Effort(steps=12, enough=1e-3, dampings=_DAMPINGS, shares=_SHARES)
"""Effort for one polish among many."""


def smooth_scale(servo: str) -> float:
    """Return ε of the loss [rad]."""
    return load_servo(servo).encoder_step


def smooth_losses(batch: Batch, matrix: Array) -> Array:
    """Return the mean over runs of the mean of √(r² + ε²) − ε plus the prior [rad], (p,) for candidates (p, n)."""
    return batch.penalised(_smooth_errors(batch, matrix), matrix)


def _smooth_errors(batch: Batch, matrix: Array) -> Array:
    scale = smooth_scale(batch.model.servo)
    losses = batch.residuals(matrix, lambda _, residuals: smooth_loss(residuals, scale).mean(axis=0))
    return np.asarray(np.mean(losses, axis=0))


def polish(batch: Batch, vector: Array, *, rough: bool = False, difference: float = DIFFERENCE) -> tuple[Array, int]:
    """Minimise the smooth loss near `vector`, within the bounds.

    Args:
        batch: Recordings, prepared for the model.
        vector: Values of the free parameters, (n,).
        rough: Stop when little can be gained.
        difference: Difference of the Jacobian, as a share of the catalogue's bounds. A wide one looks across kinks.

    Returns:
        Values at the minimum, `vector` if there is none nearby, and the number of simulated candidates.
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
        error = float(_smooth_errors(batch, at[None] * widths)[0])
        curvature, rise = batch.prior.equations(names, at * widths, error)
        normal = np.sum([normal for normal, _ in found], axis=0) + np.diag(curvature)
        return normal, np.sum([slope for _, slope in found], axis=0) + rise

    bounds = batch.model.parameters.bounds() / widths[:, None]
    at, _ = descend(vector / widths, bounds, losses, equations, _ROUGH if rough else _WHOLE)
    low, high = batch.model.parameters.bounds().T
    found = at * widths
    found = np.where(found - low < AT_BOUND * widths, low, np.where(high - found < AT_BOUND * widths, high, found))
    return found, candidates


def best_end(batch: Batch, best: Array, ends: list[Array], lifted: list[Array]) -> tuple[Array, list[Array]]:
    """Polish the results of searches.

    Args:
        batch: Recordings, prepared for the model.
        best: Best values of the search, (n,).
        ends: Ends of its descents, (n,) each.
        lifted: Optima of simpler models, than all of which the result is not worse.

    Returns:
        The end with the smallest smooth loss, and other polished ends.
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
