"""Placed points against seed 004, section II-C: the pendulum rests exactly between the two boundaries of its diagram.

The truth is simulated: a pendulum put at an angle with the motor torque held either stays or slides, and where that
changes is where G·|sin θ| meets the drive or the backdrive torque in closed form.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.motion.simulation import Stepper
from core.practice.placement import (
    DISAGREEMENT,
    HIGHEST_ANGLE,
    LOWEST_ANGLE,
    PlacedPoint,
    Steadiness,
    disagreement,
    expected_angles,
    nearest_torques,
    placement_residuals,
    points_from_json,
    points_to_json,
    redone,
    suggest_torques,
)
from core.servo.bench import Bench
from core.servo.catalogue import load_servo, servos
from core.servo.shipped import load_model, shipped_models
from drivers.simulated.servo import starting_bench
from tests.core.conftest import catalogue_model

SHIPPED = [name for name in servos() if "m6" in shipped_models(name)]
TICK = 1e-3
BENCH = Bench(mass=1.0, length=0.1)


def stays(model, bench, motor_torque, angle):
    """Whether a pendulum put at an angle, at rest, is still there after a moment."""
    stepper = Stepper(model, bench, model.default_settings(), TICK, position=angle)
    for _ in range(40):
        stepper.step(angle, motor_torque=motor_torque)
    return abs(stepper.position - angle) < 1e-12


def edge(model, bench, motor_torque, inside, outside):
    """Between an angle at which it stays and one at which it does not, by bisection [rad]."""
    assert stays(model, bench, motor_torque, inside)
    assert not stays(model, bench, motor_torque, outside)
    while abs(outside - inside) > 1e-7:
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stays(model, bench, motor_torque, middle) else (inside, middle)
    return inside


def point(motor_torque=0.4, angle=0.2, side="drive", **changes):
    return PlacedPoint(motor_torque=motor_torque, angle=angle, side=side, bench=BENCH, servo="mx106", **changes)


@pytest.mark.parametrize(
    ("servo", "sign"),
    [("mx106", 1.0), ("mx106", -1.0)]
    + [
        pytest.param(name, 1.0, marks=pytest.mark.exhaustive("the other servos")) for name in SHIPPED if name != "mx106"
    ],
)
def test_the_pendulum_rests_between_the_boundaries(servo, sign):
    model = load_model(servo, "m6")
    bench = replace(starting_bench(load_servo(servo)), angle_offset=0.02)
    torques = suggest_torques(model, bench).torques
    assert 3 <= len(torques) <= 6
    for torque in (sign * torques[0], sign * torques[-1]):
        low, high = expected_angles(model, bench, torque)
        nearest, farthest = sorted(sign * (angle + bench.angle_offset) for angle in (low, high))
        assert LOWEST_ANGLE <= nearest < farthest <= HIGHEST_ANGLE
        middle = 0.5 * (low + high)
        found = (
            edge(model, bench, torque, middle, low - 0.05 * sign),
            edge(model, bench, torque, middle, high + 0.05 * sign),
        )
        assert found == pytest.approx((low, high), abs=1e-5)
        points = [
            PlacedPoint(motor_torque=torque, angle=angle, side=side, bench=bench, servo=servo)
            for angle, side in zip(found, ("drive", "backdrive"), strict=True)
        ]
        assert placement_residuals(model, points) == pytest.approx([0.0, 0.0], abs=1e-5 * bench.gravity_torque)


def test_expected_angles_by_hand():
    """M1 with K_c = 0.1 at 0.4 N·m: the external torque rests between 0.3 and 0.5 N·m."""
    model = catalogue_model("mx106", "m1", values={"friction_base": 0.1, "q_offset": 0.0})
    gravity = BENCH.gravity_torque
    assert expected_angles(model, BENCH, 0.4) == pytest.approx((math.asin(0.3 / gravity), math.asin(0.5 / gravity)))
    assert expected_angles(model, BENCH, -0.4) == pytest.approx((-math.asin(0.3 / gravity), -math.asin(0.5 / gravity)))
    low, high = expected_angles(model, BENCH, 0.05)
    assert math.isnan(low)  # friction holds even the unloaded shaft
    assert high == pytest.approx(math.asin(0.15 / gravity))
    assert math.isnan(expected_angles(model, BENCH, 0.95)[1])  # 1.05 N·m is more than the arm weighs


def test_residuals_are_the_torque_the_model_lacks():
    """0.02 rad beyond the model's lowest angle the truth drives G·Δsin more than the model."""
    model = catalogue_model("mx106", "m1", values={"friction_base": 0.1, "q_offset": 0.0})
    low, high = expected_angles(model, BENCH, 0.4)
    points = [point(angle=low + 0.02), point(angle=high - 0.02, side="backdrive")]
    expected = BENCH.gravity_torque * np.array(
        [math.sin(low + 0.02) - math.sin(low), math.sin(high - 0.02) - math.sin(high)]
    )
    assert placement_residuals(model, points) == pytest.approx(expected)
    assert placement_residuals(model, []).shape == (0,)


