"""The last part of a fit: a smooth loss made small from where the search ended.

A search makes the mean absolute error small, which outliers and model error do not lead astray. On readings rounded to
encoder steps that error is smallest where a shaft at rest lies on a step, not where it was. The polish minimises
√(r² + ε²) with ε one encoder step (pseudo-Huber): squares for residuals of the encoder's kind, absolute values for all
larger ones, where it changes next to nothing. It is smooth, so that damped Gauss-Newton steps find its minimum, and
intervals follow from it (Huber 1964). Several dampings are tried at each step, as a simulation costs little beside the
Jacobian; SciPy's trust region spends most of its time on decompositions of tall matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.catalogue import load_servo
from core.identification.sensitivity import Sensitivity, sensitivity, simulate_all
from core.model import ServoModel
from core.recording import Recording
from core.simulation import on_grid

Array = NDArray[np.float64]

MOST_STEPS = 25
"""Each takes one Jacobian."""
ENOUGH = 1e-7
"""Relative improvement that ends it."""
ROUGH_STEPS, ROUGH = 8, 1e-3
"""The same for a polish that is one of many."""
DAMPINGS = np.array([1e-2, 1.0, 1e2, 1e4])
"""Tried at each step, relative to the last one that served."""
WORST_TRUST = 1e4
DIVERGED = 1e3
"""Stands for a position that is no number [rad]."""


def smooth_scale(servo: str) -> float:
    """ε of the loss [rad]."""
    return load_servo(servo).encoder_step


def smooth_loss(residuals: Sequence[Array], scale: float) -> float:
    """Mean over runs of the mean of √(r² + ε²) − ε [rad]; residuals run by run, scale ε [rad]."""
    losses = [np.mean(np.sqrt(np.square(_finite(r)) + scale**2) - scale) for r in residuals]
    return float(np.mean(losses))


def _finite(values: Array) -> Array:
    return np.nan_to_num(values, nan=DIVERGED, posinf=DIVERGED, neginf=-DIVERGED)


def polish(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: str = "logged",
    threads: int | None = None,
    rough: bool = False,
) -> ServoModel:
    """The model at the nearby minimum of the smooth loss, within its bounds; the same one where none is nearby.

    rough: stop where little is left to gain.
    """
    scale = smooth_scale(model.servo)
    low, high = model.parameters.bounds().T
    runs = [on_grid(recording, dt)[0] for recording in recordings]
    options: dict[str, Any] = {"dt": dt, "supply": supply, "threads": threads}
    at = np.clip(model.parameters.vector(), low, high)
    least, trust = math.inf, 1e-3
    for _ in range(ROUGH_STEPS if rough else MOST_STEPS):
        moved = model.with_parameters(model.parameters.with_vector(at))
        found = sensitivity(moved, runs, most_steps=math.inf, **options)
        if not least < math.inf:
            least = smooth_loss(found.residuals, scale)
        normal, slope = _normal_equations(found, scale)
        dampings = trust * DAMPINGS
        steps = [_step(normal, slope, damping, (at <= low), (at >= high)) * found.widths for damping in dampings]
        tried = np.clip(at + np.array(steps), low, high)
        residuals = simulate_all(model, runs, tried, **options)
        values = [smooth_loss([run[place] for run in residuals], scale) for place in range(len(tried))]
        best = int(np.argmin(values))
        if not values[best] < least:
            if trust >= WORST_TRUST:
                break
            trust *= DAMPINGS[-1] / DAMPINGS[0]
            continue
        gained = 1.0 - values[best] / least if least > 0.0 else 0.0
        at, least, trust = tried[best], values[best], min(max(dampings[best], 1e-9), 1.0)
        if gained < (ROUGH if rough else ENOUGH):
            break
    return model.with_parameters(model.parameters.with_vector(at))


def _normal_equations(found: Sensitivity, scale: float) -> tuple[Array, Array]:
    """JᵀWJ and JᵀWr per catalogue interval; W weighs as the loss does at these residuals, each run alike."""
    jacobian = np.nan_to_num(found.jacobian, nan=0.0, posinf=0.0, neginf=0.0)
    residuals = [_finite(r) for r in found.residuals]
    weights = np.concatenate([1.0 / np.sqrt(r**2 + scale**2) / len(r) for r in residuals]) / len(residuals)
    weighted = jacobian * weights[:, None]
    return weighted.T @ jacobian, weighted.T @ np.concatenate(residuals)


def _step(normal: Array, slope: Array, damping: float, lowest: NDArray[np.bool_], highest: NDArray[np.bool_]) -> Array:
    """A damped step; parameters at a bound that would leave it stay."""
    free = ~((lowest & (slope > 0.0)) | (highest & (slope < 0.0)))
    step = np.zeros(len(slope))
    inner = normal[np.ix_(free, free)]
    damped = inner + damping * np.diag(np.diag(inner) + np.finfo(np.float64).tiny)
    step[free] = -np.linalg.lstsq(damped, slope[free], rcond=None)[0]
    return step
