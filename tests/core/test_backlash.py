"""Backlash: motor and load as two bodies whose teeth meet without rebound."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from core.base.errors import ModelError
from core.export import export_model
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.identification.search.objective import Batch
from core.kernel.population import LANES
from core.motion.simulation import Stepper, simulate_recording, simulate_trajectory, with_integration
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel, with_contact
from core.servo.terms import CONTACTS
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model
from tests.core.test_kernel import candidates, recordings

DEGREE = math.pi / 180.0
STEP = 0.0025
DRIVEN = make_trajectory("sin_sin", 2.0, slow_amplitude=0.6, slow_frequency=2.0, fast_amplitude=0.0)
WEIGHTLESS = replace(PENDULUM, gravity=0.0)


def with_backlash(backlash, friction="m6", law="voltage", contact="rigid", **values):
    options = {"command_path": ("backlash",), "values": {"backlash": backlash, **values}}
    model = catalogue_model(friction=friction, **LAW_MODELS[law], **options)
    return with_contact(model, contact)


def positions(model, trajectory, step=STEP, *, coarse=STEP, start=(0.0, 0.0), bench=PENDULUM):
    model = replace(model, dt=coarse, substeps=round(coarse / step))
    position, velocity = start
    motion = simulate_trajectory(
        model, trajectory, bench, model.default_settings(), coarse, position=position, velocity=velocity, held=False
    )
    return motion.position


@pytest.mark.parametrize(
    ("law", "contact"),
    [
        pytest.param(law, contact, marks=[] if place in (0, 5) else pytest.mark.exhaustive("the rest of the table"))
        for place, (law, contact) in enumerate((law, contact) for law in LAW_MODELS for contact in CONTACTS)
    ],
)
def test_a_backlash_of_zero_changes_nothing(law, contact):
    model = with_backlash(0.0, law=law, contact=contact)
    without = with_contact(catalogue_model(friction="m6", **LAW_MODELS[law]), contact)

    for name in ("lift_and_drop", "sin_sin"):
        trajectory = make_trajectory(name, 3.0)
        np.testing.assert_allclose(positions(model, trajectory), positions(without, trajectory), rtol=0, atol=1e-12)


def test_the_load_rests_against_either_tooth():
    """A locked motor leaves the load the whole gap: it rests where gravity holds it against the teeth."""
    model = with_backlash(2.0 * DEGREE, "m1", friction_base=1e4)
    upright = Bench(mass=0.5, length=0.15, angle_offset=math.pi)
    servo = Stepper(model, upright, model.default_settings(), STEP, substeps=100, position=0.5 * DEGREE)
    # Upright, the pendulum falls away from 0: at first it leans on the teeth with a positive torque.
    motor = 0.5 * DEGREE - 1.0 * DEGREE
    rests = []
    for hand in (0.0, -0.5, 0.5, -0.5):
        for _ in range(200):
            servo.step(0.0, torque_enable=False, hand_torque=hand)
        rests.append(servo.position)
        assert abs(servo.velocity) < 1e-12

    np.testing.assert_allclose(rests, motor + DEGREE * np.array([1.0, -1.0, 1.0, -1.0]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("step", [0.0005, 0.0025, 0.01])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_teeth_that_meet_share_their_momentum(step, side):
    """A load thrown through the gap takes the motor along: J_l·v = (J_l + J_m)·v', at exactly the end of the gap."""
    model = with_backlash(2.0 * DEGREE, "m1", friction_base=0.0, friction_viscous=0.0, kt=1e-6)
    servo = Stepper(model, WEIGHTLESS, model.default_settings(), step)
    # The motor begins ahead of the load: one that is thrown forward crosses the whole gap.
    crossing = 2.0 * DEGREE / 3.0 if side > 0 else 0.0
    servo.reset(0.0, side * 3.0)
    servo._state[12] = -side * 3.0
    load, motor = WEIGHTLESS.inertia, model.values["armature"]
    common = side * 3.0 * load / (load + motor)
    for _ in range(round(0.1 / step)):
        servo.step(0.0, torque_enable=False)

    assert servo.velocity == pytest.approx(common, rel=1e-6)
    assert servo.position == pytest.approx(side * 3.0 * crossing + common * (0.1 - crossing), rel=1e-6)


