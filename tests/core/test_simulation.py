"""Simulation of trajectories and recordings, and the stepper that must do exactly the same one step at a time."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from core.base.errors import ModelError
from core.motion.comparison import compare
from core.motion.recording import Recording
from core.motion.simulation import (
    FINEST_GRID,
    Stepper,
    held_commands,
    initial_velocity,
    on_grid,
    sampling_interval,
    sampling_step,
    simulate_recording,
    simulate_trajectory,
    supply_of,
)
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model, commands, settings_for

DT = 1.0 / 256.0


def model_of(law, path=COMMAND_PATH_TERMS, **options):
    return catalogue_model(friction="m6", command_path=path, **LAW_MODELS[law], **options)


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("path", [(), COMMAND_PATH_TERMS], ids=["plain", "command-path"])
@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_the_stepper_is_the_simulation_bit_for_bit(law, path, substeps):
    model = model_of(law, path, substeps=substeps)
    trajectory = make_trajectory("lift_and_drop", 3.0)
    settings = model.default_settings()
    motion = simulate_trajectory(model, trajectory, PENDULUM, settings, DT)

    servo = Stepper(model, PENDULUM, settings, DT, substeps=substeps)
    stepped = np.empty((len(motion.time), 6))
    for k, t in enumerate(motion.time):
        before = servo.position, servo.velocity
        servo.step(float(trajectory.goal(t)), bool(trajectory.torque_enable(t)))
        stepped[k] = *before, servo.motor_torque, servo.current, servo.duty_cycle, servo.supply_voltage

    for column, name in enumerate(("position", "velocity", "motor_torque", "current", "duty_cycle", "supply_voltage")):
        np.testing.assert_array_equal(stepped[:, column], getattr(motion, name), err_msg=name)


def test_a_comparison_has_goal_measured_and_simulated_motion_in_their_columns():
    model = model_of("voltage")
    goal = 0.5 * np.sin(np.arange(300) / 40.0)
    run = commands(model, goal, position=0.3 * np.cos(np.arange(300) / 50.0))
    found = compare(model, run, DT)
    columns = found.columns()
    np.testing.assert_allclose(columns["time"], run.time, atol=1e-12)
    np.testing.assert_allclose(columns["goal"], goal, atol=1e-12)
    np.testing.assert_allclose(columns["measured"], run.position, atol=1e-12)
    np.testing.assert_array_equal(columns["simulated"], simulate_recording(model, run, DT).position)
    np.testing.assert_array_equal(columns["residual"], columns["simulated"] - columns["measured"])
    assert (found.mae, found.rmse) == pytest.approx(
        (np.abs(found.residual).mean(), np.sqrt(np.square(found.residual).mean()))
    )
    assert found.mae < found.rmse


def test_a_reset_stepper_starts_over():
    model = model_of("voltage")
    servo = Stepper(model, PENDULUM, model.default_settings(), DT)
    first = []
    for _ in range(100):
        servo.step(0.7)
        first.append(servo.position)
    servo.reset()
    assert (servo.position, servo.velocity, servo.motor_torque) == (0.0, 0.0, 0.0)
    assert servo.supply_voltage == 15.0
    for position in first:
        servo.step(0.7)
        assert servo.position == position


@pytest.mark.parametrize("share", [0.0, 0.25, 0.3, 0.55, 1.0])
def test_a_goal_changes_within_a_step_as_between_its_parts(share):
    """One step in four parts is four steps, also for a delayed command."""
    model = model_of("voltage", COMMAND_PATH_TERMS, integrator="leapfrog", dt=DT)
    settings = model.default_settings()
    whole = Stepper(model, PENDULUM, settings, DT, substeps=4)
    parts = Stepper(model, PENDULUM, settings, DT / 4)
    goals = 0.3 * np.sin(0.3 * np.arange(60))
    for goal, next_goal in pairwise(goals):
        whole.step(goal, next_goal=next_goal, next_share=share)
        for part in range(4):
            changed = np.clip(4 * share - (3 - part), 0.0, 1.0)
            parts.step(next_goal if changed == 1.0 else goal, next_goal=next_goal, next_share=changed % 1.0)
        assert whole.position == pytest.approx(parts.position, abs=1e-12)
        assert whole.velocity == pytest.approx(parts.velocity, abs=1e-10)


@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_torque_mode_replaces_the_position_law(law):
    """τ_m is what was commanded whether or not position control is enabled; the duty cycle is what it takes."""
    model = model_of(law, ())
    kt, resistance = model.values["kt"], model.values["R"]
    servo = Stepper(model, PENDULUM, model.default_settings(), DT, velocity=0.5)
    servo.step(9.0, torque_enable=False, motor_torque=0.3)

    assert servo.motor_torque == pytest.approx(0.3)
    assert servo.current == pytest.approx(0.3 / kt)
    expected = (0.3 / kt * resistance + kt * 0.5) / model.supply_voltage
    assert servo.duty_cycle == pytest.approx(expected)


def test_a_recording_starts_from_its_first_state():
    model = catalogue_model("mx106", "m1")
    run = commands(model, np.full(20, 0.3), position=np.full(20, 0.25), velocity=np.full(20, -0.5))

    motion = simulate_recording(model, run)

    assert (motion.position[0], motion.velocity[0]) == (0.25, -0.5)
    assert initial_velocity(run) == -0.5
    unknown = commands(model, np.full(20, 0.3), velocity=np.full(20, np.nan))
    assert initial_velocity(unknown) == 0.0


def irregular(model, random):
    time = np.cumsum(random.uniform(0.002, 0.009, 300))
    channels = {
        "time": time,
        "goal_position": np.sin(time),
        "torque_enable": (time < 1.0).astype(float),
        "position": np.sin(time),
    }
    return Recording(id="odd", trajectory="odd", bench=PENDULUM, settings=model.default_settings(), channels=channels)


def test_grids(random):
    model = catalogue_model("mx106", "m1")
    regular = commands(model, np.zeros(50), step=0.004)
    odd = irregular(model, random)

    assert sampling_step(regular) == pytest.approx(0.004)
    assert on_grid(regular)[0] is regular
    runs = [commands(model, np.zeros(50), step=step) for step in (0.02, 0.004, 0.005)]
    assert sampling_interval(runs) == pytest.approx(0.005)
    assert sampling_interval(runs, 0.01) == 0.01
    assert sampling_step(odd) == np.median(np.diff(odd.time)) > FINEST_GRID
    run, step = on_grid(odd)
    np.testing.assert_allclose(np.diff(run.time), step)
    assert set(run.channels["torque_enable"]) == {0.0, 1.0}
    nearest = run.time + 0.5 * step
    held = odd.goal_position[np.searchsorted(odd.time, nearest, side="right") - 1]
    np.testing.assert_array_equal(run.goal_position, held)
    coarse, step = on_grid(regular, 0.008)
    assert step == 0.008
    assert coarse.samples == 25
    assert len(simulate_recording(model, odd, dt=0.01).time) == on_grid(odd, 0.01)[0].samples


def held(goal, moments, *, steps=4, enable=None):
    """Commands of a recording at 1 s, each given at its moment [steps of 1/steps s from the first sample]."""
    model = catalogue_model("mx106", "m1")
    times = {} if moments is None else {"command_time": np.asarray(moments) / steps}
    run = commands(model, goal, step=1.0, enable=enable, **times)
    return held_commands(run, run, 1.0, steps)


def test_commands_given_with_their_samples_are_repeated(random):
    goal, enable = random.normal(size=50), random.integers(0, 2, 50)
    found = held(goal, None, steps=7, enable=enable)

    np.testing.assert_array_equal(found.goal, np.repeat(goal, 7))
    np.testing.assert_array_equal(found.enable, np.repeat(enable, 7))
    np.testing.assert_array_equal(found.supply, 15.0)


def test_one_change_stands_for_several_during_a_step_with_the_same_mean():
    """Goal 1 from 25 % of step 5 on, 3 from 75 % of it on: the mean is 0.25·0 + 0.5·1 + 0.25·3 = 1.25."""
    found = held([0.0, 1.0, 3.0], [0.0, 5.25, 5.75])

    np.testing.assert_array_equal(found.goal, [0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3])
    assert (1.0 - found.lasts[5]) * 3.0 == pytest.approx(1.25, abs=1e-15)
    np.testing.assert_array_equal(np.delete(found.lasts, 5), np.ones(11))


def test_a_change_during_a_step_keeps_its_instant():
    found = held([0.0, 2.0], [0.0, 5.25])

    np.testing.assert_array_equal(found.goal, [0, 0, 0, 0, 0, 0, 2, 2])
    assert found.lasts[5] == pytest.approx(0.25, abs=1e-15)


def test_the_motor_is_driven_for_a_share_of_the_step_in_which_it_is_switched_and_wholly_or_not_elsewhere():
    found = held(np.zeros(3), [0.0, 4.3, 9.9], enable=[1, 0, 1])

    assert found.enable[[4, 9]] == pytest.approx([0.3, 0.1])
    others = np.delete(found.enable, [4, 9])
    np.testing.assert_array_equal(others, [1, 1, 1, 1, 0, 0, 0, 0, 1, 1])


def test_commands_before_the_first_sample_and_after_the_last():
    """Of those before only the latest counts; those after never come."""
    found = held([1.0, 2.0, 3.0, 4.0], [-9.0, -2.5, -0.5, 99.0])

    np.testing.assert_array_equal(found.goal, np.full(16, 3.0))


def test_supply_of_a_recording():
    model = catalogue_model("mx106", "m1")
    logged = np.array([14.8, np.nan, 0.0, 14.2])
    run = commands(model, np.zeros(4), supply_voltage=logged)

    assert supply_of(run).tolist() == [14.8, 15.0, 15.0, 14.2]
    assert supply_of(run, "header").tolist() == [15.0] * 4
    assert supply_of(commands(model, np.zeros(3))).tolist() == [15.0] * 3
    with pytest.raises(ModelError, match="header"):
        supply_of(run, "guess")


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, np.inf])
def test_impossible_steps_are_refused(step):
    model = catalogue_model("mx106", "m1")
    settings = settings_for(model)
    with pytest.raises(ModelError):
        simulate_trajectory(model, make_trajectory("sin_sin"), PENDULUM, settings, step)
    with pytest.raises(ModelError):
        Stepper(model, PENDULUM, settings, step)
    with pytest.raises(ModelError):
        Stepper(model, PENDULUM, settings, 0.001, substeps=0)


@pytest.mark.parametrize(("servo", "trajectory", "low", "high"), [
    ("mx106", "sin_time_square", 16.0, 18.0),
    ("xl330", "sin_time_square", 16.0, 18.0),
    pytest.param("mx106", "sin_sin", 1.0, 7.2, marks=pytest.mark.exhaustive("a row more")),
    pytest.param("xl330", "up_and_down", 0.5, 7.0, marks=pytest.mark.exhaustive("a row more")),
])  # fmt: skip
def test_algorithm_1_with_the_goal_of_step_k_differs_from_the_printed_one_as_the_help_says(
    servo, trajectory, low, high
):
    """Lines 1–9 of Algorithm 1 by hand, with θ^d of step k and of step k + 1, at 5 ms."""
    model = replace(load_model(servo, "m1"), integrator="algorithm1", dt=0.005, substeps=1)
    bench, settings, path, h = Bench(mass=0.5, length=0.15), model.default_settings(), make_trajectory(trajectory), 5e-3
    ours = simulate_trajectory(model, path, bench, settings, h).position
    kt, resistance, armature, coulomb, viscous = (
        model.values[name] for name in ("kt", "R", "armature", "friction_base", "friction_viscous")
    )
    inertia = bench.inertia + armature
    printed = {}
    for ahead in (0, 1):
        goal = path.goal(h * (np.arange(len(ours)) + ahead))
        q = v = 0.0
        angles = np.empty_like(ours)
        for k, wanted in enumerate(goal):
            angles[k] = q
            limit = model.control.output_limit
            duty = np.clip(settings.kp * model.control.error_gain * (wanted - q), -limit, limit)
            motor = kt / resistance * (duty * settings.supply_voltage - kt * v)
            external = -bench.gravity_torque * np.sin(q + model.values.get("q_offset", 0.0))
            budget = viscous * abs(v) + coulomb
            friction = np.clip(-(inertia / h * v + motor + external), -budget, budget)
            a = (motor + external + friction) / inertia
            q, v = q + v * h + 0.5 * a * h**2, v + a * h
        printed[ahead] = angles
    np.testing.assert_allclose(ours, printed[0], atol=1e-9)
    assert low < 1e3 * np.abs(printed[1] - printed[0]).mean() < high
