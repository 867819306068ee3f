"""Elastoplastic contacts in the kernel, seed 001 with the budgets of seed 004, against scalar laws and mechanics."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ModelError
from core.contact.implicit import implicit_friction
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.identification.identify import IdentificationRequest, identify
from core.identification.search.objective import Batch
from core.kernel.bristle import slip_of, steepest_fall
from core.motion.simulation import Stepper, simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.friction import friction_parameters, needed_damping
from core.servo.model import RATIONAL_WIDTH, ServoModel, model_to_bam, with_contact
from core.servo.shipped import load_model
from core.servo.terms import CONTACTS, FRICTION_TERMS
from tests.core.budget_law import law_of_budget
from tests.core.conftest import PENDULUM, recorded

ELASTOPLASTIC = tuple(name for name in CONTACTS if name != "rigid")
BENCH = Bench(mass=1.0, length=0.15)


@pytest.mark.parametrize("friction", ["m1", "m2", "m3", "m4", "m5", "m6"])
@pytest.mark.parametrize("contact", ELASTOPLASTIC)
def test_one_step_of_any_budget_is_the_law_of_that_moment(friction, contact):
    """F_C, F_S by this step's torques (seed 004, eqs 3, 6–10), then one implicit step of J·v̇ = τ_m + τ_e − f."""
    published = replace(load_model("mx106", friction), integrator="algorithm1", quadratic_gate="larger_torque")
    model = with_contact(published, contact)
    values, h = model.values, 1e-3
    shape = "rational" if model.contact.endswith("rational") else "stribeck"
    inertia = BENCH.inertia + values["armature"]
    bristle = 1.0 / (values["bristle_stiffness"] * h + values["bristle_damping"])
    z = bristle + h / inertia
    for position, velocity, torque in ((0.9, 0.0, 0.4), (0.2, 3.0, -0.5), (-1.2, -0.02, 1.5), (0.4, 0.0, 0.0)):
        stepper = Stepper(model, BENCH, model.default_settings(), h, position=position, velocity=velocity)
        stepper.step(0.0, motor_torque=torque)
        external = -BENCH.gravity_torque * np.sin(position + values["q_offset"])
        law = law_of_budget(friction, values, torque, external, shape=shape)
        free = velocity + h / inertia * (torque + external)
        expected = free - h / inertia * implicit_friction(law.row, z, free)
        assert stepper.velocity == pytest.approx(expected, rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("contact", ELASTOPLASTIC)
def test_a_stuck_servo_neither_drifts_nor_chatters(contact):
    """Released at an angle where gravity is less than F_S, it gives K·e = τ_e and stays there to the last bit."""
    model = with_contact(load_model("mx106", "m2"), contact)
    stepper = Stepper(model, BENCH, model.default_settings(), 0.005, position=0.04)
    for _ in range(1500):
        stepper.step(0.0, False)
    settled = stepper.position
    torque = BENCH.gravity_torque * np.sin(settled + model.values["q_offset"])
    assert 0.04 - settled == pytest.approx(torque / model.values["bristle_stiffness"], rel=2e-3)
    for _ in range(1000):
        stepper.step(0.0, False)
        assert abs(stepper.position - settled) < 1e-12


def test_a_friction_that_jumps_is_refused_with_the_values_to_change():
    model = with_contact(load_model("mx106", "m4"), "elastoplastic")
    needed = float(needed_damping(model.values, model.contact, load_servo("mx106").stall_torque))
    low = [
        replace(p, value=0.9 * needed, lower=0.0) if p.name == "bristle_damping" else p
        for p in model.parameters.values()
    ]
    with pytest.raises(ModelError, match=f"raise bristle_damping to at least {needed:.4g}, or dtheta_stribeck"):
        replace(model, parameters=type(model.parameters)(low))
    # A search's candidate is moved to where its law is one.
    moved = model.with_parameters(type(model.parameters)(low))
    assert moved.values["bristle_damping"] == pytest.approx(needed)
    with pytest.raises(ModelError, match="less than 1, friction falls infinitely steeply"):
        with_contact(load_model("mx64", "m6"), "elastoplastic")
    with pytest.raises(ModelError, match="no contact 'sticky'; there are rigid, elastoplastic"):
        with_contact(model, "sticky")


FALLING = {
    "friction_viscous": 0.3,
    "friction_stribeck": 0.8,
    "dtheta_stribeck": 0.5,
    "alpha": 1.0,
    "load_friction_stribeck": 0.05,
    "load_friction_motor_stribeck": 0.04,
    "load_friction_external_stribeck": 0.07,
    "load_friction_motor_quad": 0.01,
    "load_friction_external_quad": 0.03,
}


@pytest.mark.parametrize(
    ("friction", "breaking"),
    [
        ("m2", 0.8),
        # |τ_m − τ_e| is twice the load where the torques oppose each other.
        ("m4", 0.8 + 0.05 * 2 * 3.0),
        ("m5", 0.8 + (0.04 + 0.07) * 3.0),
        ("m6", 0.8 + (0.04 + 0.07) * 3.0 + 0.03 * 3.0**2),
    ],
)
def test_the_needed_damping_by_hand(friction, breaking):
    """(F_S − F_C)/v_s·(steepest fall) − K_v at a load of 3 N·m; 1 − exp(−s^α) rises by 1 at most for α = 1, and by
    √2·exp(−1/2) for α = 2; the rational function knows no exponent."""
    values = {name: value for name, value in FALLING.items() if name in FRICTION_TERMS[friction]}
    steeper = 2.0**0.5 * math.exp(-0.5)
    for alpha, contact, fall in (
        (1.0, "elastoplastic", 1.0),
        (2.0, "elastoplastic", steeper),
        (2.0, "elastoplastic_rational", 1.0),
    ):
        needed = needed_damping(values | {"alpha": alpha}, contact, 3.0)
        assert needed == pytest.approx(breaking / 0.5 * fall - 0.3)
    assert needed_damping(values | {"alpha": 0.9}, "elastoplastic", 3.0) == math.inf
    assert needed_damping(values | {"friction_viscous": 20.0}, "elastoplastic", 3.0) == 0.0
    if friction == "m6":
        other = values | {"load_friction_motor_quad": 0.05}
        assert needed_damping(other, "elastoplastic", 3.0) == pytest.approx((breaking + 0.02 * 9.0) / 0.5 - 0.3)


def test_friction_that_never_falls_needs_no_damping():
    values = dict.fromkeys(FALLING, 0.0) | {"dtheta_stribeck": 0.5, "alpha": 0.5}
    assert needed_damping(values, "elastoplastic", 3.0) == 0.0
    assert needed_damping({"friction_base": 1.0, "friction_viscous": 0.1}, "elastoplastic", 3.0) == 0.0


def test_an_exponent_is_what_its_contact_can_have():
    """Any above 0 with a rigid contact, at least 1 with the exponential function, none of its own with the rational."""
    of = {
        contact: next(p for p in friction_parameters("m4", 3.0, 5.0, contact) if p.name == "alpha")
        for contact in CONTACTS
    }
    assert of["rigid"].lower < 1.0
    assert (of["elastoplastic"].lower, of["elastoplastic"].frozen) == (1.0, False)
    assert (of["elastoplastic_rational"].value, of["elastoplastic_rational"].frozen) == (1.0, True)


def test_a_file_keeps_the_contact_and_rigid_files_stay_what_they_were(tmp_path):
    rigid = load_model("mx106", "m4")
    assert '"version": 1' in rigid.to_json_text()
    assert "contact" not in rigid.to_json()
    for contact in ELASTOPLASTIC:
        model = with_contact(rigid, contact)
        again = ServoModel.from_json_text(model.to_json_text())
        assert again == model
        assert again.to_json()["version"] == 2
        speed = rigid.values["dtheta_stribeck"] * (RATIONAL_WIDTH if contact == "elastoplastic_rational" else 1.0)
        assert with_contact(again, "rigid") == rigid.with_values({"dtheta_stribeck": speed})
    unnamed = replace(rigid, name="")
    assert (unnamed.title, with_contact(unnamed, "elastoplastic").title) == ("mx106 M4", "mx106 M4 elastoplastic")
    with pytest.raises(ModelError, match="no elastoplastic contact"):
        model_to_bam(with_contact(rigid, "elastoplastic"))


def recordings(model):
    """Noise-free, two trajectories × two loads, at 1 ms."""
    benches = [Bench(mass=mass, length=0.15) for mass in (0.5, 1.5)]
    return [
        recorded(model, name, bench, step=0.001) for bench in benches for name in ("sin_time_square", "lift_and_drop")
    ]


@pytest.mark.exhaustive("another recovery of truth, with an elastoplastic contact")
def test_a_planted_bristle_is_identified():
    """Truth is simulated and recovered: friction within 2 %, the bristle within 10 %."""
    published = load_model("mx106", "m2")
    truth = with_contact(replace(published, integrator="leapfrog", dt=0.0025), "elastoplastic")
    planted = {"bristle_stiffness": 90.0, "bristle_damping": 2.0, "alpha": 1.3}
    truth = truth.with_values(planted)
    runs = recordings(truth)
    held = ("kt", "R", "armature", "q_offset")
    request = IdentificationRequest(
        servo="mx106",
        models=("m2",),
        contact="elastoplastic",
        validation="none",
        trials=2000,
        frozen=tuple((name, truth.values[name]) for name in held),
    )
    found = identify(request, runs).results[0].model
    assert found.contact == "elastoplastic"
    assert Batch(found, runs).scores().mae.mean() < 2e-5
    for name in ("friction_viscous", "friction_stribeck", "dtheta_stribeck"):
        assert found.values[name] == pytest.approx(truth.values[name], rel=0.02), name
    for name in ("bristle_stiffness", "bristle_damping"):
        assert found.values[name] == pytest.approx(planted[name], rel=0.1), name


@pytest.mark.parametrize("step", [0.005, 0.001])
@pytest.mark.parametrize("integrator", ["algorithm1", "leapfrog"])
@pytest.mark.parametrize(
    ("contact", "alpha"), [("elastoplastic", 1.0), ("elastoplastic", 2.0), (ELASTOPLASTIC[1], 1.0)]
)
def test_friction_does_not_jump_where_the_inertia_is_small_for_the_step(contact, alpha, integrator, step):
    """The step adds h/J to the bristle's compliance, so that a damping which is enough for the bristle alone leaves
    friction two values at one velocity. It falls steeply then, but it does not jump by most of F_S."""
    values = {"dtheta_stribeck": 0.1, "alpha": alpha, "armature": 0.003, "friction_stribeck": 0.7}
    model = replace(load_model("mx106", "m2"), integrator=integrator, dt=step, substeps=1).with_values(values)
    model = with_contact(model, contact)
    needed = float(needed_damping(model.values, contact, load_servo("mx106").stall_torque))
    model = model.with_values({"bristle_damping": needed})
    bench, settings = Bench(mass=0.05, length=0.15), model.default_settings()
    inertia = bench.inertia + model.values["armature"]
    stepper = Stepper(model, bench, settings, step)
    rest = model.values["friction_base"] + model.values["friction_stribeck"]
    before = np.linspace(0.0, 3.0 * step / inertia * rest, 4000)
    after = np.empty_like(before)
    for i, velocity in enumerate(before):
        stepper.reset(0.0, velocity)
        stepper.step(0.0, motor_torque=0.0)
        after[i] = stepper.velocity
    friction = (before - after) * inertia / step
    assert friction.max() > 0.5 * rest
    assert np.abs(np.diff(friction)).max() < 0.2 * rest


@pytest.mark.parametrize("contact", ELASTOPLASTIC)
def test_every_program_finds_the_same_slip(contact):
    """s + u·E(s) = d for one root; for several, the same rising function, in the kernel and in exports."""
    model = with_contact(load_model("mx106", "m2"), contact)
    alpha = 1.0 if contact.endswith("rational") else model.values["alpha"]
    plain = program("servobench_servo")
    p = plain.load_servo(servo_numbers(model, model.default_settings()))
    solve = slip_of(model.kernel_contact)
    level, slope = steepest_fall(alpha)
    for u in (0.0, 0.3, 0.9, 1.5, 4.0):
        d = np.linspace(u, 4.0 * u + 2.0, 300)
        ours, theirs = np.array([(solve(u, x, alpha, level, slope), plain.slip_share(p, u, x)) for x in d]).T
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
        assert np.all(np.diff(ours) > 0.0)
        if u * slope < 0.95:
            fallen = 1.0 / (1.0 + ours) if contact.endswith("rational") else np.exp(-(ours**alpha))
            np.testing.assert_allclose(ours + u * fallen, d, rtol=1e-8)


def test_a_joint_that_breaks_away_within_a_step_converges_regularly():
    """The moment at which slip begins or ends lies anywhere in a step: its error falls with h² all the same."""
    model = with_contact(load_model("mx106", "m6"), "elastoplastic")
    path = make_trajectory("lift_and_drop")

    def positions(step):
        fine = replace(model, dt=step, substeps=1)
        return simulate_trajectory(fine, path, PENDULUM, model.default_settings(), 0.02).position

    reference = positions(2e-5)
    errors = np.array([np.abs(positions(0.0025 / 2**k) - reference).mean() for k in range(4)])
    ratios = errors[:-1] / errors[1:]
    assert ratios.min() > 2.5, ratios
    assert ratios.max() < 5.0, ratios


def test_the_stribeck_velocity_of_a_rational_contact_is_the_closest_for_an_exponential():
    """Least squares over the speeds up to 2.4·v_s."""
    s = np.linspace(0.0, 2.4, 1001)
    widths = RATIONAL_WIDTH * np.array([0.98, 1.0, 1.02])
    errors = [float(np.square(1.0 / (1.0 + s) - np.exp(-s / width)).mean()) for width in widths]
    assert errors[1] == min(errors)
    rational = with_contact(load_model("mx106", "m2"), "elastoplastic_rational")
    for contact in CONTACTS:
        kept = 1.0 if contact == "elastoplastic_rational" else RATIONAL_WIDTH
        found = with_contact(rational, contact).values["dtheta_stribeck"]
        assert found == pytest.approx(kept * rational.values["dtheta_stribeck"])
