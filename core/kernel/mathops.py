"""Elementary functions that LLVM can put into SIMD lanes: no tables, no branches, no library calls.

Each agrees with libm to a few units in the last place over the stated range (tests/core/test_mathops.py). Range
reduction adds a large constant and uses the bits of floating-point numbers, so these functions must never be compiled
with `reassoc`.
"""

import math

import numpy as np
from numba import njit

FASTMATH = {"contract", "nsz"}

_ROUND = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits of the mantissa
_EXPONENT_MAGIC = np.int64(0x4330000000000000)  # the bits of 2.0**52
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)
_ONE_BITS = np.int64(0x3FF0000000000000)
_SQRT2 = math.sqrt(2.0)
# log2(m) = (2/ln 2)·artanh((m − 1)/(m + 1)); |s| ≤ 0.1716 after folding, nine terms leave 1e-16.
_L = tuple(2.0 / (math.log(2.0) * (2 * k + 1)) for k in range(9))
# 2^f = Σ (f·ln 2)^k / k!; |f| ≤ 1/2, thirteen terms leave 2e-16.
_E = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(13))
# sin r = Σ (−1)^k r^(2k+1)/(2k+1)!; |r| ≤ π/2, eleven terms leave 2e-18.
_S = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(11))
_PI_HIGH = math.floor(math.pi * 2.0**29) / 2.0**29  # 31 bits of π: products with small integers are exact
_PI_LOW = math.pi - _PI_HIGH
_PI_TAIL = 1.2246467991473532e-16
_INVERSE_PI = 1.0 / math.pi


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def _halves(x):
    """Return exponent and mantissa of a normal x > 0: x = m·2^exponent with m in √½ … √2."""
    bits = np.float64(x).view(np.int64)
    exponent = np.int64((bits >> np.int64(52)) | _EXPONENT_MAGIC).view(np.float64) - (4503599627370496.0 + 1023.0)
    m = np.int64((bits & _MANTISSA) | _ONE_BITS).view(np.float64)
    large = m > _SQRT2
    m = 0.5 * m if large else m
    exponent = exponent + 1.0 if large else exponent
    return exponent, m


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def _shifted(p, rounded):
    """Multiply p by 2 to the power of the integer in the low bits of `rounded`."""
    exponent = np.float64(rounded).view(np.int64) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def log2(x):
    """Return the binary logarithm of a normal x > 0."""
    exponent, m = _halves(x)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = _L[8]
    p = p * z + _L[7]
    p = p * z + _L[6]
    p = p * z + _L[5]
    p = p * z + _L[4]
    p = p * z + _L[3]
    p = p * z + _L[2]
    p = p * z + _L[1]
    p = p * z + _L[0]
    return exponent + s * p


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def exp2_below(x):
    """Return 2^x for x ≤ 1020; smaller arguments than −1020 count as −1020."""
    x = max(x, -1020.0)
    rounded = x + _ROUND
    f = x - (rounded - _ROUND)
    p = _E[12]
    p = p * f + _E[11]
    p = p * f + _E[10]
    p = p * f + _E[9]
    p = p * f + _E[8]
    p = p * f + _E[7]
    p = p * f + _E[6]
    p = p * f + _E[5]
    p = p * f + _E[4]
    p = p * f + _E[3]
    p = p * f + _E[2]
    p = p * f + _E[1]
    p = p * f + _E[0]
    return _shifted(p, rounded)


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def exp2(x):
    """Return 2^x; the argument is limited to ±1020."""
    return exp2_below(min(x, 1020.0))


# log2(1 + t)/t on √½ … √2, fitted at Chebyshev's nodes: 2.6e-5. The first five terms of 2^f leave 4e-5.
_L_ROUGH = (1.4426475745511194, -0.7205412109097504, 0.48521405718164473, -0.39112317300340876, 0.25566687163163226)


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def rough_log2(x):
    """Return the binary logarithm of a normal x > 0, within 3e-5, for the first steps of a search."""
    exponent, m = _halves(x)
    t = m - 1.0
    p = _L_ROUGH[4]
    p = p * t + _L_ROUGH[3]
    p = p * t + _L_ROUGH[2]
    p = p * t + _L_ROUGH[1]
    p = p * t + _L_ROUGH[0]
    return exponent + t * p


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def rough_exp2(x):
    """Return 2^x to a relative 6e-5; the argument is limited to ±1020."""
    x = min(max(x, -1020.0), 1020.0)
    rounded = x + _ROUND
    f = x - (rounded - _ROUND)
    p = _E[4]
    p = p * f + _E[3]
    p = p * f + _E[2]
    p = p * f + _E[1]
    p = p * f + _E[0]
    return _shifted(p, rounded)


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def sine(x):
    """Return the sine for |x| < 1e8."""
    shifted = x * _INVERSE_PI + _ROUND
    n = shifted - _ROUND
    r = ((x - n * _PI_HIGH) - n * _PI_LOW) - n * _PI_TAIL
    z = r * r
    p = _S[10]
    p = p * z + _S[9]
    p = p * z + _S[8]
    p = p * z + _S[7]
    p = p * z + _S[6]
    p = p * z + _S[5]
    p = p * z + _S[4]
    p = p * z + _S[3]
    p = p * z + _S[2]
    p = p * z + _S[1]
    p = p * z + _S[0]
    sign = np.float64(shifted).view(np.int64) << np.int64(63)
    return np.int64(np.float64(r * p).view(np.int64) ^ sign).view(np.float64)


LOG2_E = math.log2(math.e)
LN_2 = math.log(2.0)