def test_a_boundary_inside_a_bracket_is_no_error_and_outside_its_distance_is():
    """The boundary at θ lies between the last rest and the first fall, or 0.01 rad beyond one of them."""
    model = catalogue_model("mx106", "m1", values={"friction_base": 0.1, "q_offset": 0.0})
    low, high = expected_angles(model, BENCH, 0.4)
    around = [point(angle=low + 0.03, fell=low - 0.05), point(angle=high - 0.03, fell=high + 0.05, side="backdrive")]
    assert placement_residuals(model, around) == pytest.approx([0.0, 0.0])
    beside = [point(angle=low + 0.04, fell=low + 0.01), point(angle=low - 0.01, fell=low - 0.04)]
    expected = BENCH.gravity_torque * np.array([math.sin(low + d) - math.sin(low) for d in (0.01, -0.01)])
    assert placement_residuals(model, beside) == pytest.approx(expected)


def test_a_point_without_a_fall_is_judged_by_its_angle():
    points = [point(angle=0.17), point(motor_torque=-0.3, angle=-0.6, side="backdrive")]
    expected = [abs(BENCH.external_torque(p.angle + 0.02)) for p in points]
    assert nearest_torques(points, np.array([0.3, 0.4]), 0.02) == pytest.approx(expected, rel=1e-12)


def test_a_point_that_disagrees_is_counted_in_standard_deviations():
    """0.3 rad off with a model good to 0.02 rad; a wide bracket says less."""
    model = catalogue_model("mx106", "m1", values={"friction_base": 0.1, "q_offset": 0.0})
    low, _ = expected_angles(model, BENCH, 0.4)
    assert disagreement(model, point(angle=low + 0.01)) < 1.0
    off = disagreement(model, point(angle=low + 0.3))
    assert off > DISAGREEMENT
    assert disagreement(model, point(angle=low + 0.4, fell=low + 0.3)) < off


def test_a_load_that_friction_holds_is_refused_with_the_remedy():
    model = load_model("mx106", "m6")
    suggestion = suggest_torques(model, Bench(mass=0.05, length=0.1))
    assert suggestion.torques == ()
    assert "hang more mass" in suggestion.reason
    assert suggest_torques(load_servo("mx106"), Bench(mass=100.0, length=1.0)).torques == ()
    assert "too much" in suggest_torques(load_servo("mx106"), Bench(mass=100.0, length=1.0)).reason


def test_without_a_model_the_middle_of_the_bench_is_taken():
    suggestion = suggest_torques(load_servo("mx106"), BENCH)
    gravity = BENCH.gravity_torque
    assert all(0.2 * gravity <= torque <= 0.6 * gravity for torque in suggestion.torques)
    assert len(suggestion.torques) >= 3
    assert suggestion.reason == (
        "20 to 60 % of the gravity torque of 0.981 N·m; no model yet gives the width due to friction"
    )


def test_torques_that_cannot_be_suggested_have_the_remedy_for_their_bench():
    spec, model = load_servo("mx106"), load_model("mx106", "m6")
    assert suggest_torques(spec, Bench(mass=0.0, length=0.1)).reason == "there is no load on the bench; hang one on it"
    heavy = Bench(mass=100.0, length=1.0)
    assert suggest_torques(spec, heavy).reason == (
        f"the load's gravity torque of 981 N·m is too much for a servo of {spec.stall_torque:.3g} N·m; "
        "hang less mass on it or make the rod shorter"
    )
    assert suggest_torques(model, Bench(mass=0.05, length=0.1)).reason == (
        "the load is too light: its gravity torque of 0.049 N·m does not overcome friction; "
        "hang more mass on it or make the rod longer"
    )
    found = suggest_torques(model, BENCH)
    low, high = (float(text) for text in found.reason.partition(" between ")[2].removesuffix(" N·m").split(" and "))
    assert 0.99 * low <= found.torques[0] < found.torques[-1] <= 1.01 * high


# Steadiness.


def steadiness_after(positions, step=0.0015, rate=200.0, time=0.5):
    steadiness = Steadiness(step, time)
    for number, position in enumerate(positions):
        steadiness.feed(number / rate, float(position))
    return steadiness


def test_a_flickering_encoder_is_steady():
    step = 0.0015
    flicker = 0.3 + step * np.random.default_rng(1).integers(0, 3, 200)
    steadiness = steadiness_after(flicker, step)
    assert steadiness.steady
    assert steadiness.angle == pytest.approx(0.3 + step, abs=step)
    assert steadiness.spread == pytest.approx(2 * step)


def test_a_gap_or_a_lost_reading_begins_anew():
    steadiness = steadiness_after(np.zeros(400))
    assert steadiness.steady
    assert steadiness.level == 1.0
    steadiness.feed(2.1, math.nan)
    assert steadiness.level == 0.0
    assert math.isnan(steadiness.angle)


