"""Damped Gauss-Newton steps to the minimum of a smooth loss, within bounds.

The loss of a residual r is √(r² + ε²) − ε (pseudo-Huber, Huber 1964): squares for residuals below ε, magnitudes for
larger ones, so that outliers and model error do not decide. Several dampings are tried at each step (Levenberg 1944,
Marquardt 1963), as a simulation costs little beside a Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Array

FIRST_TRUST = 1e-3
LEAST_TRUST, MOST_TRUST = 1e-9, 1.0
"""What the dampings are relative to: at the start, and bounds of the last damping that served."""
WORST_TRUST = 1e4
"""Where no damping serves, stronger ones are tried until they are relative to this."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How far a descent goes, and what it tries at each step."""

    steps: int
    """At most so many, each with one Jacobian."""
    enough: float
    """A relative improvement below this ends it."""
    dampings: tuple[float, ...]
    """Rising, of the normal equations' diagonal, relative to the last one that served."""
    shares: tuple[float, ...] = (1.0,)
    """Of each damped step."""


def smooth_loss(residuals: Array, scale: float) -> Array:
    """√(r² + ε²) − ε of each residual; scale: ε, in their unit."""
    return np.sqrt(residuals * residuals + scale * scale) - scale


def normal_equations(jacobian: Array, residuals: Array, scale: float) -> tuple[Array, Array]:
    """JᵀWJ (p, p) and JᵀWr (p,) of the smooth loss for jacobian (n, p), residuals (n,): W weighs by 1/√(r² + ε²)."""
    weighted = jacobian / np.sqrt(residuals * residuals + scale * scale)[:, None]
    return weighted.T @ jacobian, weighted.T @ residuals


def descend(
    start: Array,
    bounds: Array,
    losses: Callable[[Array], Array],
    equations: Callable[[Array], tuple[Array, Array]],
    effort: Effort,
) -> tuple[Array, float]:
    """Where damped steps lead from `start` (p,) within bounds (p, 2), and the loss there; `start` if nothing is better.

    losses: candidates (k, p) → (k,); equations: a point (p,) → normal matrix and slope, see `normal_equations`.
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
    # A parameter that nothing answers to must not make the system singular.
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
