"""Drive/backdrive diagrams against the budget itself: on a boundary it is used up, beside it one side holds.

Closed forms by hand for M1 and M3; every model, gate, sign and speed by property tests on the friction formulas.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import ModelError
from core.practice.diagram import (
    areas,
    backdrive_torque,
    drive_backdrive_diagram,
    drive_torque,
    halves,
    peak_torque,
    reachable_torque,
    self_locking,
    torque_range,
)
from core.servo.catalogue import servos
from core.servo.friction import QUADRATIC_GATES, friction_budget
from core.servo.model import with_contact
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import FRICTION_MODELS
from tests.core.conftest import catalogue_model

MODELS = [
    pytest.param(servo, friction, marks=[] if servo == "mx106" else pytest.mark.exhaustive("the other servos"))
    for servo in servos()
    for friction in shipped_models(servo)
]
BASE = {(friction, gate): catalogue_model("mx106", friction, quadratic_gate=gate)
        for friction in FRICTION_MODELS for gate in QUADRATIC_GATES}  # fmt: skip


def budget(model, motor, external, velocity):
    return float(friction_budget(model.friction, model.values, motor, external, velocity, model.quadratic_gate))


def state(model, motor, external, velocity):
    """The area of a point, by section II-C: along the motor, held, or along the external torque."""
    along = math.copysign(1.0, motor) * (motor + external)
    room = budget(model, motor, external, velocity)
    return "drive" if along > room else "backdrive" if -along > room else "static"


def test_coulomb_viscous_lines_by_hand():
    """Fig. 2: |τ_m + τ_e| = K_c + K_v·|θ̇| are two lines parallel to the diagonal."""
    model = catalogue_model("mx106", "m1", values={"friction_base": 0.5, "friction_viscous": 0.1})

    assert drive_torque(model, 2.0) == pytest.approx(-1.5)
    assert backdrive_torque(model, 2.0) == pytest.approx(-2.5)
    assert drive_torque(model, 2.0, 3.0) == pytest.approx(-1.2)
    assert backdrive_torque(model, 2.0, -3.0) == pytest.approx(-2.8)


def test_a_diagram_as_a_table_names_each_speed():
    diagram = drive_backdrive_diagram(load_model("mx106", "m6"), [-0.5, 1.0, 2.0], [0.0, 1.5])
    assert diagram.heading() == "drive and backdrive torque for motor torques of -0.5 to 2 N·m"
    columns = diagram.columns()
    assert list(columns) == [
        "motor torque",
        "drive at 0 rad/s",
        "drive at 1.5 rad/s",
        "backdrive at 0 rad/s",
        "backdrive at 1.5 rad/s",
    ]
    expected = (diagram.motor_torque, *diagram.drive.T, *diagram.backdrive.T)
    for found, values in zip(columns.values(), expected, strict=True):
        np.testing.assert_array_equal(found, values)
    assert (diagram.drive[1:] > diagram.backdrive[1:]).all()


def test_endless_screw_locks_itself():
    """Section III-D: K_e^s > 1 cannot be backdriven at rest; at speed the Stribeck part is gone."""
    values = {"load_friction_external": 0.1, "load_friction_external_stribeck": 1.1, "dtheta_stribeck": 0.5}
    model = catalogue_model("mx106", "m5", values=values)

    diagram = drive_backdrive_diagram(model, [-3.0, 3.0], [0.0, 20.0])

    assert diagram.self_locking.tolist() == [True, False]
    assert diagram.backdrive[:, 0].tolist() == [math.inf, -math.inf]
    assert np.isfinite(diagram.backdrive[:, 1]).all()
    assert np.isfinite(diagram.drive).all()
    for external in (-1e3, -1e6):
        assert state(model, 3.0, external, 0.0) == "static"


@pytest.mark.parametrize(("servo", "friction"), MODELS)
def test_shipped_models_spend_their_budget_on_both_boundaries(servo, friction):
    model = load_model(servo, friction)
    diagram = drive_backdrive_diagram(model, velocity=[0.0, 1.0, 4.0])

    assert diagram.drive.shape == diagram.backdrive.shape == (201, 3)
    reach = reachable_torque(model)
    assert diagram.motor_torque[[0, 100, -1]].tolist() == [-reach, 0.0, reach]
    motor = np.broadcast_to(diagram.motor_torque[:, None], diagram.drive.shape)
    speed = np.broadcast_to(diagram.velocity[None, :], diagram.drive.shape)
    for boundary in (diagram.drive, diagram.backdrive):
        some = np.isfinite(boundary)
        used = friction_budget(friction, model.values, motor[some], boundary[some], speed[some], model.quadratic_gate)
        np.testing.assert_allclose(np.abs(motor[some] + boundary[some]), used, rtol=1e-9)
    held = np.isfinite(diagram.drive) & (motor > 0)
    assert np.all(diagram.backdrive[held] <= diagram.drive[held])


def test_a_rational_contact_has_its_own_fall_with_the_speed():
    model = with_contact(load_model("mx106", "m2"), "elastoplastic_rational")
    speed = 2.0 * model.values["dtheta_stribeck"]
    expected = friction_budget("m2", model.values, 2.0, -1.0, speed, contact=model.contact)
    assert 2.0 + drive_torque(model, 2.0, speed) == pytest.approx(expected)
    assert expected > 1.01 * friction_budget("m2", model.values, 2.0, -1.0, speed)


def shares(friction):
    count = len(BASE[friction, "opposing"].parameters)
    return st.lists(st.floats(0.0, 1.0), min_size=count, max_size=count)


@st.composite
def models(draw):
    friction = draw(st.sampled_from(FRICTION_MODELS))
    base = BASE[friction, draw(st.sampled_from(QUADRATIC_GATES))]
    low, high = base.parameters.bounds().T
    # Never quite without friction, whose static area is empty; quadratic terms up to fifty times their usual bound.
    low = np.where([name == "friction_base" for name in base.parameters], 0.01 * high, low)
    high = np.where([name.endswith("_quad") for name in base.parameters], 50 * high, high)
    return base.with_vector(low + np.array(draw(shares(friction))) * (high - low))


torque = st.floats(-20.0, 20.0).filter(lambda t: abs(t) > 1e-6)
speed = st.one_of(st.just(0.0), st.floats(-10.0, 10.0))


@settings(max_examples=300)
@given(models(), torque, speed)
def test_boundaries_separate_the_areas(model, motor, velocity):
    sign = math.copysign(1.0, motor)
    drive, backdrive = float(drive_torque(model, motor, velocity)), float(backdrive_torque(model, motor, velocity))
    beside = 1e-7 * max(1.0, abs(motor))

    if math.isnan(drive):
        assert state(model, motor, 0.0, velocity) == "static"
    else:
        assert abs(abs(motor + drive) - budget(model, motor, drive, velocity)) <= 1e-9 * max(1.0, abs(motor))
        assert sign * drive <= 0.0
        if abs(drive) > beside:
            assert state(model, motor, drive + sign * beside, velocity) == "drive"
        assert state(model, motor, drive - sign * beside, velocity) == "static"
    if math.isinf(backdrive):
        assert backdrive == -sign * math.inf
        assert bool(self_locking(model, velocity))
        assert state(model, motor, -sign * 1e9, velocity) == "static"
    else:
        beside = 1e-7 * max(1.0, abs(backdrive))
        used = budget(model, motor, backdrive, velocity)
        assert abs(abs(motor + backdrive) - used) <= 1e-9 * max(1.0, abs(backdrive))
        nearly_locked = abs(backdrive) > 1e5 * max(1.0, abs(motor))
        if not nearly_locked:
            assert state(model, motor, backdrive - sign * beside, velocity) == "backdrive"
            assert state(model, motor, backdrive + sign * beside, velocity) == "static"
        assert not bool(self_locking(model, velocity))


def test_arrays_broadcast_and_bad_numbers_are_refused():
    model = BASE["m6", "opposing"]

    assert drive_torque(model, np.ones(4), np.zeros((3, 1))).shape == (3, 4)
    assert backdrive_torque(model, 1.0, np.zeros(3)).shape == (3,)
    assert drive_backdrive_diagram(model, 2.0, 1.0).drive.shape == (1, 1)
    with pytest.raises(ModelError, match="finite"):
        drive_torque(model, math.nan)
    with pytest.raises(ModelError, match="one list"):
        drive_backdrive_diagram(model, np.ones((2, 2)))


def test_a_diagram_ends_where_the_servo_does():
    """The MX-106's motor would give 16 N·m by its k_t and R; its data sheet says 8.4."""
    model = load_model("mx106", "m6")

    assert peak_torque(model) > 16.0
    assert reachable_torque(model) == 8.4
    weak = catalogue_model("mx106", "m1", values={"kt": 1.0, "R": 8.0})
    assert reachable_torque(weak) == peak_torque(weak)


