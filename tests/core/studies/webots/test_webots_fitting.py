"""Fitting a node: planted numbers are found again, and what is lost against friction models is what it says."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ModelError
from core.motion.recording import Recording
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from core.studies.webots.fields import ServoFields, load_of
from core.studies.webots.fitting import ALL_NUMBERS, NODE_NUMBERS, FitRun, fit_node, fitted_numbers
from core.studies.webots.kernel import simulate_node
from core.studies.webots.loss import loss_on_model, loss_on_recordings, recording_runs

STEP = 0.01
TRUTH = ServoFields(control_p=12.0, max_velocity=3.0, max_force=0.6, acceleration=25.0, damping_constant=0.05)
START = ServoFields(control_p=8.0, max_velocity=5.0, max_force=1.0, acceleration=60.0, damping_constant=0.03)
ARMATURE, OFFSET = 0.004, 0.05
BENCHES = (Bench(mass=0.3, length=0.15), Bench(mass=0.6, length=0.15))


def planted(noise=0.0, gain=1.0, armature=0.0, offset=0.0):
    """Runs of the true node on other loads, with goals that reach each of its limits."""
    randomness = np.random.default_rng(5)
    runs = []
    for number, bench in enumerate(BENCHES):
        goal = np.repeat(randomness.uniform(-1.2, 1.2, 10), 60)
        enable = np.ones(len(goal))
        enable[-120:] = 0.0
        node = replace(TRUTH, control_p=TRUTH.control_p * gain)
        motion = simulate_node(node, load_of(bench, armature, offset), goal, enable, STEP)
        measured = motion.position + noise * randomness.normal(size=len(goal))
        runs.append(
            FitRun(
                id=str(number), load=load_of(bench), gain=gain, step=STEP, goal=goal, enable=enable, measured=measured
            )
        )
    return runs


class TestFit:
    def test_planted_numbers_are_found(self):
        runs = planted()
        fit = fit_node(runs, START, generations=120)

        assert fit.mean_mrad < 0.5
        for name in NODE_NUMBERS:
            assert getattr(fit.node, name) == pytest.approx(getattr(TRUTH, name), rel=0.02), name

    def test_no_node_is_stronger_or_faster_than_its_servo(self):
        """The runs ask for 0.6 N·m and 3 rad/s, the servo has less: its own numbers, and the table says so."""
        runs, weak = planted(), replace(START, max_velocity=2.5, max_force=0.5)
        fit = fit_node(runs, weak, generations=30)
        numbers = {number.name: number for number in fitted_numbers(fit, weak, runs, NODE_NUMBERS)}

        assert fit.node.max_velocity <= 2.5
        assert fit.node.max_force == pytest.approx(0.5)
        assert numbers["max_force"].at_bound
        assert numbers["max_force"].interval[1] <= 0.5
        assert numbers["max_force"].remark == "the servo's own limit"

    def test_a_number_that_the_runs_do_not_feel_keeps_the_start(self):
        """A servo that is never driven does not feel its speed."""
        runs = [replace(run, enable=np.zeros(len(run.goal)), velocity=2.0) for run in planted()]
        fit = fit_node(runs, START, generations=5)

        assert (fit.node.max_velocity, fit.node.control_p) == (START.max_velocity, START.control_p)
        numbers = {number.name: number for number in fitted_numbers(fit, START, runs, NODE_NUMBERS)}
        gain = numbers["control_p"]
        assert (gain.determined, gain.remark, gain.interval) == (False, "not determined", (0.0, np.inf))
        unmoved = fitted_numbers(fit_node(runs, START, generations=0), START, runs, NODE_NUMBERS)
        assert {number.name: number for number in unmoved}["damping_constant"].interval[1] < np.inf

    def test_another_gain_is_another_p(self):
        """At half the gain the same node is found."""
        fit = fit_node(planted(gain=0.5), START, generations=120)

        assert fit.node.control_p == pytest.approx(TRUTH.control_p, rel=0.02)

    def test_armature_and_angle_are_found_with_the_node(self):
        runs = planted(armature=ARMATURE, offset=OFFSET)
        fit = fit_node(runs, TRUTH, names=ALL_NUMBERS, armature=2.0 * ARMATURE, generations=120)

        assert fit.armature == pytest.approx(ARMATURE, rel=0.05)
        assert fit.angle_offset == pytest.approx(OFFSET, abs=2e-3)

    def test_intervals_are_those_of_least_squares_where_noise_is_white(self):
        """Half of each is 1.96·σ·√((JᵀJ)⁻¹)ᵢᵢ, within what sums over 24 pieces scatter."""
        noise = 2e-3
        runs = planted(noise)
        fit = fit_node(runs, TRUTH, generations=0)
        columns = []
        for name in NODE_NUMBERS:
            moved = [replace(TRUTH, **{name: getattr(TRUTH, name) * math.exp(by)}) for by in (1e-4, -1e-4)]
            high, low = (
                np.concatenate([simulate_node(node, run.load, run.goal, run.enable, STEP).position for run in runs])
                for node in moved
            )
            columns.append((high - low) / 2e-4)
        jacobian = np.column_stack(columns)
        expected = 1.96 * noise * np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
        found = [n.interval for n in fitted_numbers(fit, TRUTH, runs, NODE_NUMBERS)]
        halves = [0.5 * math.log(high / low) for low, high in found]

        assert np.exp(np.mean(np.log(halves / expected))) == pytest.approx(1.0, abs=0.35)


def recordings(model, kps, loads):
    """A model's own motion as it would be recorded."""
    found = []
    for kp in kps:
        for mass in loads:
            for name in ("sin_sin", "lift_and_drop"):
                bench = Bench(mass=mass, length=0.15)
                settings = model.default_settings(kp)
                trajectory = make_trajectory(name)
                motion = simulate_trajectory(model, trajectory, bench, settings, STEP)
                found.append(
                    Recording(
                        id=f"{name} {kp:g} {mass:g}",
                        trajectory=name,
                        bench=bench,
                        settings=settings,
                        channels={
                            "time": motion.time,
                            "goal_position": motion.goal_position,
                            "torque_enable": trajectory.torque_enable(motion.time).astype(float),
                            "position": motion.position,
                            "velocity": motion.velocity,
                        },
                    )
                )
    return found


