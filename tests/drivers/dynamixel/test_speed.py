"""A speed from positions: over the window, over what there is of it, and after a pause."""

import math

import pytest

from drivers.dynamixel.samples import SPEED_WINDOW, Speedometer


@pytest.mark.parametrize("moments", [(0.0, 0.01), (0.0, 0.5), (0.0, 0.01, 0.02, 0.9), (0.0, 0.05, 0.1, 0.15)])
def test_a_speed_is_known_from_the_second_position_on_however_late_it_comes(moments):
    speed = Speedometer()
    found = [speed.velocity(time, 3.0 * time) for time in moments]
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([3.0] * (len(moments) - 1))


def test_positions_older_than_the_window_do_not_count():
    """At rest until 1 s, then 2 rad/s: a window later nothing is left of the rest."""
    speed, step = Speedometer(), SPEED_WINDOW / 5.5
    found = {k: speed.velocity(1.0 + k * step, 2.0 * step * max(k, 0)) for k in range(-20, 8)}
    assert found[0] == 0.0
    assert found[3] == pytest.approx(2.0 * 3 / 5)
    assert found[7] == pytest.approx(2.0)
