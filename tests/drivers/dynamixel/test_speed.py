"""Samples of a servo: a speed from positions, also after a pause, and whether a sample belongs to its read."""

import math

import pytest

from drivers.serial_bus.samples import DRIFT, SPEED_WINDOW, TICKS, TOLERANCE, Speedometer, TickCheck


@pytest.mark.parametrize("moments", [(0.0, 0.01), (0.0, 0.5), (0.0, 0.01, 0.02, 0.9), (0.0, 0.05, 0.1, 0.15)])
def test_a_speed_is_known_from_the_second_position_on_however_late_it_comes(moments):
    speed = Speedometer()
    found = [speed.velocity(time, 3.0 * time) for time in moments]
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([3.0] * (len(moments) - 1))
    speed.forget()
    assert math.isnan(speed.velocity(1.0, 0.0))


def test_positions_older_than_the_window_do_not_count():
    """At rest until 1 s, then 2 rad/s: a window later nothing is left of the rest."""
    speed, step = Speedometer(), SPEED_WINDOW / 5.5
    found = {k: speed.velocity(1.0 + k * step, 2.0 * step * max(k, 0)) for k in range(-20, 8)}
    assert found[0] == 0.0
    assert found[3] == pytest.approx(2.0 * 3 / 5)
    assert found[7] == pytest.approx(2.0)


@pytest.mark.parametrize("taken", [(0.0, 0.11), (0.0, 0.2), (0.05, 0.11), (0.05, 0.2), (0.02, 0.15)])
def test_a_sample_may_be_taken_at_any_moment_of_a_read(taken):
    """Reads of 50 and 90 ms, from 0 and from 110 ms on; beyond the slack of both a sample is none of this read."""
    first, second = (round(1e3 * moment) for moment in taken)
    check = TickCheck()
    assert check.plausible(first, 0.0, 0.05)
    assert check.plausible(second, 0.11, 0.2)
    slack = round(1e3 * (TOLERANCE + DRIFT * 0.2))
    for shift, plausible in (
        (200 + slack - 1, True),
        (200 + slack + 2, False),
        (61 - slack, True),
        (58 - slack, False),
    ):
        again = TickCheck()
        assert again.plausible(first, 0.0, 0.05)
        assert again.plausible((first + shift) % TICKS, 0.11, 0.2) is plausible, shift


def test_a_counter_that_goes_round_is_no_old_sample_and_a_restart_is_one_until_it_is_forgotten():
    check = TickCheck()
    assert check.plausible(TICKS - 8, 10.0, 10.002)
    assert check.plausible(2, 10.010, 10.012)
    assert not check.plausible(TICKS - 8, 10.020, 10.022)
    check.forget()
    assert check.plausible(TICKS - 8, 10.020, 10.022)
    # After a long pause nothing can be told.
    assert check.plausible(4, 61.0, 61.002)
