"""Smooth values and slopes of what was sampled."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def savitzky_golay(values: Array, length: int, degree: int, *, derivative: int = 0, step: float = 1.0) -> Array:
    """Value or derivative of the polynomials fitted around each sample, of the shape of values.

    As scipy's savgol_filter, with which comes scipy.signal: a second of imports, which most programs need not wait for.

    values: (N, …) samples at equal steps; length: samples a polynomial is fitted to, odd and at most N; derivative:
    0 for values, 1 for slopes per unit of step, and so on. Raises ValueError where there is no such polynomial.
    """
    if length % 2 == 0 or not derivative <= degree < length <= len(values):
        raise ValueError(f"no such polynomials of degree {degree} around {length} of {len(values)} samples")
    half = length // 2
    around = np.arange(-half, half + 1.0)
    coefficients = np.linalg.pinv(np.vander(around, degree + 1, increasing=True))
    powers = range(derivative, degree + 1)
    slopes = np.array([math.perm(power, derivative) * around ** (power - derivative) for power in powers])
    # Row k: weights of a window's samples for the value or derivative at its sample k.
    weights = slopes.T @ coefficients[derivative:] / step**derivative
    windows = np.lib.stride_tricks.sliding_window_view(values, length, axis=0)
    first, last = windows[0] @ weights[:half].T, windows[-1] @ weights[half + 1 :].T
    return np.concatenate([np.moveaxis(first, -1, 0), windows @ weights[half], np.moveaxis(last, -1, 0)])
