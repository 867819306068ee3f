"""The principal branch W0 of Lambert's W, compiled: w·exp(w) = x with w ≥ −1 (seed 001, eq. 27, Fig. 5).

Near the branch point −1/e a library's W0 may fail: the floating-point number next to −1/e can lie below it, and W0 has
a vertical tangent there. Here 1/e has two parts, so that 1 + e·x is exact where it is small. W0 is its power series in
p = √(2·(1 + e·x)) (Corless et al. 1996, cited by seed 001 as [20]) up to p = SERIES_END. Beyond, w ← w·(1 + ε) with the
fourth-order ε of Fritsch, Shafer and Crowley (1973), which keeps the relative precision of small w.
"""

# pyright: basic

from __future__ import annotations

import math
from fractions import Fraction

from numba import njit

SERIES_END = 0.3
"""Largest p for which the series is used; its last term is then below 2e-17."""
_TERMS = 24
_INVERSE_E = 0.36787944117144233
_INVERSE_E_REST = -1.2428753672788363e-17
"""1/e is the sum of both."""
_STEPS = 4


def _series(count: int) -> tuple[float, ...]:
    """Return the coefficients μ_k of W0 = Σ μ_k·p^k by the recurrence of Corless et al.: −1, 1, −1/3, 11/72, …."""
    mu, alpha = [Fraction(-1), Fraction(1)], [Fraction(2), Fraction(-1)]
    for k in range(2, count):
        alpha.append(sum((mu[j] * mu[k + 1 - j] for j in range(2, k)), Fraction(0)))
        mu.append(Fraction(k - 1, k + 1) * (mu[k - 2] / 2 + alpha[k - 2] / 4) - alpha[k] / 2 - mu[k - 1] / (k + 1))
    return tuple(map(float, mu))


_MU = _series(_TERMS)


@njit(error_model="numpy")
def lambert_w0(x):
    """Return W0(x) to a few units in the last place for x ≥ −1/e; −1 below, where rounding may lead; NaN for NaN."""
    above = (x + _INVERSE_E) + _INVERSE_E_REST
    if above <= 0.0:
        return -1.0
    p = math.sqrt(2.0 * math.e * above)
    if p < SERIES_END:
        w = 0.0
        for k in range(_TERMS - 1, -1, -1):
            w = w * p + _MU[k]
        return w
    if x == 0.0 or x == math.inf:
        return x
    if x < math.e:
        # The logarithm has the right value and slope at 0; its own logarithm bends it.
        log = math.log1p(x)
        w = log * (1.0 - math.log1p(log) / (2.0 + log))
    else:
        log = math.log(x)
        inner = math.log(log)
        w = log - inner + inner / log
    for _ in range(_STEPS):
        z = math.log(x / w) - w
        q = 2.0 * (1.0 + w) * (1.0 + w + 2.0 / 3.0 * z)
        epsilon = z / (1.0 + w) * (q - z) / (q - 2.0 * z)
        w *= 1.0 + epsilon
        if abs(epsilon) < 1e-5:
            # The remaining error is of the fourth power of this one.
            break
    return w
