"""The pendulum of seed 004, section II-A, eq. (1): inertia, gravity torque, and refusals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.servo.bench import Bench
from core.servo.catalogue import load_servo

size = st.floats(0.0, 100.0)


@given(size, size, size, st.floats(-10.0, 10.0))
def test_point_mass_and_rod(mass, length, rod, angle):
    """J = (m + m_a/3)·l², τ_e = −(m + m_a/2)·g·l·sin θ."""
    bench = Bench(mass=mass, length=length, arm_mass=rod)

    assert bench.inertia == pytest.approx((mass + rod / 3) * length**2)
    assert bench.gravity_torque == pytest.approx((mass + rod / 2) * 9.80665 * length)
    assert bench.external_torque(angle) == pytest.approx(-bench.gravity_torque * math.sin(angle))


def test_measured_values_replace_the_formula():
    bench = Bench(mass=1.0, length=0.1, arm_mass=0.3, measured_inertia=0.02, measured_gravity_torque=1.3)

    assert bench.inertia == 0.02
    assert bench.gravity_torque == 1.3


def test_offset_turns_gravity():
    bench = Bench(mass=1.0, length=0.1, angle_offset=0.1)

    assert bench.external_torque(-0.1) == pytest.approx(0.0)
    assert bench.external_torque(math.pi / 2 - 0.1) == pytest.approx(-0.980665)
    assert Bench(mass=1.0, length=0.1, angle_offset=-0.1).external_torque(0.1) == 0.0
    assert Bench(mass=1.0, length=0.1, angle_offset=-2 * math.pi).angle_offset < -6.28


@given(size, size, size, st.none() | size, st.none() | size)
def test_json_round_trip(mass, length, rod, inertia, gravity_torque):
    bench = Bench(
        mass=mass, length=length, arm_mass=rod, measured_inertia=inertia, measured_gravity_torque=gravity_torque
    )

    assert Bench.from_json(bench.to_json()) == bench


@pytest.mark.parametrize(
    "wrong",
    [
        {"mass": -0.1},
        {"length": math.nan},
        {"arm_mass": math.inf},
        {"gravity": "down"},
        {"angle_offset": -7.0},
        {"gravity": -9.8},
        {"measured_inertia": -1.0},
        {"measured_gravity_torque": -1.0},
    ],
)
def test_impossible_benches_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Bench(**{"mass": 1.0, "length": 0.1, **wrong})


@pytest.mark.parametrize("data", [{}, {"mass": 1.0}, {"mass": 1.0, "length": 0.1, "colour": "red"}])
def test_broken_json_is_refused(data):
    with pytest.raises(InputError):
        Bench.from_json(data)


def test_a_servo_is_too_weak_for_a_load_that_stalls_it_with_the_rod_or_as_measured():
    weak = load_servo("xl330").too_weak

    assert weak(Bench(mass=0.5, length=0.1)) == ""
    assert weak(Bench(mass=1.71, length=0.1)) == (
        "Dynamixel XL330-M288, 0.52 N·m, cannot hold 1.71 kg at 0.1 m, which pulls with 1.68 N·m at 90°"
    )
    assert weak(Bench(mass=0.5, length=0.1, arm_mass=0.1))
    measured = Bench(mass=0.0, length=0.1, measured_inertia=0.01, measured_gravity_torque=0.6)
    assert "cannot hold this load, which pulls with 0.6 N·m" in weak(measured)