@pytest.mark.parametrize(("largest", "points"), [(8.4, 9), (16.3, 21), (0.1, 4), (2.0, 1)])
def test_motor_torques_mirror_each_other_exactly(largest, points):
    torques = torque_range(largest, points)

    assert len(torques) == points
    assert torques[-1] == largest
    if points > 1:
        assert (torques == -torques[::-1]).all()
        assert (points % 2 == 0) or torques[points // 2] == 0.0


@pytest.mark.parametrize(
    ("boundary", "drawn"),
    [([2.0, -np.inf, -2.0], [2.0, np.nan, np.nan, np.nan, -2.0]), ([2.5, -0.5, -2.5], [2.5, 0.5, np.nan, -0.5, -2.5])],
)
def test_a_boundary_reaches_zero_from_both_sides_and_is_not_drawn_through_it(boundary, drawn):
    x, y = halves(np.array([-1.0, 0.0, 1.0]), np.array(boundary))

    assert x.tolist() == [-1.0, 0.0, 0.0, 0.0, 1.0]
    np.testing.assert_array_equal(y, drawn)


def test_areas_fill_what_opposes_the_motor():
    """Fig. 2: drive from the axis, static between both boundaries, backdrive from there on."""
    model = catalogue_model("mx106", "m1", values={"friction_base": 0.5, "friction_viscous": 0.0})
    diagram = drive_backdrive_diagram(model, [-2.0, 0.0, 2.0])
    found = {(name, float(torque[0])): (float(low[0]), float(high[0])) for name, torque, low, high in areas(diagram)}

    assert found == {
        ("drive", 2.0): (0.0, -1.5),
        ("static", 2.0): (-1.5, -2.5),
        ("backdrive", 2.0): (-2.5, -2.5),
        ("drive", -2.0): (0.0, 1.5),
        ("static", -2.0): (1.5, 2.5),
        ("backdrive", -2.0): (2.5, 2.5),
    }


def test_peak_torque_of_each_law():
    """Standing: k_t·U·duty/R; current law: k_t times the smaller of I_heat and U/R (eq. 14)."""
    voltage = catalogue_model("mx106", "m1", values={"kt": 2.0, "R": 3.0})
    current = catalogue_model("erob80_100", "m1", values={"kt": 9.0, "R": 2.0})
    weak = catalogue_model("erob80_100", "m1", values={"kt": 9.0, "R": 8.0})

    assert peak_torque(voltage) == pytest.approx(2.0 * 15.0 * 0.9625 / 3.0)
    assert peak_torque(current) == pytest.approx(9.0 * 12.0)
    assert peak_torque(weak) == pytest.approx(9.0 * 6.0)
