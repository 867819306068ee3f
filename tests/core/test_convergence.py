"""The integrators against much finer solutions: their observed orders.

Algorithm 1 and "bam" integrate the velocity by an explicit Euler step: order 1. The leapfrog is of second order where
the goal moves as it does in the exact motion, through stops and reversals too.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.model import with_contact
from core.servo.shipped import load_model
from core.servo.terms import CONTACTS
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model


@pytest.mark.parametrize("integrator", ["algorithm1", "leapfrog"])
def test_one_step_is_exact_for_a_constant_torque(integrator):
    """Line 9 of Algorithm 1: θ += θ̇·Δt + ½·θ̈·Δt², the parabola; the leapfrog's two half steps make the same."""
    values = {"friction_base": 0.2, "friction_viscous": 0.0, "kt": 1e-6}
    model = catalogue_model("mx106", "m1", values=values, integrator=integrator)
    weightless = replace(PENDULUM, gravity=0.0)
    motion = simulate_trajectory(
        model, make_trajectory("nothing", 0.05), weightless, model.default_settings(), 0.01, velocity=3.0
    )
    deceleration = 0.2 / (weightless.inertia + model.values["armature"])

    np.testing.assert_allclose(motion.position, 3.0 * motion.time - 0.5 * deceleration * motion.time**2, rtol=1e-12)


@pytest.mark.parametrize("step", [0.005, 0.001])
@pytest.mark.parametrize("friction", ["m1", "m6"])
def test_what_sticks_for_good_does_not_drift(friction, step):
    """Within the static area the stopping torque of eq. (4) is exactly what holds: ten seconds without drift."""
    model = catalogue_model("mx106", friction, values={"friction_base": 0.15})
    hold = 0.36 * 0.15 / PENDULUM.gravity_torque
    motion = simulate_trajectory(
        model, make_trajectory("nothing", 10.0), PENDULUM, model.default_settings(), step, position=math.asin(hold)
    )

    np.testing.assert_array_equal(motion.position, motion.position[0])
    assert np.abs(motion.velocity).max() < 1e-15


# Leapfrog: motion in which nothing sticks, its goal moving all the time. Law: P gain, angle and velocity at the start.
# A current limit is in test_current_limit.py.
SMOOTH = {"voltage": (16.0, -0.2, 1.0), "coast": (20.0, -0.15, 1.5), "current": (50.0, -0.3, 1.0)}
COARSE = (0.004, 0.002, 0.001)
MANY = (*COARSE, 0.0005, 0.00025)
DRIVEN = make_trajectory("sin_sin", 0.48, slow_amplitude=0.6, slow_frequency=2.0, fast_amplitude=0.0)
RELEASED = make_trajectory("nothing", 0.24)
LIMITED = make_trajectory("sin_sin", 0.1, slow_amplitude=0.0, fast_amplitude=0.0)
AT_REST = make_trajectory("sin_sin", 0.2, slow_amplitude=0.0, fast_amplitude=0.0)


def orders(found):
    return np.log2(found[:-1] / found[1:])


def observed_orders(model, trajectory, settings, position, velocity, steps=COARSE):
    """Observed orders over these steps [s] against steps 100 times finer than the last of them, (len(steps) − 1,)."""

    def positions(step):
        fine = replace(model, dt=steps[0], substeps=round(steps[0] / step))
        return simulate_trajectory(
            fine, trajectory, PENDULUM, settings, steps[0], position=position, velocity=velocity, held=False
        ).position

    reference = positions(steps[-1] / 100)
    found = np.array([np.abs(positions(step) - reference).max() for step in steps])
    print(f"{found * 1e6} µrad, orders {orders(found)}")
    return orders(found)


def of_law(law, contact="rigid", **terms):
    model = catalogue_model(friction="m6", command_path=tuple(terms), values=terms, **LAW_MODELS[law])
    return model if contact == "rigid" else with_contact(model, contact)


def second(found):
    return np.all((found > 1.7) & (found < 2.4))


@pytest.mark.parametrize("integrator", ["algorithm1", "bam"])
def test_the_integrators_of_the_papers_are_of_first_order(integrator):
    model = replace(of_law("voltage"), integrator=integrator)
    found = observed_orders(model, DRIVEN, model.default_settings(16.0), -0.2, 1.0, MANY)

    assert np.all((found > 0.8) & (found < 1.3))


ALL_LAWS = [
    pytest.param(law, contact, marks=[] if place in (0, 4, 8) else pytest.mark.exhaustive("the rest of the table"))
    for place, (law, contact) in enumerate((law, contact) for law in SMOOTH for contact in CONTACTS)
]


