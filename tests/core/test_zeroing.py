"""A zero taken by hand: rests from both sides of a pendulum that friction holds off its lowest point.

The truth is a pendulum whose servo reads `bottom` at its lowest point and rests `band` before it from either side.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from core.practice.zeroing import (
    LARGEST_BAND,
    REST_BAND,
    REST_TIME,
    SMALLEST_SWEEP,
    Rest,
    Side,
    Stage,
    Zeroing,
    ZeroingError,
    estimate,
)
from core.servo.bench import Bench

RATE = 50.0


class Hand:
    """Moves a pendulum and feeds what its encoder reads, wrapped into one turn, with noise."""

    def __init__(self, zeroing, bottom=0.0, band=0.0, noise=0.0, wrapped=True):
        self.zeroing, self.bottom, self.band, self.noise, self.wrapped = zeroing, bottom, band, noise, wrapped
        self.time, self.angle = 0.0, 0.0
        self.random = np.random.default_rng(4)

    def feed(self, angles):
        time = self.time + np.arange(1, len(angles) + 1) / RATE
        reading = np.asarray(angles) + self.bottom + self.noise * self.random.standard_normal(len(angles))
        if self.wrapped:
            reading = (reading + math.pi) % (2 * math.pi) - math.pi
        self.zeroing.take(time, reading)
        self.time, self.angle = float(time[-1]), float(angles[-1])

    def move(self, to, speed=1.0):
        steps = max(2, round(abs(to - self.angle) / speed * RATE))
        self.feed(np.linspace(self.angle, to, steps + 1)[1:])

    def hold(self, seconds=1.5 * REST_TIME):
        self.feed(np.full(round(seconds * RATE), self.angle))

    def sweep(self, reach=1.0):
        self.move(-reach)
        self.move(reach)

    def let_sink(self, start):
        """From `start`, positive or negative, to where friction stops it."""
        self.move(start)
        self.move(math.copysign(self.band, start))
        self.hold()


def swept(bottom=0.0, band=0.0, noise=0.0, wrapped=True, step=0.0, reach=1.0):
    """A pendulum whose range is known, and the hand that moved it."""
    zeroing = Zeroing(step)
    hand = Hand(zeroing, bottom, band, noise, wrapped)
    hand.sweep(reach)
    zeroing.end_sweep()
    return zeroing, hand


def measured(bottom=0.0, band=0.0, noise=0.0, wrapped=True, repeats=1, step=0.0):
    zeroing, hand = swept(bottom, band, noise, wrapped, step)
    for _ in range(repeats):
        hand.let_sink(0.6)
        hand.let_sink(-0.6)
    return zeroing


def test_a_joint_nobody_moved_is_refused_at_once():
    zeroing = Zeroing()
    with pytest.raises(ZeroingError, match="has not moved"):
        zeroing.end_sweep()
    hand = Hand(zeroing, noise=1e-3)
    hand.hold(5.0)
    with pytest.raises(ZeroingError, match="has not moved"):
        zeroing.end_sweep()
    assert zeroing.stage is Stage.SWEEP


def test_a_small_sweep_is_refused_with_its_size():
    zeroing = Zeroing()
    hand = Hand(zeroing)
    hand.move(0.9 * SMALLEST_SWEEP)
    with pytest.raises(ZeroingError, match=r"0\.4\d rad"):
        zeroing.end_sweep()
    hand.move(-0.2 * SMALLEST_SWEEP)
    zeroing.end_sweep()
    assert zeroing.stage is Stage.HANG


@pytest.mark.parametrize(("reach", "said"), [(0.02, "has not moved"), (0.04, r"only 0\.04 rad \(2°\)"), (0.48, "only")])
def test_a_sweep_needs_half_a_radian(reach, said):
    zeroing = Zeroing()
    zeroing.take(np.array([0.0, 0.1]), np.array([0.0, reach]))
    with pytest.raises(ZeroingError, match=said) as caught:
        zeroing.end_sweep()
    assert ("0.50 rad (29°) at least" in str(caught.value)) == ("only" in said)
    zeroing.take(np.array([0.2]), np.array([0.51]))
    zeroing.end_sweep()


def test_the_range_is_that_of_the_sweep():
    zeroing = Zeroing()
    Hand(zeroing, bottom=0.2).sweep(0.8)
    assert (zeroing.lowest, zeroing.highest) == pytest.approx((-0.6, 1.0))
    assert not zeroing.jumped


@given(
    st.floats(-1.4, 1.4),
    st.floats(0.0, 0.3),
    st.booleans(),
)
def test_friction_that_is_the_same_both_ways_does_not_move_the_zero(bottom, band, wrapped):
    zero = measured(bottom, band, wrapped=wrapped).result()
    assert zero.angle == pytest.approx(bottom, abs=1e-9)
    assert zero.band == pytest.approx(band, abs=1e-9)
    assert zero.angle_offset == -zero.angle


def test_the_offset_is_the_one_of_the_bench():
    """At the reading of the zero gravity has no torque: −G·sin(θ + offset) = 0."""
    zero = measured(0.13, 0.05).result()
    bench = Bench(mass=1.0, length=0.1, angle_offset=zero.angle_offset)
    assert bench.external_torque(0.13) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("bottom", [math.pi - 0.01, -math.pi + 0.01, math.pi])
def test_a_zero_where_the_reading_jumps_is_not_averaged_to_nought(bottom):
    """Readings of π − 0.01 and −π + 0.01 are 0.02 rad apart, not 2π, and their middle is π, not 0."""
    zeroing = measured(bottom, band=0.05)
    assert zeroing.jumped
    with pytest.raises(ZeroingError, match=r"reads −?-?3\.1\d rad"):
        zeroing.result()


def test_a_jump_within_the_sweep_is_seen_and_does_not_hurt():
    zeroing, hand = swept(bottom=1.2, band=0.04, reach=2.4)
    hand.let_sink(0.6)
    hand.let_sink(-0.6)
    assert zeroing.jumped
    assert zeroing.highest - zeroing.lowest == pytest.approx(4.8)
    assert zeroing.result().angle == pytest.approx(1.2, abs=1e-9)


def test_one_side_alone_gives_no_zero():
    zeroing, hand = swept(band=0.1)
    hand.let_sink(0.6)
    assert zeroing.result() is None
    assert zeroing.missing() == (Side.BELOW,)
    hand.let_sink(0.5)
    assert [rest.side for rest in zeroing.rests] == [Side.ABOVE, Side.ABOVE]
    hand.let_sink(-0.5)
    assert zeroing.missing() == ()
    assert zeroing.result().angle == pytest.approx(0.0, abs=1e-9)


def test_a_pendulum_held_at_the_end_of_its_range_does_not_hang():
    zeroing, hand = swept()
    hand.hold()
    assert zeroing.held
    assert zeroing.rests == []
    hand.move(0.6)
    assert not zeroing.held  # as soon as it leaves the end
    hand.let_sink(0.6)
    assert not zeroing.held
    assert len(zeroing.rests) == 1


def test_a_swinging_pendulum_is_waited_for():
    """A pendulum of 1 Hz that swings out with a time constant of 2 s rests once it stays within the band."""
    zeroing, hand = swept(bottom=0.1)
    t = np.arange(0.0, 12.0, 1 / RATE)
    swing = np.exp(-t / 2.0) * np.cos(2 * math.pi * t)
    first = t[2.0 * np.exp(-t / 2.0) > 1.2 * REST_BAND][-1]
    hand.feed(swing[t <= first])
    assert zeroing.rests == []
    assert zeroing.steadiness < 1.0
    hand.feed(swing[t > first])
    hand.hold()
    assert [rest.angle for rest in zeroing.rests] == pytest.approx([0.1], abs=REST_BAND)


def test_repeats_narrow_what_is_said_of_the_zero():
    """One rest a side: half of their distance. Repeats: Student's 95 % interval, t(2) = 4.30 for two a side."""
    one = estimate([Rest(-0.1, Side.BELOW), Rest(0.1, Side.ABOVE)])
    assert (one.angle, one.uncertainty, one.band) == pytest.approx((0.0, 0.1, 0.1))
    two = estimate([Rest(v, Side.BELOW) for v in (-0.101, -0.099)] + [Rest(v, Side.ABOVE) for v in (0.099, 0.101)])
    scatter = math.sqrt((2 * 0.001**2 + 2 * 0.001**2) / 2)
    assert two.uncertainty == pytest.approx(4.30 * 0.5 * scatter * math.sqrt(1 / 2 + 1 / 2))
    assert estimate(list(one.rests), 0.002).uncertainty == pytest.approx(0.101)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 9])
