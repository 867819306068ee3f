"""The command path: each term by its definition, and nothing at all while it is off.

The leapfrog takes each term's exact mean over a step, Algorithm 1 its value at the step's end. Steps of 1/256 s make
times and delays exact in binary, so that equalities hold to the last bit.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.identification.search.objective import Batch
from core.kernel.step import coast_current
from core.motion.recording import Recording
from core.motion.simulation import Stepper, simulate_recording, simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.terms import COMMAND_PATH_TERMS, NEUTRAL
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model, commands

H = 1.0 / 256.0
LOCKED = {"friction_base": 1e4}
"""Friction that holds the shaft: what the motor does can be read off."""


INTEGRATORS = ("algorithm1", "leapfrog")


def plain(*, integrator="algorithm1", path=(), substeps=1, **values):
    return catalogue_model(
        "mx106", "m1", command_path=path, values=values, integrator=integrator, dt=H, substeps=substeps
    )


def with_term(term, value, **options):
    return plain(path=(term,), **{term: value}, **options)


def goals():
    time = H * np.arange(700)
    return 0.8 * np.sin(3.0 * time * time) + 0.3 * (time > 1.0)


def assert_same_motion(first, second):
    for name in ("position", "velocity", "motor_torque", "current", "duty_cycle", "supply_voltage", "control"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_terms_that_are_off_change_nothing(law):
    without = catalogue_model(friction="m6", **LAW_MODELS[law])
    neutral = {term: NEUTRAL[term] for term in COMMAND_PATH_TERMS}
    off = catalogue_model(friction="m6", command_path=COMMAND_PATH_TERMS, values=neutral, **LAW_MODELS[law])
    trajectory = make_trajectory("lift_and_drop")

    motions = [simulate_trajectory(m, trajectory, PENDULUM, m.default_settings(), 0.002) for m in (without, off)]

    assert_same_motion(*motions)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_delay_of_whole_steps_shifts_goal_and_enable(steps, integrator):
    goal, enable = goals(), np.arange(700) < 500
    shifted = np.maximum(np.arange(700) - steps, 0)

    delayed = with_term("command_delay", steps * H, integrator=integrator)
    late = simulate_recording(delayed, commands(plain(), goal, enable=enable))
    early = simulate_recording(plain(integrator=integrator), commands(plain(), goal[shifted], enable=enable[shifted]))

    np.testing.assert_array_equal(late.position, early.position)
    np.testing.assert_array_equal(late.motor_torque, early.motor_torque)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("steps", [0, 2, 7])
def test_the_torque_is_switched_with_a_delay_of_its_own(steps, integrator):
    goal, enable = goals(), np.arange(700) < 500
    terms = {"command_delay": 5 * H, "release_delay": steps * H}
    model = plain(integrator=integrator, path=tuple(terms), **terms)

    both = simulate_recording(model, commands(plain(), goal, enable=enable))
    early = commands(
        plain(), goal[np.maximum(np.arange(700) - 5, 0)], enable=enable[np.maximum(np.arange(700) - steps, 0)]
    )

    np.testing.assert_array_equal(both.position, simulate_recording(plain(integrator=integrator), early).position)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_delays_of_whole_steps_are_whole_in_both_kernels(integrator):
    """5 ms are not exact in binary: a rest of 1e-15 left the law on for a step, and the kernels 14 mrad apart."""
    time = 0.005 * np.arange(400)
    channels = {"time": time, "goal_position": np.sin(4.0 * time), "position": np.zeros(len(time))}
    for steps in range(1, 21):
        terms = {
            "command_delay": 0.005 * steps,
            "release_delay": 0.005 * steps,
            "release_braking": 0.2,
            "pwm_lag": 0.01,
        }
        model = catalogue_model("mx106", "m4", command_path=tuple(terms), values=terms, integrator=integrator)
        enable = (time % 0.7 < 0.4).astype(np.uint8)
        run = Recording(
            id="r", trajectory="t", bench=PENDULUM, settings=model.default_settings(),
            channels={**channels, "torque_enable": enable},
        )  # fmt: skip
        (motion,) = Batch(model, [run], threads=1).residuals(None, lambda _, residuals: residuals[:, 0])
        np.testing.assert_allclose(motion, simulate_recording(model, run).position, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("whole", [0, 3])
def test_a_fractional_delay_is_the_mean_of_the_held_command(whole, share, integrator):
    """During one step the older command holds for `share` of it, the newer one for the rest."""
    goal = goals()
    newer = goal[np.maximum(np.arange(700) - whole, 0)]
    older = goal[np.maximum(np.arange(700) - whole - 1, 0)]

    delayed = with_term("command_delay", (whole + share) * H, integrator=integrator)
    late = simulate_recording(delayed, commands(plain(), goal))
    mean = simulate_recording(plain(integrator=integrator), commands(plain(), share * older + (1.0 - share) * newer))

    # A goal without a limit moves at NO_SLEW, which the leapfrog counts.
    np.testing.assert_allclose(late.position, mean.position, rtol=0, atol=1e-8 if integrator == "leapfrog" else 1e-12)


def test_goal_slew_is_a_ramp():
    """A step of the goal becomes a ramp of ω_max from where the shaft was."""
    ramp = np.minimum(3.0 * H * np.arange(1, 401), 1.2)

    slewed = simulate_recording(with_term("goal_slew", 3.0), commands(plain(), np.full(400, 1.2)))
    ramped = simulate_recording(plain(), commands(plain(), ramp))

    np.testing.assert_allclose(slewed.position, ramped.position, rtol=0, atol=1e-12)


@pytest.mark.parametrize("delay", [0.0, 0.3, 2.6])
def test_a_limited_goal_is_integrated_exactly(delay):
    """The leapfrog follows the mean over each step of ω_max·(t − t_d), from its beginning within a step to its end."""
    late = delay * H
    goal = np.where(np.arange(400) > 0, 1.2, 0.0)
    edges = np.clip(H * np.arange(401) - H - late, 0.0, 0.4)
    # ∫ min(max(3·t, 0), 1.2) dt at the edges of the steps.
    integral = 1.5 * edges**2 + 1.2 * np.maximum(H * np.arange(401) - H - late - 0.4, 0.0)
    model = plain(integrator="leapfrog", path=("command_delay", "goal_slew"), command_delay=late, goal_slew=3.0)

    slewed = simulate_recording(model, commands(model, goal))
    ramped = simulate_recording(plain(integrator="leapfrog"), commands(plain(), np.diff(integral) / H))

    np.testing.assert_allclose(slewed.position, ramped.position, rtol=0, atol=1e-8)


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


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("steps", [0.5, 1.0, 20.0])
def test_an_output_offset_adds_to_the_output_beyond_the_dead_band(sign, steps):
    """A share of the largest duty cycle that grows over the first encoder step, whatever the gain."""
    step = math.tau / 4096
    model = plain(path=("dead_band", "output_offset"), dead_band=0.01, output_offset=0.02)

    motion = simulate_recording(model, commands(model, [sign * 0.0099, 0.0]))
    assert motion.duty_cycle[0] == 0.0
    motion = simulate_recording(model, commands(model, [sign * (0.01 + steps * step), 0.0]))
    assert motion.duty_cycle[0] == pytest.approx(
        sign * (0.158 * 16 * steps * step + 0.02 * model.control.output_limit * min(steps, 1.0))
    )


@pytest.mark.parametrize("substeps", [1, 5])
def test_pwm_lag_is_a_first_order_step_response(substeps):
    """duty(t) = D·(1 − exp(−t/τ_p)) on a locked shaft, exact at every sample."""
    model = with_term("pwm_lag", 0.02, substeps=substeps, **LOCKED)
    goal = 0.1

    motion = simulate_recording(model, commands(model, np.full(60, goal)))

    # The first part of each sample ends h after it begins.
    end = H * np.arange(60) + H / substeps
    np.testing.assert_allclose(motion.duty_cycle, 0.158 * 16 * goal * (1.0 - np.exp(-end / 0.02)), rtol=1e-12)


@pytest.mark.parametrize("substeps", [1, 5])
def test_the_leapfrogs_lag_acts_by_its_mean(substeps):
    """The mean of D·(1 − exp(−t/τ_p)) over the first part of each sample, exact for steps of any length."""
    model = with_term("pwm_lag", 0.02, integrator="leapfrog", substeps=substeps, **LOCKED)

    motion = simulate_recording(model, commands(model, np.full(60, 0.1)))

    begin, h = H * np.arange(60), H / substeps
    mean = 1.0 - 0.02 / h * (np.exp(-begin / 0.02) - np.exp(-(begin + h) / 0.02))
    np.testing.assert_allclose(motion.duty_cycle, 0.158 * 16 * 0.1 * mean, rtol=1e-6)


@pytest.mark.parametrize("velocity", [0.0, 2.0, -3.0])
def test_the_leapfrogs_sag_is_solved_within_the_step(velocity):
    """i = (d·U − e)/(R + d²·R_s): voltage law."""
    model = with_term("supply_sag", 0.8, integrator="leapfrog")
    kt, resistance = model.values["kt"], model.values["R"]
    servo = Stepper(model, PENDULUM, model.default_settings(), H, velocity=velocity)
    servo.step(0.3)
    duty = 0.158 * 16 * (0.3 - 0.5 * H * velocity)

    assert servo.duty_cycle == pytest.approx(duty)
    assert servo.current == pytest.approx((duty * 15.0 - kt * velocity) / (resistance + 0.8 * duty**2))
    assert servo.supply_voltage == pytest.approx(15.0 - 0.8 * duty * servo.current)


@pytest.mark.parametrize("velocity", [0.0, 3.0, -3.0])
@pytest.mark.parametrize("goal", [0.05, 3.0])
def test_the_leapfrogs_sag_of_a_held_current(goal, velocity):
    """Current law: d·U = R·I + e with U = U₀ − R_s·d·I; the bridge's limit is d = 1."""
    options = {"integrator": "leapfrog", "dt": 1e-6}
    model = catalogue_model("erob80_100", "m1", command_path=("supply_sag",), values={"supply_sag": 2.0}, **options)
    settings = replace(model.default_settings(400.0), damping=0.0)
    kt, resistance = model.values["kt"], model.values["R"]
    servo = Stepper(model, PENDULUM, settings, 1e-6, velocity=velocity)
    servo.step(goal)
    limit = (48.0 - kt * velocity) / (resistance + 2.0)

    assert servo.current == pytest.approx(min(400.0 * goal, 12.0, limit), rel=1e-3)
    drawn = servo.duty_cycle * servo.current
    assert servo.supply_voltage == pytest.approx(48.0 - 2.0 * max(drawn, 0.0))
    assert servo.duty_cycle * servo.supply_voltage == pytest.approx(resistance * servo.current + kt * velocity)
    assert abs(servo.duty_cycle) < 1.0 + 1e-9


