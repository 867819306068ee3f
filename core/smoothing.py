"""Smooth values and slopes of what was sampled."""

from __future__ import annotations

import numpy as np

from core.arrays import Array


def savitzky_golay(values: Array, length: int, degree: int, *, derivative: int = 0, step: float = 1.0) -> Array:
    """Value or derivative of the polynomials fitted around each sample, of the shape of values.

    values: (N, …) samples at equal steps; length: samples a polynomial is fitted to, odd and at most N; derivative:
    0 for values, 1 for slopes per unit of step, and so on. Raises ValueError as scipy's savgol_filter does.
    """
    # scipy.signal takes half a second to import, which most programs need not wait for.
    from scipy.signal import savgol_filter

    smooth = savgol_filter(values, length, degree, deriv=derivative, delta=step, axis=0)
    return np.asarray(smooth, dtype=np.float64)


def interpolated(moments: Array, time: Array, values: Array) -> Array:
    """Columns of values (n, k), sampled at increasing times (n,), at other moments (m,): (m, k)."""
    columns: list[Array] = [np.interp(moments, time, column) for column in values.T]
    return np.column_stack(columns)
