"""Smooth values and slopes of sampled data."""

from __future__ import annotations

import numpy as np

from core.base.arrays import Array


def savitzky_golay(values: Array, length: int, degree: int, *, derivative: int = 0, step: float = 1.0) -> Array:
    """Return values or derivatives of the polynomials fitted around each sample, in the shape of `values`.

    Args:
        values: Samples at equal steps, (n, …).
        length: Number of samples that each polynomial is fitted to, odd and at most n.
        degree: Degree of the polynomials.
        derivative: 0 for values, 1 for slopes per unit of step, and so on.
        step: Distance between samples.

    Raises:
        ValueError: `length` or `degree` is not possible.
    """
    # Importing scipy.signal takes half a second, which most programs do not need to spend.
    from scipy.signal import savgol_filter

    smooth = savgol_filter(values, length, degree, deriv=derivative, delta=step, axis=0)
    return np.asarray(smooth, dtype=np.float64)


def interpolated(moments: Array, time: Array, values: Array) -> Array:
    """Interpolate columns of values (n, k), sampled at increasing times (n,), at other times (m,); returns (m, k)."""
    columns: list[Array] = [np.interp(moments, time, column) for column in values.T]
    return np.column_stack(columns)