def test_the_leapfrogs_sag_of_a_coasting_bridge_settles_at_its_current():
    """U = U₀ − R_s·d·ī(d, U), which each step approaches by one of Newton's."""
    model = catalogue_model(
        "mx106", "m1", drive="fast decay", command_path=("supply_sag",), values={"supply_sag": 3.0, **LOCKED}
    )
    p = model.values
    servo = Stepper(model, PENDULUM, model.default_settings(), 0.001)
    for _ in range(4):
        servo.step(0.3)

    expected = coast_current(servo.duty_cycle, servo.supply_voltage, 0.0, p["R"], p["inductance"], p["pwm_period"])
    assert servo.current == pytest.approx(expected, rel=1e-9)
    assert servo.supply_voltage == pytest.approx(15.0 - 3.0 * servo.duty_cycle * servo.current, rel=1e-9)


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


@pytest.mark.parametrize("velocity", [0.0, 5.0, -5.0])
@pytest.mark.parametrize("integrator", ["leapfrog", "algorithm1"])
def test_an_unbuffered_supply_is_in_series_while_the_bridge_is_on(integrator, velocity):
    """d·(U − R_p·I) = R·I + e while the motor draws current, with every integrator: voltage law."""
    model = with_term("pulse_sag", 0.8, integrator=integrator)
    servo = Stepper(model, PENDULUM, model.default_settings(), H, velocity=velocity)
    servo.step(0.1)
    duty, emf = servo.duty_cycle, model.values["kt"] * velocity
    drawing = duty * 15.0 > emf

    assert drawing == (velocity < 5.0)
    assert servo.current == pytest.approx((duty * 15.0 - emf) / (model.values["R"] + 0.8 * duty * drawing))
    assert servo.supply_voltage == pytest.approx(15.0 - 0.8 * servo.current * drawing)


