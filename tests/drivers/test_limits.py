"""Limits: what follows from a servo's ratings, what trips on each side of each of them, and what the person is told."""

import math
from dataclasses import asdict, fields, replace

import pytest

from core.base.errors import InputError
from core.servo.catalogue import load_servo, servos
from drivers.errors import CommandError
from drivers.limits import Limits, LimitViolation
from drivers.reading import Reading

LIMITS = Limits(
    lowest_position=-1.0,
    highest_position=2.0,
    speed=5.0,
    hold_speed=1.5,
    torque=0.5,
    current=3.0,
    temperature=70.0,
    lowest_voltage=9.0,
    highest_voltage=13.0,
)
GOOD = {"position": 0.0, "velocity": 0.0, "current": 0.0, "supply_voltage": 12.0, "temperature": 30.0}


def reading(**changed):
    return Reading(**{**GOOD, **changed})


MEASURED = [
    # Field of a reading, its value at the limit, the way outwards, what is said of it.
    ("position", -1.0, -1, ("position", "rad", "widen the angle limits")),
    ("position", 2.0, 1, ("position", "rad", "widen the angle limits")),
    ("velocity", -5.0, -1, ("speed", "rad/s", "raise the speed limit")),
    ("velocity", 5.0, 1, ("speed", "rad/s", "raise the speed limit")),
    ("current", -3.0, -1, ("current", "A", "use a lighter load")),
    ("current", 3.0, 1, ("current", "A", "use a lighter load")),
    ("temperature", 70.0, 1, ("temperature", "degC", "let the servo cool down")),
    ("supply_voltage", 9.0, -1, ("supply voltage", "V", "check the power supply")),
    ("supply_voltage", 13.0, 1, ("supply voltage", "V", "check the power supply")),
]


@pytest.mark.parametrize(("field", "limit", "outwards", "told"), MEASURED)
def test_each_limit_trips_beyond_it_and_not_at_it(field, limit, outwards, told):
    """A released servo may fall as far and as fast as it likes; all else is judged in either state."""
    at, beyond = reading(**{field: limit}), reading(**{field: limit + 0.01 * outwards})
    assert LIMITS.check(at, driven=True) is None
    violation = LIMITS.check(beyond, driven=True)
    name, unit, remedy = told
    sign = math.copysign(1.0, limit) if name in ("speed", "current") else 1.0
    assert (violation.name, violation.unit) == (name, unit)
    assert (violation.value, violation.limit) == pytest.approx((sign * (limit + 0.01 * outwards), sign * limit))
    assert remedy in violation.remedy
    assert LIMITS.check(beyond, driven=False) == (None if field in ("position", "velocity") else violation)
    assert LIMITS.check_hold(replace(beyond, velocity=0.0)) == (violation if field != "velocity" else None)


def test_a_violation_reads_as_one_sentence():
    text = str(LimitViolation("speed", 5.125, 5.0, "rad/s", "lower the gain"))
    assert text == "speed 5.125 rad/s beyond the limit of 5 rad/s; lower the gain"


@pytest.mark.parametrize("unknown", [field.name for field in fields(Reading)])
def test_a_value_that_is_unknown_is_not_judged_but_the_position_of_a_driven_servo_must_be_known(unknown):
    seen = reading(**{unknown: math.nan})
    assert LIMITS.check(seen, driven=False) is None
    for violation in (LIMITS.check(seen, driven=True), LIMITS.check_hold(seen)):
        if unknown == "position":
            assert "position unknown while the servo is driven; check the encoder" in str(violation)
        else:
            assert violation is None
    # It does not keep the others from being judged.
    for field, limit, outwards, told in MEASURED:
        if unknown not in ("position", field):
            other = replace(seen, **{field: limit + 0.01 * outwards})
            assert LIMITS.check(other, driven=True).name == told[0]


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_a_position_moves_no_faster_than_the_speed_limit_besides_flicker(direction):
    farthest = 0.05 + 0.01 * LIMITS.speed
    for share, trips in ((0.99, False), (1.01, True)):
        there = reading(position=1.0 + direction * share * farthest)
        violation = LIMITS.check_jump(reading(position=1.0), there, 0.01)
        assert (violation is not None) is trips
    assert "a jump within 10 ms of 0.101 rad beyond the limit of 0.1 rad" in str(violation)


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_while_a_torque_is_held_the_speed_limit_is_that_of_a_guiding_hand(direction):
    assert LIMITS.check_hold(reading(velocity=1.5 * direction)) is None
    violation = LIMITS.check_hold(reading(velocity=1.6 * direction))
    assert "1.6 rad/s beyond the limit of 1.5 rad/s" in str(violation)
    assert "hold less torque" in str(violation)
    assert LIMITS.check(reading(velocity=1.6 * direction), driven=True) is None
    # Never more than the speed limit.
    assert replace(LIMITS, hold_speed=50.0).check_hold(reading(velocity=5.5 * direction)) is not None


