"""Smoothing is scipy's, which only takes longer to load."""

import numpy as np
import pytest
from scipy.signal import savgol_filter

from core.smoothing import savitzky_golay


@pytest.mark.parametrize(("length", "degree", "derivative"), [(3, 2, 1), (7, 3, 0), (21, 2, 2), (31, 2, 0), (31, 2, 1)])
@pytest.mark.parametrize("shape", [(31,), (40, 3)])
def test_it_is_scipys_to_rounding_ends_included(length, degree, derivative, shape):
    values = np.random.default_rng(length).normal(size=shape)
    wanted = savgol_filter(values, length, degree, deriv=derivative, delta=0.01, axis=0)
    found = savitzky_golay(values, length, degree, derivative=derivative, step=0.01)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-11 * np.abs(wanted).max())


@pytest.mark.parametrize(("length", "degree", "derivative"), [(4, 2, 0), (3, 3, 0), (11, 2, 0), (5, 2, 3)])
def test_what_no_polynomial_fits_is_refused(length, degree, derivative):
    with pytest.raises(ValueError, match="no such polynomials"):
        savitzky_golay(np.zeros(10), length, degree, derivative=derivative)