def test_the_interval_is_students_for_every_number_of_rests(count):
    """Of two means with pooled scatter; from ten degrees of freedom on, the quantile for ten is used."""
    below, above = (0.001 * (-1.0) ** np.arange(count) + side for side in (-0.1, 0.1))
    rests = [Rest(v, Side.BELOW) for v in below] + [Rest(v, Side.ABOVE) for v in above]
    scatter = math.sqrt((below.var() + above.var()) * count / (2 * count - 2))
    quantile = student.ppf(0.975, min(2 * count - 2, 10))
    assert estimate(rests).uncertainty == pytest.approx(quantile * 0.5 * scatter * math.sqrt(2 / count), rel=2e-3)


def test_a_pendulum_that_swings_past_has_to_be_repeated():
    """Dropped from 0.6 rad it passes its lowest point and stops beyond: nothing bounds that but its scatter."""
    zeroing, hand = swept(bottom=0.1)

    def drop(start, beyond):
        hand.move(start)
        hand.move(beyond)
        hand.hold()

    drop(0.6, -0.03)
    drop(-0.6, 0.05)
    assert zeroing.swung_past
    assert zeroing.result() is None
    with pytest.raises(ZeroingError, match="swung past"):
        estimate(zeroing.rests)
    drop(0.6, -0.05)
    drop(-0.6, 0.03)
    zero = zeroing.result()
    assert zero.angle == pytest.approx(0.1, abs=1e-9)
    # Two a side, ±0.01 about their means: t(2)·½·s·√(½ + ½) with s = √(4·0.01²/2).
    assert zero.uncertainty == pytest.approx(4.30 * 0.5 * math.sqrt(2) * 0.01)


