"""Decimation of curves: keep the lowest and the highest value of each pixel column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def min_max(x: Array, y: Array, columns: int) -> tuple[Array, Array]:
    """Reduce a curve, x and y (n,), to about two points per column; extremes keep their order.

    The last point is always kept: the tip of a live curve is its newest sample.
    Short curves are returned unchanged.
    """
    n = len(x)
    columns = max(1, columns)
    if n <= 2 * columns:
        return x, y
    size = -(-n // columns)
    whole = (n - 1) // size * size
    blocks = y[:whole].reshape(-1, size)
    begin = np.arange(0, whole, size)
    low, high = begin + blocks.argmin(axis=1), begin + blocks.argmax(axis=1)
    picked = np.column_stack((np.minimum(low, high), np.maximum(low, high))).reshape(-1)
    picked = np.concatenate((picked, np.arange(whole, n)))
    return x[picked], y[picked]
