"""The integrators against exact and against much finer solutions: their observed orders.

The exact motion of M1, eqs (1)–(3), is a chain of phases. Sliding: J·θ̈ = τ_m + τ_e − sign(θ̇)·(K_c + K_v·|θ̇|) until
θ̇ = 0. There the shaft sticks if |τ_m + τ_e| ≤ K_c, until that no longer holds. scipy integrates each phase and locates
its end.

Expected order of Algorithm 1: the velocity is integrated by an explicit Euler step, a stop or a breakaway is found to
within one step, and the goal is held for one step. Each is an error of order Δt, so halving the step must halve the
error: order 1, with the second-order remainder allowing 0.8 to 1.3 at the steps used. The position's ½·θ̈·Δt² makes
each step exact for a constant torque, which lowers the constant and not the order.

The leapfrog is of second order where the goal moves as it does in the exact motion, through stops and reversals too.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from core.model import with_contact
from core.shipped import load_model
from core.simulation import simulate_trajectory
from core.terms import CONTACTS
from core.trajectories import make_trajectory
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model, settings_for

STEPS = (0.002, 0.001, 0.0005, 0.00025)
SAMPLE = 0.004
KP = 8.0
MODEL = catalogue_model("mx106", "m1", values={"friction_base": 0.15, "friction_viscous": 0.04})


def torque(model, trajectory, t, q, v, driven):
    """τ_m + τ_e of the voltage law away from its limit, eqs (12, 13)."""
    p = model.values
    external = PENDULUM.external_torque(q)
    if not driven:
        return external
    voltage = 0.158 * KP * (float(trajectory.goal(t)) - q) * 15.0
    return p["kt"] / p["R"] * voltage - p["kt"] ** 2 / p["R"] * v + external


def exact_motion(model, trajectory, times, position, velocity):
    """Positions at `times` [s] and the number of stops at which the shaft stuck."""
    p = model.values
    inertia = PENDULUM.inertia + p["armature"]
    driven = bool(trajectory.torque_enable([0.0])[0])
    kc, kv = p["friction_base"], p["friction_viscous"]
    out = np.empty(len(times))
    t, q, v, stuck, breaking = 0.0, position, velocity, 0, False
    end = times[-1] + 1e-9
    while t < end:
        load = torque(model, trajectory, t, q, 0.0, driven)
        if abs(v) < 1e-12 and abs(load) <= kc and not breaking:
            stuck += 1

            def breakaway(s, y, q=q):
                return abs(torque(model, trajectory, s, q, 0.0, driven)) - kc

            breakaway.terminal, breakaway.direction = True, 1
            phase = solve_ivp(
                lambda s, y: [0.0, 0.0], (t, end), [q, 0.0], events=breakaway, max_step=0.002, dense_output=True
            )
            v, breaking = 0.0, True
        else:
            sign = math.copysign(1.0, load if abs(v) < 1e-12 else v)

            def slide(s, y, sign=sign):
                net = torque(model, trajectory, s, y[0], y[1], driven) - sign * (kc + kv * sign * y[1])
                return [y[1], net / inertia]

            def stop(s, y, sign=sign):
                return sign * y[1] + 1e-15

            stop.terminal, stop.direction = True, -1
            phase = solve_ivp(
                slide, (t, end), [q, v], events=stop, rtol=1e-10, atol=1e-13, max_step=0.02, dense_output=True
            )
            stopped = phase.t_events[0].size
            q, v = float(phase.y[0, -1]), 0.0 if stopped else float(phase.y[1, -1])
            breaking = False
        within = (times >= t) & (times <= phase.t[-1])
        if within.any():
            out[within] = phase.sol(times[within])[0]
        t = float(phase.t[-1])
    return out, stuck


def errors(model, trajectory, *, position=0.0, velocity=0.0):
    """Largest position error at the common samples for each step [rad], and how often the shaft stuck."""
    times = SAMPLE * np.arange(math.ceil(trajectory.duration / SAMPLE - 1e-9))
    exact, stuck = exact_motion(model, trajectory, times, position, velocity)
    found = []
    for step in STEPS:
        motion = simulate_trajectory(
            replace(model, dt=step), trajectory, PENDULUM, settings_for(model, kp=KP), step,
            position=position, velocity=velocity, held=not model.leapfrog,
        )  # fmt: skip
        assert np.abs(motion.duty_cycle).max() < 0.9625
        stride = round(SAMPLE / step)
        found.append(np.abs(motion.position[::stride] - exact).max())
    return np.array(found), stuck


def orders(found):
    return np.log2(found[:-1] / found[1:])


SLIDING = {
    # Released at 86°, moving down: no stop within the time.
    "falling": (make_trajectory("nothing", 0.24), 1.5, -0.5),
    # Behind a goal that moves one way only.
    "driven": (make_trajectory("sin_sin", 0.5, slow_amplitude=0.6, slow_frequency=2.0, fast_amplitude=0.0), 0.0, 1.0),
}
STICKING = {
    "stick-slip": (make_trajectory("sin_sin", 4.0, slow_amplitude=0.4, fast_amplitude=0.1), 0.0, 0.0),
    "raise-and-lower": (
        make_trajectory("up_and_down", 5.0, top=0.6, end=0.3, raise_time=2.0, lower_time=2.5),
        0.0,
        0.0,
    ),
    "swinging out": (make_trajectory("nothing", 2.0), 1.5, 0.0),
}


ORDERS = {"algorithm1": (0.8, 1.3), "bam": (0.8, 1.3), "leapfrog": (1.7, 2.4)}


@pytest.mark.parametrize("integrator", list(ORDERS))
@pytest.mark.parametrize("case", list(SLIDING))
def test_order_while_sliding(case, integrator):
    found, stuck = errors(replace(MODEL, integrator=integrator), SLIDING[case][0],
                          position=SLIDING[case][1], velocity=SLIDING[case][2])  # fmt: skip
    print(f"{case}, {integrator}: {found * 1e3} mrad, orders {orders(found)}")

    assert stuck == 0
    low, high = ORDERS[integrator]
    assert np.all((orders(found) > low) & (orders(found) < high))


@pytest.mark.parametrize("integrator", ["algorithm1", "leapfrog"])
@pytest.mark.parametrize("case", list(STICKING))
def test_order_while_sticking_and_breaking_away(case, integrator):
    trajectory, position, velocity = STICKING[case]
    found, stuck = errors(replace(MODEL, integrator=integrator), trajectory, position=position, velocity=velocity)
    order = math.log2(found[0] / found[-1]) / math.log2(STEPS[0] / STEPS[-1])
    low, high = ORDERS[integrator]
    print(f"{case}, {integrator}: {found * 1e3} mrad, orders {orders(found)}, {order:.2f} overall, stuck {stuck} times")

    assert stuck >= 1
    assert low < order < high
    assert found[-1] < (1e-5 if integrator == "leapfrog" else 2e-3)


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
SMOOTH = {"voltage": (16.0, -0.2, 1.0), "coast": (20.0, -0.15, 1.5), "current": (50.0, -0.3, 1.0)}
COARSE = (0.004, 0.002, 0.001)
MANY = (*COARSE, 0.0005, 0.00025)
DRIVEN = make_trajectory("sin_sin", 0.48, slow_amplitude=0.6, slow_frequency=2.0, fast_amplitude=0.0)
RELEASED = make_trajectory("nothing", 0.24)
LIMITED = make_trajectory("sin_sin", 0.1, slow_amplitude=0.0, fast_amplitude=0.0)
AT_REST = make_trajectory("sin_sin", 0.2, slow_amplitude=0.0, fast_amplitude=0.0)


def leapfrog_orders(model, trajectory, settings, position, velocity, steps=COARSE):
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


@pytest.mark.parametrize("contact", list(CONTACTS))
@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_the_leapfrog_is_of_second_order(law, contact):
    model, (kp, position, velocity) = of_law(law, contact), SMOOTH[law]
    settings = model.default_settings(kp)

    assert second(leapfrog_orders(model, DRIVEN, settings, position, velocity))
    assert second(leapfrog_orders(model, RELEASED, settings, 1.5, -4.0))


@pytest.mark.parametrize("contact", list(CONTACTS))
@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_the_leapfrog_is_of_second_order_at_the_limit_of_its_output(law, contact):
    """Full duty, or the voltage's limit of the current, all the time."""
    model = of_law(law, contact, supply_sag=1.0)
    settings = replace(model.default_settings(400.0), damping=0.0 if law == "current" else None)

    assert second(leapfrog_orders(model, LIMITED, settings, -1.5, 2.0))


