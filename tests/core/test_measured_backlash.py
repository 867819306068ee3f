"""Backlash from pushes both ways, and with a spring that is extrapolated away."""

import math

import pytest

from core.base.errors import InputError
from core.practice.backlash import Push, measure_backlash

B, COMPLIANCE, CENTRE = math.radians(1.3), 0.02, 0.2


def pushes(torques, compliance=COMPLIANCE):
    return [
        Push(torque=side * t, angle=CENTRE + side * (0.5 * B + compliance * t)) for t in torques for side in (1.0, -1.0)
    ]


def test_several_torques_separate_backlash_and_spring():
    found = measure_backlash(pushes([0.05, 0.1, 0.15]))

    assert (found.backlash, found.compliance) == pytest.approx((B, COMPLIANCE))
    assert found.error < 1e-9


def test_one_torque_gives_the_way_of_the_load():
    found = measure_backlash(pushes([0.1], compliance=0.0))

    assert found.backlash == pytest.approx(B)
    assert (found.compliance, found.error) == (0.0, math.inf)


def test_scatter_becomes_the_error():
    """Two pushes each way that differ by 2·d: σ² = 4·d²/2 and the difference of two means of two has √σ²."""
    d = 1e-3
    seen = [Push(torque=s, angle=0.5 * s * B + d * side) for s in (1.0, -1.0) for side in (1.0, -1.0)]

    assert measure_backlash(seen).error == pytest.approx(math.sqrt(2.0) * d)
    assert measure_backlash(seen, 6e-3).error == pytest.approx(math.hypot(math.sqrt(2.0) * d, 6e-3 / math.sqrt(6.0)))


@pytest.mark.parametrize("torques", [[1.0, 2.0], [-1.0], [1.0, -math.inf]])
def test_pushes_one_way_are_refused(torques):
    with pytest.raises(InputError, match=r"both ways|finite"):
        measure_backlash([Push(torque=t, angle=0.0) for t in torques])