def stiff_contact(model, trajectory, start, times):
    """The same servo, M1, with springs and dampers for teeth, solved finely: load's angle (n,)."""
    p, settings = model.values, model.default_settings()
    stiffness, load = 3e4, PENDULUM.inertia
    damping = 3.0 * math.sqrt(stiffness * load * p["armature"] / (load + p["armature"]))
    gain = model.control.error_gain * settings.kp

    def slopes(t, state):
        q, v, motor_q, motor_v = state
        gap = motor_q - q
        deep = max(gap - 0.5 * p["backlash"], 0.0) + min(gap + 0.5 * p["backlash"], 0.0)
        push = stiffness * deep + damping * (motor_v - v) if deep else 0.0
        push = max(push, 0.0) if deep > 0.0 else min(push, 0.0)
        limit = model.control.output_limit
        duty = min(max(gain * (float(trajectory.goal(np.array([t]))[0]) - q), -limit), limit)
        current = (duty * settings.supply_voltage - p["kt"] * motor_v) / p["R"]
        friction = p["friction_base"] * math.tanh(motor_v / 1e-3) + p["friction_viscous"] * motor_v
        weight = -PENDULUM.gravity_torque * math.sin(q + p["q_offset"])
        return [v, (weight + push) / load, motor_v, (p["kt"] * current - friction - push) / p["armature"]]

    position, velocity = start
    side = 1.0 if position >= 0.0 else -1.0
    first = [position, velocity, position + side * 0.5 * p["backlash"], velocity]
    return solve_ivp(
        slopes, (0.0, times[-1]), first, "Radau", times, rtol=1e-7, atol=1e-9, max_step=5e-4
    ).y[0]  # fmt: skip


@pytest.mark.parametrize("backlash", [0.5, 2.0])
def test_the_motion_is_that_of_a_stiff_contact(backlash):
    """The limit of teeth that hardly give and do not rebound; without backlash the motion is far away."""
    model = with_backlash(backlash * DEGREE, "m1", friction_base=0.02, friction_viscous=0.005)
    start = (0.3, 1.0)
    found = positions(model, DRIVEN, start=start)[:320]
    expected = stiff_contact(model, DRIVEN, start, STEP * np.arange(320))
    rigid = positions(with_backlash(0.0, "m1", friction_base=0.02, friction_viscous=0.005), DRIVEN, start=start)[:320]
    print(f"{1e3 * np.abs(found - expected).max():.3f} of {1e3 * np.abs(rigid - expected).max():.1f} mrad")

    assert np.abs(found - expected).max() < 0.5e-3
    assert np.abs(rigid - expected).max() > 4e-3


@pytest.mark.parametrize(
    ("law", "contact"),
    [
        pytest.param(law, contact, marks=[] if place in (0, 2) else pytest.mark.exhaustive("the rest of the table"))
        for place, (law, contact) in enumerate((law, contact) for law in ("voltage", "coast") for contact in CONTACTS)
    ],
)
def test_backlash_is_of_second_order(law, contact):
    """The order varies from step to step with the moments of contact; in the long run it is nearly 2."""
    model = with_backlash(DEGREE, law=law, contact=contact)
    steps = 0.004 / 2.0 ** np.arange(6)
    for trajectory, start in ((DRIVEN, (-0.2, 1.0)), (make_trajectory("lift_and_drop"), (0.0, 0.0))):
        reference = positions(model, trajectory, 0.004 / 1600, coarse=0.004, start=start)
        found = np.array(
            [np.abs(positions(model, trajectory, h, coarse=0.004, start=start) - reference).mean() for h in steps]
        )
        print(f"{found * 1e6} µrad, orders {np.log2(found[:-1] / found[1:])}")

        assert found[0] < 0.2e-3
        assert np.log2(found[0] / found[-1]) / 5.0 > 1.25


def test_a_population_moves_as_its_candidates(random):
    """The other laws are in test_kernel.py."""
    model = with_backlash(DEGREE)
    runs, matrix = recordings(model, random, False), candidates(model, random, LANES)

    motions = Batch(model, runs, threads=1).residuals(matrix, lambda _, found: found.copy())

    for place, vector in enumerate(matrix):
        for run, found in zip(runs, motions, strict=True):
            expected = simulate_recording(model.with_vector(vector), run).position - run.position
            # Two kernels differ in the last bits, and impacts magnify differences.
            np.testing.assert_allclose(found[:, place], expected, rtol=0, atol=1e-7)


def test_a_first_order_integrator_refuses_backlash():
    with pytest.raises(ModelError, match=r"needs the integrator .leapfrog., not .algorithm1"):
        with_integration(with_backlash(DEGREE), "algorithm1")


def test_a_model_file_keeps_backlash():
    model = with_backlash(DEGREE)

    assert ServoModel.from_json_text(model.to_json_text()) == model
    assert "backlash" not in catalogue_model("mx106", "m6").to_json_text()


@pytest.mark.parametrize("target", ["c", "drake", "urdf", "isaaclab"])
def test_an_export_says_what_becomes_of_backlash(target, tmp_path):
    found = export_model(with_backlash(1.5 * DEGREE), target, tmp_path)

    assert "backlash" in " ".join(found.notes)
    assert "backlash" in (tmp_path / "README.md").read_text(encoding="utf-8")
    for file in tmp_path.glob("*.servo.json"):
        assert json.loads(file.read_text("utf-8"))["version"] < 7


def test_programs_without_backlash_refuse_it():
    model = with_backlash(DEGREE)
    numbers = servo_numbers(model, model.default_settings(), backlash=True)

    assert (numbers["version"], numbers["backlash"]) == (7, DEGREE)
    with pytest.raises(ValueError, match="backlash, which this program does not compute"):
        program("servobench_servo").Bank([numbers], 1e-3)
