"""Elementary functions of the kernel against libm, over the ranges their docstrings state and at the edges."""

import math

import numpy as np
import pytest
from numba import njit

from core.kernel.mathops import exp2, log2, rough_exp2, rough_log2, sine

EPS = np.finfo(np.float64).eps


@njit
def each(function, x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = function(x[i])
    return out


@pytest.fixture(scope="module")
def uniform():
    return np.random.default_rng(3).uniform


def test_log2_over_all_normal_numbers(uniform):
    x = np.concatenate(
        [2.0 ** uniform(-1021.0, 1023.0, 20_000), uniform(0.5, 2.0, 20_000), 1.0 + uniform(-1e-6, 1e-6, 5000)]
    )
    expected = np.log2(x)

    # Near 1 the logarithm is as exact as its argument.
    assert np.abs(each(log2, x) - expected).max() <= 4 * EPS * 1024
    near = np.abs(expected) < 1.0
    np.testing.assert_allclose(each(log2, x)[near], expected[near], rtol=8 * EPS, atol=0)


def test_log2_of_powers_of_two_is_exact():
    exponents = np.arange(-1022.0, 1024.0)

    np.testing.assert_array_equal(each(log2, 2.0**exponents), exponents)


def test_exp2_over_its_range(uniform):
    x = np.concatenate([uniform(-1020.0, 1020.0, 20_000), uniform(-1.0, 1.0, 20_000), [0.5, -0.5, 0.49999999]])

    np.testing.assert_allclose(each(exp2, x), np.exp2(x), rtol=8 * EPS, atol=0)


def test_exp2_edges():
    whole = np.arange(-1020.0, 1021.0)

    np.testing.assert_array_equal(each(exp2, whole), 2.0**whole)
    limited = each(exp2, np.array([1e4, -1e4, math.inf, -math.inf]))
    np.testing.assert_array_equal(limited, 2.0 ** np.array([1020.0, -1020.0, 1020.0, -1020.0]))


def test_sine_over_its_range(uniform):
    x = np.concatenate([uniform(-math.pi, math.pi, 20_000), uniform(-1e3, 1e3, 20_000), uniform(-1e6, 1e6, 20_000)])

    np.testing.assert_allclose(each(sine, x), np.sin(x), rtol=0, atol=2 * EPS)


def test_sine_edges():
    x = np.array([0.0, math.pi / 2, -math.pi / 2, math.pi, 1e8, 1e-300])

    np.testing.assert_allclose(each(sine, x), np.sin(x), rtol=0, atol=1e-14)
    assert each(sine, np.array([1e-300]))[0] == 1e-300
    np.testing.assert_array_equal(each(sine, -x), -each(sine, x))


def test_the_rough_ones_are_as_good_as_they_say(uniform):
    x = 2.0 ** uniform(-1021.0, 1023.0, 20_000)
    assert np.abs(each(rough_log2, x) - np.log2(x)).max() < 3e-5
    y = uniform(-1020.0, 1020.0, 20_000)
    np.testing.assert_allclose(each(rough_exp2, y), np.exp2(y), rtol=6e-5)