@pytest.mark.parametrize(("law", "contact"), ALL_LAWS)
def test_the_leapfrog_is_of_second_order(law, contact):
    model, (kp, position, velocity) = of_law(law, contact), SMOOTH[law]
    settings = model.default_settings(kp)

    assert second(observed_orders(model, DRIVEN, settings, position, velocity))
    assert second(observed_orders(model, RELEASED, settings, 1.5, -4.0))


@pytest.mark.parametrize(("law", "contact"), ALL_LAWS)
def test_the_leapfrog_is_of_second_order_at_the_limit_of_its_output(law, contact):
    """Full duty, or the voltage's limit of the current, all the time."""
    model = of_law(law, contact, supply_sag=1.0, pulse_sag=0.5)
    settings = replace(model.default_settings(400.0), damping=0.0 if law == "current" else None)

    assert second(observed_orders(model, LIMITED, settings, -1.5, 2.0))


TERMS = {
    "goal_slew": {"goal_slew": 1.1},
    "dead_band": {"dead_band": 0.01},
    "no dead_band": {"dead_band": 0.0},
    "output_offset": {"output_offset": 0.02},
    "pwm_lag": {"pwm_lag": 0.01},
    "supply_sag": {"supply_sag": 1.0},
    "pulse_sag": {"pulse_sag": 1.0},
    "error_gain_ratio": {"error_gain_ratio": 1.1},
    "lag and sag": {"pwm_lag": 0.005, "supply_sag": 1.0, "pulse_sag": 0.5},
}


@pytest.mark.parametrize(
    ("law", "term"),
    [
        pytest.param(law, term, marks=[] if law == "voltage" else pytest.mark.exhaustive("the other laws"))
        for law in SMOOTH
        for term in TERMS
    ],
)
def test_the_leapfrog_is_of_second_order_with_the_command_path(law, term):
    """Where the forces have a kink, as where a limited goal arrives, the order varies from step to step; in the long
    run it is 2."""
    model, (kp, position, velocity) = of_law(law, "rigid", **TERMS[term]), SMOOTH[law]
    settings = replace(model.default_settings(kp), damping=0.5 if (law, term) == ("current", "goal_slew") else None)

    assert 1.7 < observed_orders(model, DRIVEN, settings, position, velocity, MANY).mean() < 2.4


@pytest.mark.parametrize("terms", [{}, {"supply_sag": 1.0}, {"pwm_lag": 0.01}], ids=["alone", "sag", "lag"])
@pytest.mark.parametrize("law", ["voltage", "coast"])
def test_the_leapfrog_is_of_second_order_with_integral_and_derivative_gains(law, terms):
    """The law acts every 4 ms, whatever the time step; in the long run the order is 2."""
    model = of_law(law, **terms)
    model = replace(model, control=replace(model.control, control_period=COARSE[0]))
    settings = replace(model.default_settings(8.0), ki=5.0, kd=5.0)

    assert 1.7 < observed_orders(model, AT_REST, settings, 0.0, -3.0, MANY).mean() < 2.4


@pytest.mark.parametrize("name", ["sin_sin", "lift_and_drop"])
@pytest.mark.parametrize(
    ("servo", "contact"),
    [
        ("mx106", "rigid"),
        pytest.param("xl330", "rigid", marks=pytest.mark.exhaustive("other servos and contacts")),
        pytest.param("erob80_100", "rigid", marks=pytest.mark.exhaustive("other servos and contacts")),
        pytest.param("sts3215", "elastoplastic_rational", marks=pytest.mark.exhaustive("other servos and contacts")),
    ],
)
def test_motion_that_sticks_reverses_and_is_released(contact, servo, name):
    """Mean error at steps of 5 ms, goals held between them: 25 times below Algorithm 1's, and 9 times more at 1 ms."""
    model, trajectory = with_contact(load_model(servo, "m6"), contact), make_trajectory(name)

    def positions(integrator, substeps):
        chosen = replace(model, integrator=integrator, dt=0.005, substeps=substeps)
        return simulate_trajectory(chosen, trajectory, PENDULUM, model.default_settings(), 0.005).position

    reference = positions("leapfrog", 200)
    ours, fifth, first_order = (
        np.abs(positions(*how) - reference).mean() for how in (("leapfrog", 1), ("leapfrog", 5), ("algorithm1", 1))
    )
    print(f"{servo}, {contact}, {name}: {ours * 1e3:.4f}, {fifth * 1e3:.4f} and {first_order * 1e3:.2f} mrad")

    assert ours < first_order / 25.0
    assert ours < 0.35e-3
    assert fifth < max(ours / 9.0, 0.01e-3)
