"""Limits: what trips, when, and what the person is told."""

import math
from dataclasses import replace

import pytest

from core.catalogue import load_servo, servos
from core.errors import InputError
from drivers.errors import CommandError
from drivers.limits import FLICKER, HOLD_SPEED_SHARE, Limits
from drivers.reading import Reading

LIMITS = Limits(
    lowest_position=-1.0,
    highest_position=2.0,
    speed=5.0,
    torque=0.5,
    current=3.0,
    temperature=70.0,
    lowest_voltage=9.0,
    highest_voltage=13.0,
)
GOOD = {"position": 0.0, "velocity": 0.0, "current": 0.0, "supply_voltage": 12.0, "temperature": 30.0}


def reading(**changed):
    return Reading(**{**GOOD, **changed})


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"position": -1.01}, "position"),
        ({"position": 2.01}, "position"),
        ({"velocity": 5.1}, "speed"),
        ({"velocity": -5.1}, "speed"),
        ({"current": -3.1}, "current"),
        ({"temperature": 71.0}, "temperature"),
        ({"supply_voltage": 8.9}, "supply voltage"),
        ({"supply_voltage": 13.1}, "supply voltage"),
    ],
)
def test_each_limit_trips_and_says_what_to_do(changed, name):
    assert LIMITS.check(reading(), driven=True) is None
    violation = LIMITS.check(reading(**changed), driven=True)
    assert violation is not None
    assert violation.name == name
    text = str(violation)
    assert f"{violation.value:.4g} {violation.unit}" in text
    assert violation.remedy in text


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_a_position_moves_no_faster_than_the_speed_limit_besides_flicker(direction):
    farthest = FLICKER + 0.01 * LIMITS.speed
    for share, trips in ((0.99, False), (1.01, True)):
        there = reading(position=direction * share * farthest)
        violation = LIMITS.check_jump(reading(), there, 0.01)
        assert (violation is not None) is trips
    assert "a jump within 10 ms" in str(violation)


def test_a_released_servo_may_fall_as_far_and_as_fast_as_it_likes():
    assert LIMITS.check(reading(position=3.0, velocity=40.0), driven=False) is None
    assert LIMITS.check(reading(temperature=90.0), driven=False) is not None


def test_unknown_values_are_not_judged_but_the_position_of_a_driven_servo_must_be_known():
    assert LIMITS.check(Reading(position=0.0), driven=True) is None
    assert LIMITS.check(Reading(position=math.nan), driven=False) is None
    violation = LIMITS.check(Reading(position=math.nan), driven=True)
    assert violation is not None
    assert "unknown" in str(violation)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lowest_position": 1.0, "highest_position": 1.0},
        {"lowest_voltage": 13.0, "highest_voltage": 9.0},
        {"speed": 0.0},
        {"hold_speed": 0.0},
        {"current": -1.0},
        {"torque": math.nan},
    ],
)
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError, match="limits"):
        Limits(**wrong)


@pytest.mark.parametrize("name", sorted(servos()))
def test_the_limits_of_a_catalogue_servo_hold_its_ratings(name):
    spec = load_servo(name)
    limits = Limits.for_spec(spec)
    assert limits.speed > spec.no_load_speed
    assert limits.hold_speed == HOLD_SPEED_SHARE * spec.no_load_speed < spec.no_load_speed
    assert limits.current > spec.max_current
    assert limits.torque == spec.stall_torque
    assert limits.temperature < spec.max_temperature
    assert limits.lowest_voltage < spec.supply_voltage < limits.highest_voltage


def test_while_a_torque_is_held_the_speed_limit_is_that_of_a_guiding_hand():
    limits = replace(LIMITS, hold_speed=1.5)
    assert limits.check_hold(reading(velocity=-1.4)) is None
    violation = limits.check_hold(reading(velocity=-1.6))
    assert violation is not None
    assert "1.6 rad/s beyond the limit of 1.5 rad/s" in str(violation)
    assert "hold less torque" in str(violation)
    assert limits.check(reading(velocity=-1.6), driven=True) is None
    # Never more than the speed limit, and every other limit stays.
    assert replace(LIMITS, hold_speed=50.0).check_hold(reading(velocity=5.5)) is not None
    assert limits.check_hold(reading(position=2.5)) == limits.check(reading(position=2.5), driven=True) is not None


@pytest.mark.parametrize(
    ("name", "wide", "narrow"),
    [
        ("lowest_position", -1.1, -0.9),
        ("highest_position", 2.1, 1.9),
        ("speed", 5.1, 4.9),
        ("torque", math.inf, 0.4),
        ("current", 3.1, 2.9),
        ("temperature", 71.0, 69.0),
        ("lowest_voltage", 8.0, 10.0),
        ("highest_voltage", 14.0, 12.0),
    ],
)
def test_limits_may_be_narrower_than_the_ratings_but_not_wider(name, wide, narrow):
    replace(LIMITS, **{name: narrow}).require_within(LIMITS)
    LIMITS.require_within(LIMITS)
    with pytest.raises(CommandError, match=f"rating of {getattr(LIMITS, name):.4g}.* choose one of at"):
        replace(LIMITS, **{name: wide}).require_within(LIMITS)


def test_rounding_does_not_make_a_limit_too_wide():
    ratings = replace(LIMITS, lowest_position=-3.14159)
    replace(ratings, lowest_position=math.radians(-180.0)).require_within(ratings)
    with pytest.raises(CommandError, match="lowest position"):
        replace(ratings, lowest_position=math.radians(-180.1)).require_within(ratings)