@pytest.mark.parametrize("velocity", [0.0, 3.0, -3.0])
@pytest.mark.parametrize("goal", [0.05, 3.0])
def test_an_unbuffered_supply_limits_a_held_current(goal, velocity):
    """Current law: d·(U − R_p·I) = R·I + e, and d ≤ 1."""
    values = {"pulse_sag": 2.0, "supply_sag": 1.0}
    model = catalogue_model("erob80_100", "m1", command_path=tuple(values), values=values, dt=1e-6)
    settings = replace(model.default_settings(400.0), damping=0.0)
    kt, resistance = model.values["kt"], model.values["R"]
    servo = Stepper(model, PENDULUM, settings, 1e-6, velocity=velocity)
    servo.step(goal)

    assert servo.current == pytest.approx(
        min(400.0 * goal, 12.0, (48.0 - kt * velocity) / (resistance + 3.0)), rel=1e-3
    )
    drawn = servo.duty_cycle * servo.current
    assert servo.supply_voltage == pytest.approx(48.0 - max(drawn, 0.0) - 2.0 * servo.current * (drawn > 0.0))
    assert servo.duty_cycle * servo.supply_voltage == pytest.approx(resistance * servo.current + kt * velocity)


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


@pytest.mark.parametrize("law", ["voltage", "current"])
def test_half_a_step_of_torque_is_half_the_torque(law):
    """A delay that ends within a step releases the motor for the rest of it: the mean torque of that step."""
    options = LAW_MODELS[law]
    values = {"command_delay": 0.5 * H, "friction_base": 1e4}
    model = catalogue_model(friction="m1", command_path=("command_delay",), values=values, dt=H, **options)
    enable = np.arange(10) < 5

    motion = simulate_recording(model, commands(model, np.full(10, 0.05), enable=enable))

    assert motion.motor_torque[5] == pytest.approx(0.5 * motion.motor_torque[4])
    assert motion.motor_torque[6] == 0.0