TERMS = {
    "goal_slew": {"goal_slew": 1.1},
    "dead_band": {"dead_band": 0.01},
    "no dead_band": {"dead_band": 0.0},
    "pwm_lag": {"pwm_lag": 0.01},
    "supply_sag": {"supply_sag": 1.0},
    "error_gain_ratio": {"error_gain_ratio": 1.1},
    "lag and sag": {"pwm_lag": 0.005, "supply_sag": 1.0},
}


@pytest.mark.parametrize("term", list(TERMS))
@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_the_leapfrog_is_of_second_order_with_the_command_path(law, term):
    """Where the forces have a kink, as where a limited goal arrives, the order varies from step to step; in the long
    run it is 2."""
    model, (kp, position, velocity) = of_law(law, "rigid", **TERMS[term]), SMOOTH[law]
    settings = replace(model.default_settings(kp), damping=0.5 if (law, term) == ("current", "goal_slew") else None)

    assert 1.7 < leapfrog_orders(model, DRIVEN, settings, position, velocity, MANY).mean() < 2.4


@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_the_leapfrog_is_of_second_order_with_a_delay(law):
    """The goal starts flat, so that what was commanded before the start is the same for every step."""
    model, (kp, _, velocity) = of_law(law, command_delay=0.013), SMOOTH[law]
    flat = make_trajectory("sin_time_square", 0.2)

    assert 1.7 < leapfrog_orders(model, flat, model.default_settings(kp), 0.5, -velocity, MANY).mean() < 2.4


@pytest.mark.parametrize("terms", [{}, {"supply_sag": 1.0}, {"pwm_lag": 0.01}], ids=["alone", "sag", "lag"])
@pytest.mark.parametrize("law", ["voltage", "coast"])
def test_the_leapfrog_is_of_second_order_with_integral_and_derivative_gains(law, terms):
    """The derivative of a goal that moves acts half a step late, which is of first order: here it rests."""
    model = of_law(law, **terms)
    settings = replace(model.default_settings(8.0), ki=5.0, kd=5.0)

    assert second(leapfrog_orders(model, AT_REST, settings, 0.0, -3.0))


@pytest.mark.parametrize("name", ["sin_time_square", "sin_sin", "lift_and_drop"])
@pytest.mark.parametrize("servo", ["mx106", "xl330", "erob80_100", "sts3215"])
@pytest.mark.parametrize("contact", ["rigid", "elastoplastic_rational"])
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