@pytest.mark.parametrize("wrong", [field.name for field in fields(Limits)])
def test_limits_that_make_no_sense_are_refused(wrong):
    """None may be unknown, a lowest value has to be below the highest, all else but the temperature above 0."""
    with pytest.raises(InputError, match=f"limits: {wrong} is not a number"):
        replace(LIMITS, **{wrong: math.nan})
    side, _, quantity = wrong.partition("_")
    if side in ("lowest", "highest"):
        other = getattr(LIMITS, f"{'highest' if side == 'lowest' else 'lowest'}_{quantity}")
        with pytest.raises(InputError, match=f"limits: the lowest {quantity} .* is not below the highest"):
            replace(LIMITS, **{wrong: other})
    elif wrong != "temperature":
        for value in (0.0, -1.0):
            with pytest.raises(InputError, match=f"limits: {wrong} = {value} must be above 0"):
                replace(LIMITS, **{wrong: value})


@pytest.mark.parametrize("name", sorted(servos()))
def test_every_limit_of_a_servo_follows_from_its_ratings(name):
    spec = load_servo(name)
    assert asdict(Limits.for_spec(spec)) == pytest.approx(
        {
            "lowest_position": spec.position_range[0],
            "highest_position": spec.position_range[1],
            "speed": 3.0 * spec.no_load_speed,
            "hold_speed": 0.5 * spec.no_load_speed,
            "torque": spec.stall_torque,
            "current": 2.0 * spec.max_current,
            "temperature": spec.max_temperature - 5.0,
            "lowest_voltage": 0.95 * spec.supply_range[0],
            "highest_voltage": 1.05 * spec.supply_range[1],
        }
    )


@pytest.mark.parametrize(
    ("name", "outwards", "told"),
    [
        ("lowest_position", -1, "lowest position of -1.1 rad .* rating of -1 rad; choose one of at least -1 rad"),
        ("highest_position", 1, "highest position of 2.1 rad .* rating of 2 rad; choose one of at most 2 rad"),
        ("speed", 1, "speed of 5.1 rad/s .* rating of 5 rad/s; choose one of at most 5 rad/s"),
        ("torque", 1, "torque of 0.6 N·m .* rating of 0.5 N·m; choose one of at most 0.5 N·m"),
        ("current", 1, "current of 3.1 A .* rating of 3 A; choose one of at most 3 A"),
        ("temperature", 1, "temperature of 70.1 °C .* rating of 70 °C; choose one of at most 70 °C"),
        ("lowest_voltage", -1, "lowest voltage of 8.9 V .* rating of 9 V; choose one of at least 9 V"),
        ("highest_voltage", 1, "highest voltage of 13.1 V .* rating of 13 V; choose one of at most 13 V"),
    ],
)
def test_limits_may_be_narrower_than_the_ratings_but_not_wider(name, outwards, told):
    """A rounding error counts as none: of what is typed, e.g. -3.1416 rad for 180°."""
    rating = getattr(LIMITS, name)
    for change in (-0.1, 0.0, 0.9e-4 * max(1.0, abs(rating))):
        replace(LIMITS, **{name: rating + outwards * change}).require_within(LIMITS)
    for change in (1.1e-4 * max(1.0, abs(rating)), 0.1):
        with pytest.raises(CommandError, match="wider than the servo's rating") as refused:
            replace(LIMITS, **{name: rating + outwards * change}).require_within(LIMITS)
    refused.match(told)


@pytest.mark.parametrize(("wanted", "position", "torque"), [(-9.0, -1.0, -0.5), (9.0, 2.0, 0.5), (0.2, 0.2, 0.2)])
def test_goals_are_clamped_to_the_nearest_that_is_allowed(wanted, position, torque):
    assert (LIMITS.clamp_position(wanted), LIMITS.clamp_torque(wanted)) == (position, torque)
