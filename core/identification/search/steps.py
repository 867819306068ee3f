"""Damped Gauss-Newton steps to the minimum of a smooth loss, within bounds.

The loss of a residual r is √(r² + ε²) − ε (pseudo-Huber, Huber 1964): squares for residuals below ε, magnitudes for
larger ones, so that outliers and model error do not dominate. Several dampings are tried at each step (Levenberg 1944,
Marquardt 1963), as a simulation costs little compared with a Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from core.base.arrays import Array

FIRST_TRUST = 1e-3
LEAST_TRUST, MOST_TRUST = 1e-9, 1.0
"""Reference of the dampings: at the start, and the bounds of the last successful damping."""
WORST_TRUST = 1e4
"""Largest reference, up to which stronger dampings are tried if none succeeds."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Limits of a descent, and the trials of each step."""

    steps: int
    """Largest number of steps, each with one Jacobian."""
    enough: float
    """Relative improvement below which the descent ends."""
    dampings: tuple[float, ...]
    """Dampings relative to the last successful one and to the normal equations' diagonal, rising."""
    shares: tuple[float, ...] = (1.0,)
    """Shares of each damped step to try."""


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Keep linear algebra to one thread; a context or a decorator.

    Simulations use all processors already. A BLAS that spreads each small product over as many threads again mostly
    waits for them, and the last bits of its results depend on their number.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def smooth_loss(residuals: Array, scale: float) -> Array:
    """Return √(r² + ε²) − ε of each residual; `scale` is ε, in the residuals' unit."""
    return np.sqrt(residuals * residuals + scale * scale) - scale


def normal_equations(jacobian: Array, residuals: Array, scale: float) -> tuple[Array, Array]:
    """Return JᵀWJ (p, p) and JᵀWr (p,) of the smooth loss: jacobian (n, p), residuals (n,), weights 1/√(r² + ε²)."""
    weighted = jacobian / np.sqrt(residuals * residuals + scale * scale)[:, None]
    return weighted.T @ jacobian, weighted.T @ residuals


def descend(
    start: Array,
    bounds: Array,
    losses: Callable[[Array], Array],
    equations: Callable[[Array], tuple[Array, Array]],
    effort: Effort,
) -> tuple[Array, float]:
    """Take damped steps to a minimum.

    Args:
        start: First point, (p,).
        bounds: Lower and upper bounds, (p, 2).
        losses: Function of candidates (k, p) that returns losses (k,).
        equations: Function of a point (p,) that returns normal matrix and slope, see `normal_equations`.
        effort: Limits and trials.

    Returns:
        The best point, `start` if nothing is better, and its loss.
    """
    low, high = bounds.T
    at = np.clip(start, low, high)
    least, trust = float(losses(at[None])[0]), FIRST_TRUST
    system: tuple[Array, Array] | None = None
    for _ in range(effort.steps):
        system = equations(at) if system is None else system
        dampings = trust * np.array(effort.dampings)
        steps = [damped_step(*system, damping, at <= low, at >= high) for damping in dampings]
        tried = np.clip(at + np.array([share * step for share in effort.shares for step in steps]), low, high)
        values = losses(tried)
        best = int(np.argmin(values))
        if not values[best] < least:
            if trust >= WORST_TRUST:
                break
            trust *= effort.dampings[-1] / effort.dampings[0]
            continue
        gained = 1.0 - values[best] / least
        at, least, system = tried[best], float(values[best]), None
        trust = float(np.clip(dampings[best % len(dampings)], LEAST_TRUST, MOST_TRUST))
        if gained < effort.enough:
            break
    return at, least


def damped_step(
    normal: Array, slope: Array, damping: float, lowest: NDArray[np.bool_], highest: NDArray[np.bool_]
) -> Array:
    """Solve (N + λ·diag N)·step = −slope, (p,); parameters at a bound that the step would leave are held."""
    diagonal = np.diag(normal)
    # A parameter without any effect must not make the system singular.
    system = normal + np.diag(damping * (diagonal + 1e-12 * max(float(diagonal.max()), np.finfo(np.float64).tiny)))
    held = np.zeros(len(slope), dtype=bool)
    while True:
        free = ~held
        step = np.zeros(len(slope))
        step[free] = -np.linalg.lstsq(system[np.ix_(free, free)], slope[free], rcond=1e-12)[0]
        leaving = free & ((lowest & (step < 0.0)) | (highest & (step > 0.0)))
        if not leaving.any():
            return step
        held |= leaving
