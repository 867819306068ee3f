"""Lambert's W0: known values, w·exp(w) = x, and the branch point −1/e, where a library gives NaN."""

import math

import numpy as np
import pytest
from scipy.special import lambertw

from core.contact.lambert import lambert_w0

BRANCH = -math.exp(-1.0)


def w0(x):
    return np.array([lambert_w0(value) for value in np.atleast_1d(x)])


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (1.0, 0.567143290409784),
        (-0.1, -0.111832559158963),
        (0.0, 0.0),
        (math.e, 1.0),
        (2.0 * math.e**2, 2.0),
        (-math.log(2.0) / 2.0, -math.log(2.0)),
    ],
)
def test_known_values(x, expected):
    """The omega constant and W0(−0.1) as printed by DarkoVeberic/LambertW; the others by w·exp(w) = x."""
    assert lambert_w0(x) == pytest.approx(expected, rel=2e-15)


def test_scipy_where_it_is_good():
    x = np.concatenate([np.linspace(-0.3, 10.0, 4000), np.logspace(-300, 300, 2000), -np.logspace(-300, -1, 1000)])

    np.testing.assert_allclose(w0(x), lambertw(x).real, rtol=1e-15)


def test_it_solves_its_equation_up_to_the_branch_point():
    """w·exp(w) = x to two units in the last place of x on [−1/e, 0)."""
    x = BRANCH + np.logspace(-16, math.log10(-BRANCH) - 1e-6, 5000)
    w = w0(x)

    np.testing.assert_allclose(w * np.exp(w), x, rtol=5e-16)
    assert np.all(np.diff(w[np.argsort(x)]) >= 0.0)


def test_at_and_beyond_the_branch_point():
    """SciPy answers NaN at the floating-point number next to −1/e; rounding may also ask for a little less."""
    nearest = -0.36787944117144233
    assert lambert_w0(nearest) == pytest.approx(-1.0, abs=1e-8)
    for beyond in (np.nextafter(nearest, -1.0), nearest - 1e-12, -1.0, -math.inf):
        assert lambert_w0(beyond) == -1.0
    assert math.isnan(lambert_w0(math.nan))
    assert lambert_w0(math.inf) == math.inf