def test_rests_too_far_apart_say_nothing():
    with pytest.raises(ZeroingError, match="apart"):
        estimate([Rest(-1.1 * LARGEST_BAND, Side.BELOW), Rest(1.1 * LARGEST_BAND, Side.ABOVE)])
    with pytest.raises(ZeroingError, match="each side"):
        estimate([Rest(0.1, Side.ABOVE)])
    assert estimate([Rest(-0.49, Side.BELOW), Rest(0.49, Side.ABOVE)]).band == pytest.approx(0.49)
    with pytest.raises(ZeroingError, match=r"rested 1\.02 rad \(58°\) apart"):
        estimate([Rest(-0.51, Side.BELOW), Rest(0.51, Side.ABOVE)])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_zero_more_than_a_quarter_turn_away_is_refused(sign):
    """The way to the servo's 0 rad would pass the horizontal."""
    near, far = ([Rest(sign * at - 0.01, Side.BELOW), Rest(sign * at + 0.01, Side.ABOVE)] for at in (1.56, 1.6))
    assert estimate(near).angle == pytest.approx(sign * 1.56)
    with pytest.raises(ZeroingError, match=r"reads -?1\.60 rad \(-?92°\) with the pendulum hanging"):
        estimate(far)


def test_readings_that_are_missing_are_passed_over():
    zeroing = Zeroing()
    zeroing.take(np.array([0.0, 0.1]), np.array([math.nan, 0.4]))
    assert (zeroing.position, zeroing.lowest) == (0.4, 0.4)