@pytest.mark.parametrize("time", [0.0, -0.5, math.nan, math.inf])
def test_a_time_in_which_nothing_can_rest_is_refused(time):
    with pytest.raises(InputError, match=f"cannot rest for {time} s"):
        Steadiness(0.001, time)


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=60), st.integers(2, 20))
def test_steady_means_every_recent_position_in_the_band(positions, count):
    """Against the definition: the longest run of newest samples whose spread fits the band."""
    steadiness = Steadiness(0.1, count * 0.01)
    for number, position in enumerate(positions):
        steadiness.feed(0.01 * number, position)
    longest = max(k for k in range(1, len(positions) + 1) if np.ptp(positions[-k:]) <= steadiness.band)
    assert steadiness.steady == (longest > count)
    if not steadiness.steady:
        assert steadiness.level == pytest.approx((longest - 1) / count, abs=1e-6)


# Files.


def test_points_survive_their_file_of_the_second_version_if_one_has_a_bracket():
    points = (
        point(spread=0.003, supply_voltage=14.8, temperature=31.0, current=0.7, when="2026-11-21T12:00:00+00:00"),
        point(angle=0.5, side="backdrive", repeat=2),
    )
    data = json.loads(json.dumps(points_to_json(points)))
    assert points_from_json(data) == points
    assert data["version"] == 1
    assert all("fell" not in entry for entry in data["points"])
    assert data["points"][0]["external_torque"] == pytest.approx(-BENCH.gravity_torque * math.sin(0.2))
    assert points_from_json(None) == ()
    bracket = point(angle=0.2, fell=0.16, spread=0.003)
    kept = points_to_json([bracket])
    assert kept["version"] == 2
    assert points_from_json(kept) == (bracket,)
    assert (bracket.error, point(spread=0.003).error) == (pytest.approx(0.02), 0.003)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"side": "left"}, "side"),
        ({"angle": "steep"}, "angle"),
        ({"angle": float("nan")}, "angle"),
        ({"motor_torque": 0.0}, "drive direction"),
        ({"motor_torque": True}, "motor_torque"),
        ({"repeat": 0}, "repeat"),
        ({"colour": "red"}, "colour"),
        ({"external_torque": 1.0}, "does not fit"),
        ({"bench": None}, "bench"),
        ({"servo": ""}, "servo"),
        ({"temperature": "hot"}, "temperature"),
        ({"uid": ""}, "uid must not be empty"),
        ({"uid": 7}, "uid = 7 is not a text"),
        ({"servo": 7}, "servo = 7 is not a text"),
        ({"when": 7}, "when = 7 is not a text"),
        ({"repeat": True}, "repeat True"),
        ({"repeat": 1.5}, "repeat 1.5"),
        ({"spread": float("inf")}, "spread"),
        ({"fell": float("nan")}, "fell"),
        ({"current": True}, "current"),
        ({"supply_voltage": "12"}, "supply_voltage"),
        ({"external_torque": "1"}, "external_torque"),
    ],
)
def test_a_file_that_is_wrong_is_refused(change, word):
    data = points_to_json([point()])
    data["points"][0] |= change
    with pytest.raises(InputError, match=word):
        points_from_json(data)


@pytest.mark.parametrize(
    "data", [[], {"points": []}, {"format": "servobench-placed-points", "version": 9, "points": []}]
)
def test_a_file_of_something_else_is_refused(data):
    with pytest.raises(InputError):
        points_from_json(data)


def test_measuring_again_replaces_only_the_same_extreme():
    first = (point(), point(angle=0.5, side="backdrive"), point(repeat=2))
    again = point(angle=0.19)
    assert redone(first, again) == (first[1], first[2], again)
    for other in (
        point(motor_torque=0.41),
        point(motor_torque=-0.4),
        replace(point(), servo="mx64"),
        replace(point(), bench=replace(BENCH, mass=1.1)),
    ):
        assert redone(first, other) == (*first, other)
    assert redone(first, point(motor_torque=0.4 + 1e-12))[:2] == first[1:]


@pytest.mark.parametrize("motor_torque", [0.4, -0.4])
@pytest.mark.parametrize("offset", [0.2, -0.15])
def test_points_at_the_expected_angles_lie_on_the_boundaries(motor_torque, offset):
    """Whichever way the motor lifts, and however the arm and the model's zero are mounted."""
    model = load_model("mx106", "m6")
    tilted = model.with_values({"q_offset": 0.05})
    bench = replace(BENCH, angle_offset=offset)
    low, high = expected_angles(tilted, bench, motor_torque)
    placed = [
        PlacedPoint(motor_torque=motor_torque, angle=angle, side=side, bench=bench, servo="mx106")
        for angle, side in ((low, "drive"), (high, "backdrive"))
    ]
    np.testing.assert_allclose(placement_residuals(tilted, placed), 0.0, atol=1e-9)
    lifted = [math.copysign(1.0, motor_torque) * (angle + offset + 0.05) for angle in (low, high)]
    assert 0.0 < lifted[0] < lifted[1] < 0.5 * math.pi