class TestLoss:
    def test_a_model_loses_nothing_on_its_own_motion_and_the_node_does(self):
        model = load_model("mx106", "m4")
        runs = recordings(model, (8.0, 16.0), (0.5,))
        found = loss_on_recordings(runs, {"own": model, "other": load_model("mx106", "m1")}, generations=30)
        own, other = found.rows

        assert own.train_mae == pytest.approx(0.0, abs=1e-10)
        assert found.lost(own) == pytest.approx(found.validation_mae)
        assert found.lost(own) > found.lost(other) > 0.0
        assert set(found.train) | set(found.validation) == {run.id for run in runs}
        assert len(found.validation) == 1
        assert found.fit.armature > 0.0

    def test_runs_carry_the_gain_and_the_begin(self):
        run = recordings(load_model("mx106", "m1"), (8.0,), (0.5,))[0]
        (made,) = recording_runs([run], kp=16.0)

        assert (made.gain, made.step) == (0.5, pytest.approx(STEP))
        np.testing.assert_array_equal(made.measured, run.position)

    def test_recordings_of_two_servos(self):
        both = [recordings(load_model(name, "m1"), (8.0,), (0.5,))[0] for name in ("mx106", "mx64")]
        with pytest.raises(ModelError, match="one servo, these are of mx106, mx64"):
            loss_on_recordings(both)

    def test_a_model_instead_of_recordings(self):
        """Sixteen runs fitted, four held out; the model itself is farther only by what its longer step costs."""
        model = load_model("mx106", "m1")
        found = loss_on_model(model, {"own": model}, generations=3, step=0.01)

        assert (len(found.train), len(found.validation)) == (16, 4)
        assert found.lost(found.rows[0]) > 0.0
        plain = found.to_json()
        assert plain["models"][0]["lost"] == found.lost(found.rows[0])
        assert plain["node"]["control_p"] == found.fit.node.control_p
