"""The command path: each term by its definition, and nothing at all while it is off.

Steps of 1/256 s make times and delays exact in binary, so that equalities hold to the last bit.
"""

import math

import numpy as np
import pytest

from core.actuator import COMMAND_PATH_TERMS
from core.kernel.layout import NO_SLEW
from core.simulation import Stepper, simulate_recording, simulate_trajectory
from core.trajectories import make_trajectory
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model, commands

H = 1.0 / 256.0
OFF = {
    "command_delay": 0.0,
    "release_delay": 0.0,
    "error_gain_ratio": 1.0,
    "goal_slew": NO_SLEW,
    "dead_band": 0.0,
    "pwm_lag": 0.0,
    "supply_sag": 0.0,
    "release_braking": 0.0,
}
LOCKED = {"friction_base": 1e4}
"""Friction that holds the shaft: what the motor does can be read off."""


def with_term(term, value, **values):
    return catalogue_model("mx106", "m1", command_path=(term,), values={term: value, **values})


def plain(**values):
    return catalogue_model("mx106", "m1", values=values)


def goals():
    time = H * np.arange(700)
    return 0.8 * np.sin(3.0 * time * time) + 0.3 * (time > 1.0)


def assert_same_motion(first, second):
    for name in ("position", "velocity", "motor_torque", "current", "duty_cycle", "supply_voltage", "control"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("law", list(LAW_MODELS))
@pytest.mark.parametrize("term", COMMAND_PATH_TERMS)
def test_a_term_that_is_off_changes_nothing(term, law):
    without = catalogue_model(friction="m6", **LAW_MODELS[law])
    off = catalogue_model(friction="m6", command_path=(term,), values={term: OFF[term]}, **LAW_MODELS[law])
    trajectory = make_trajectory("lift_and_drop")

    motions = [simulate_trajectory(m, trajectory, PENDULUM, m.default_settings(), 0.002) for m in (without, off)]

    assert_same_motion(*motions)


def test_every_term_has_a_value_at_which_it_is_off():
    assert tuple(OFF) == COMMAND_PATH_TERMS


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_delay_of_whole_steps_shifts_goal_and_enable(steps):
    goal, enable = goals(), np.arange(700) < 500
    shifted = np.maximum(np.arange(700) - steps, 0)

    late = simulate_recording(with_term("command_delay", steps * H), commands(plain(), goal, enable=enable))
    early = simulate_recording(plain(), commands(plain(), goal[shifted], enable=enable[shifted]))

    np.testing.assert_array_equal(late.position, early.position)
    np.testing.assert_array_equal(late.motor_torque, early.motor_torque)


@pytest.mark.parametrize("steps", [0, 2, 7])
def test_the_torque_is_switched_with_a_delay_of_its_own(steps):
    goal, enable = goals(), np.arange(700) < 500
    terms = {"command_delay": 5 * H, "release_delay": steps * H}
    model = catalogue_model("mx106", "m1", command_path=tuple(terms), values=terms)

    both = simulate_recording(model, commands(plain(), goal, enable=enable))
    early = commands(
        plain(), goal[np.maximum(np.arange(700) - 5, 0)], enable=enable[np.maximum(np.arange(700) - steps, 0)]
    )

    np.testing.assert_array_equal(both.position, simulate_recording(plain(), early).position)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("whole", [0, 3])
def test_a_fractional_delay_is_the_mean_of_the_held_command(whole, share):
    """During one step the older command holds for `share` of it, the newer one for the rest."""
    goal = goals()
    newer = goal[np.maximum(np.arange(700) - whole, 0)]
    older = goal[np.maximum(np.arange(700) - whole - 1, 0)]

    late = simulate_recording(with_term("command_delay", (whole + share) * H), commands(plain(), goal))
    mean = simulate_recording(plain(), commands(plain(), share * older + (1.0 - share) * newer))

    np.testing.assert_allclose(late.position, mean.position, rtol=0, atol=1e-12)


def test_a_delay_is_the_same_whatever_the_substeps():
    goal = goals()
    delayed = with_term("command_delay", 2 * H)
    fine = catalogue_model("mx106", "m1", command_path=("command_delay",), values={"command_delay": 2 * H}, substeps=4)

    early = commands(plain(), goal[np.maximum(np.arange(700) - 2, 0)])

    reference = catalogue_model("mx106", "m1", substeps=4)
    np.testing.assert_array_equal(
        simulate_recording(fine, commands(delayed, goal)).position, simulate_recording(reference, early).position
    )


def test_goal_slew_is_a_ramp():
    """A step of the goal becomes a ramp of ω_max from where the shaft was."""
    ramp = np.minimum(3.0 * H * np.arange(1, 401), 1.2)

    slewed = simulate_recording(with_term("goal_slew", 3.0), commands(plain(), np.full(400, 1.2)))
    ramped = simulate_recording(plain(), commands(plain(), ramp))

    np.testing.assert_allclose(slewed.position, ramped.position, rtol=0, atol=1e-12)


def test_goal_slew_starts_anew_from_the_shaft_after_a_release():
    model = with_term("goal_slew", 1.0, **LOCKED)
    servo = Stepper(model, PENDULUM, model.default_settings(), H)
    for _ in range(50):
        servo.step(1.0)
    assert servo.duty_cycle == pytest.approx(0.158 * 16 * 50 * H)
    servo.step(1.0, torque_enable=False)
    servo.step(1.0)
    assert servo.duty_cycle == pytest.approx(0.158 * 16 * H)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_dead_band_ignores_small_errors_and_shortens_large_ones(sign):
    model = with_term("dead_band", 0.01)

    motion = simulate_recording(model, commands(model, [sign * 0.0099, 0.0]))
    assert motion.motor_torque[0] == 0.0
    motion = simulate_recording(model, commands(model, [sign * 0.05, 0.0]))
    assert motion.duty_cycle[0] == pytest.approx(sign * 0.158 * 16 * (0.05 - 0.01))


@pytest.mark.parametrize("substeps", [1, 5])
def test_pwm_lag_is_a_first_order_step_response(substeps):
    """duty(t) = D·(1 − exp(−t/τ_p)) on a locked shaft, exact at every sample."""
    model = catalogue_model(
        "mx106", "m1", command_path=("pwm_lag",), values={"pwm_lag": 0.02, **LOCKED}, substeps=substeps
    )
    goal = 0.1

    motion = simulate_recording(model, commands(model, np.full(60, goal)))

    # The first part of each sample ends h after it begins.
    end = H * np.arange(60) + H / substeps
    np.testing.assert_allclose(motion.duty_cycle, 0.158 * 16 * goal * (1.0 - np.exp(-end / 0.02)), rtol=1e-12)


def test_supply_sag_follows_the_current_of_the_step_before():
    """U_k = U − R_s·max(D·I, 0) of step k − 1."""
    model = with_term("supply_sag", 0.4, **LOCKED)
    kt, resistance = model.values["kt"], model.values["R"]

    motion = simulate_recording(model, commands(model, np.full(40, 0.3)))

    drawn = np.maximum(motion.duty_cycle * motion.current, 0.0)
    np.testing.assert_allclose(motion.supply_voltage, 15.0 - 0.4 * np.concatenate([[0.0], drawn[:-1]]), rtol=1e-14)
    np.testing.assert_allclose(motion.motor_torque, kt / resistance * motion.duty_cycle * motion.supply_voltage)
    duty = 0.158 * 16 * 0.3
    # At rest U = U₀ − R_s·D²·U/R.
    assert motion.supply_voltage[-1] == pytest.approx(15.0 / (1.0 + 0.4 * duty**2 / resistance))


def test_a_braking_motor_does_not_feed_the_supply():
    model = with_term("supply_sag", 2.0)
    servo = Stepper(model, PENDULUM, model.default_settings(), H, velocity=-6.0)
    servo.step(0.01)
    assert servo.duty_cycle * servo.current > 0.0
    servo = Stepper(model, PENDULUM, model.default_settings(), H, velocity=6.0)
    servo.step(0.01)
    assert servo.duty_cycle * servo.current < 0.0
    servo.step(0.01)
    assert servo.supply_voltage == 15.0


def test_the_supply_of_each_sample_is_used():
    supply = 15.0 - 3.0 * np.sin(H * 5.0 * np.arange(200))
    model = plain(**LOCKED)
    gain = model.values["kt"] / model.values["R"] * 0.158 * 16

    logged = simulate_recording(model, commands(model, np.full(200, 0.2), supply_voltage=supply))
    header = simulate_recording(model, commands(model, np.full(200, 0.2), supply_voltage=supply), supply="header")

    np.testing.assert_allclose(logged.motor_torque, gain * 0.2 * supply)
    np.testing.assert_allclose(header.motor_torque, gain * 0.2 * 15.0)


def test_released_torque_is_open_by_default():
    motion = simulate_recording(plain(), commands(plain(), np.ones(20), enable=np.zeros(20)))

    assert math.isclose(np.abs(motion.motor_torque).max(), 0.0)


@pytest.mark.parametrize("law", ["voltage", "current"])
def test_half_a_step_of_torque_is_half_the_torque(law):
    """A delay that ends within a step releases the motor for the rest of it: the mean torque of that step."""
    options = LAW_MODELS[law]
    values = {"command_delay": 0.5 * H, "friction_base": 1e4}
    model = catalogue_model(friction="m1", command_path=("command_delay",), values=values, **options)
    enable = np.arange(10) < 5

    motion = simulate_recording(model, commands(model, np.full(10, 0.05), enable=enable))

    assert motion.motor_torque[5] == pytest.approx(0.5 * motion.motor_torque[4])
    assert motion.motor_torque[6] == 0.0
