"""Laws that act once a period on the goal and the angle of that moment, against a firmware written down separately."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from core.base.errors import ModelError
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.identification.coverage.report import coverage
from core.identification.identify import IdentificationRequest, identify
from core.identification.search.objective import Batch
from core.identification.search.timestep import with_one_period
from core.motion.simulation import Stepper, simulate_recording, simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.actuator import DEFAULT_PERIOD
from core.servo.bench import Bench
from core.servo.model import ServoModel, without_terms
from core.servo.servo_spec import parse_servo
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model, recorded
from tests.core.export.pushed import STEP, STEPS, pushed

NEW_SERVO = Path(__file__).parents[2] / "resources" / "new_servo.toml"

GOALS = 0.01
"""Time between goals, and between samples [s]."""
FINE = 1e-5
"""Time step of the plant [s]."""


@njit
def firmware(goal, enable, per_goal, period, gains, limit, supply, kt, resistance, inertia, gravity, offset, friction):
    """Positions at each goal [rad] of a voltage servo with Coulomb and viscous friction, whose law acts every
    `period` plant steps."""
    out = np.empty(len(goal))
    q = v = duty = integral = last = 0.0
    acted = False
    for step in range(len(goal) * per_goal):
        k = step // per_goal
        if step % per_goal == 0:
            out[k] = q
        if step % period == 0:
            error = goal[k] - q
            integral = min(max(integral + gains[1] * error * period * FINE, -limit), limit)
            rise = (error - last) / (period * FINE) if acted else 0.0
            duty = min(max(gains[0] * error + integral + gains[2] * rise, -limit), limit)
            last, acted = error, True
        if enable[k] == 0.0:
            duty, integral, acted = 0.0, 0.0, False
        torque = kt * (duty * supply - kt * v) / resistance * enable[k] - gravity * math.sin(q + offset)
        budget = friction[0] + friction[1] * abs(v)
        torque -= min(max(inertia / FINE * v + torque, -budget), budget)
        q += FINE * v + 0.5 * FINE * FINE * torque / inertia
        v += FINE * torque / inertia
    return out


def bare(servo, period=0.0):
    """A servo with Coulomb and viscous friction and no command path."""
    model = load_model(servo, "m1")
    model = without_terms(model, model.command_path)
    return replace(model, integrator="leapfrog", control=replace(model.control, control_period=period))


@pytest.mark.parametrize("name", ["lift_and_drop", "sin_time_square"])
@pytest.mark.parametrize("period", [5e-4, 1e-3, 3e-3, 5e-3])
@pytest.mark.parametrize(
    ("servo", "kp", "ki", "kd"),
    [("xl330", 400, 0, 300), ("xl330", 400, 200, 1000), ("xl330", 400, 0, 3000), ("mx106", 16, 200, 0)]
    + [("mx106", 16, 0, kd) for kd in (8, 100)],
)
def test_the_motion_is_that_of_the_firmware(servo, kp, ki, kd, period, name):
    """Within 0.1 mrad at the longest time step, and closer at a fifth of it."""
    model, trajectory = bare(servo, period), make_trajectory(name, 2.0)
    bench = Bench(mass=1.0 if servo == "mx106" else 0.1, length=0.1)
    settings = replace(model.default_settings(kp), ki=ki, kd=kd)
    law, values, times = model.control, model.values, GOALS * np.arange(200)
    expected = firmware(
        trajectory.goal(times), trajectory.torque_enable(times).astype(float), round(GOALS / FINE),
        round(period / FINE), law.error_gain * np.array([kp, law.integral_ratio * ki, law.derivative_ratio * kd]),
        law.output_limit, settings.supply_voltage, values["kt"], values["R"], values["armature"] + bench.inertia,
        bench.gravity_torque, values["q_offset"], np.array([values["friction_base"], values["friction_viscous"]]),
    )  # fmt: skip

    def error(step):
        simulated = replace(model, dt=GOALS, substeps=round(GOALS / step))
        return np.abs(simulate_trajectory(simulated, trajectory, bench, settings, GOALS).position - expected).mean()

    assert error(1e-3) < 1e-4
    assert error(2e-4) < max(error(1e-3), 3e-5)


def test_a_law_is_sampled_where_its_period_matters_or_is_known():
    """Integral and derivative gains, or a period in the servo's file; first-order integrators act in every step."""
    model = bare("xl330")
    alone, derivative = model.default_settings(400), replace(model.default_settings(400), kd=300)

    assert model.control_period(alone) == 0.0
    assert model.control_period(derivative) == DEFAULT_PERIOD
    assert model.control_period(replace(alone, ki=10)) == DEFAULT_PERIOD
    assert bare("xl330", 4e-3).control_period(alone) == 4e-3
    assert replace(model, integrator="bam").control_period(derivative) == 0.0
    assert model.steps_between(GOALS, alone) == math.ceil(GOALS / model.step)
    assert model.steps_between(GOALS, derivative) == max(10, math.ceil(GOALS / model.step))


@pytest.mark.parametrize("period", [1e-9, 0.2, math.nan, -1e-3])
def test_an_impossible_period_is_refused(period):
    with pytest.raises(ModelError, match="control_period"):
        bare("xl330", period)


def test_runs_with_and_without_a_derivative_gain_are_fitted_with_one_firmware():
    model = bare("xl330")
    run = recorded(model, "sin_time_square", kp=400, duration=1.0)
    with_d = replace(run, id="with D", settings=replace(run.settings, kd=300))

    assert with_one_period(model, [run]).control == model.control
    assert with_one_period(model, [run, with_d]).control_period(run.settings) == DEFAULT_PERIOD
    assert with_one_period(bare("xl330", 3e-3), [run, with_d]).control_period(run.settings) == 3e-3
    request = IdentificationRequest(
        servo="xl330", models=("m1",), command_path=(), validation="none", trials=8, threads=1
    )
    assert identify(request, [run, with_d]).results[0].model.control.control_period == DEFAULT_PERIOD


def test_files_keep_the_period():
    model = bare("xl330", 2e-3)

    assert ServoModel.from_json(model.to_json()).control == model.control
    with_period = NEW_SERVO.read_text("utf-8").replace("control_period = 0.0", "control_period = 0.002")
    assert [parse_servo(text).control.control_period for text in (NEW_SERVO.read_text("utf-8"), with_period)] == [
        0.0,
        0.002,
    ]


def test_a_population_moves_as_each_of_its_servos():
    """Runs with and without a derivative gain in one batch; the period is one of the parameters."""
    model = catalogue_model("xl330", "m6", command_path=("command_delay", "control_period", "pwm_lag"))
    model = model.with_values({"control_period": 1.7e-3, "command_delay": 0.0123, "pwm_lag": 0.002})
    run = recorded(model, "sin_time_square", kp=400, duration=2.0)
    runs = [replace(run, settings=replace(run.settings, kd=kd, ki=ki)) for kd, ki in ((0, 0), (900, 100))]

    motions = [simulate_recording(model, run).position for run in runs]
    batch = Batch(model, runs, threads=1)
    found = batch.residuals(None, lambda run, residuals: residuals[:, 0] + batch.measured(run))

    for motion, other in zip(motions, found, strict=True):
        np.testing.assert_allclose(other, motion, rtol=0, atol=1e-12)


def test_a_servo_that_advances_bit_by_bit_keeps_its_period():
    """Calls of 0.3 ms, a period of 1 ms."""
    model = bare("xl330", 1e-3)
    settings = replace(model.default_settings(400), kd=1000)
    once, often = (Stepper(model, PENDULUM, settings, dt, substeps=n) for dt, n in ((9e-3, 30), (3e-4, 1)))
    once.step(0.2)
    for _ in range(30):
        often.step(0.2)

    assert often.position == pytest.approx(once.position, abs=1e-12)
    assert often.duty_cycle != 0.0


@pytest.mark.parametrize("law", LAW_MODELS)
def test_programs_hold_the_output_as_the_kernel_does(law):
    """Goals arrive at the beginning of a step, the law acts every 1.85 steps."""
    path = {"command_delay": 6 * STEP, "goal_slew": 5.3, "dead_band": 0.01, "release_braking": 0.4}
    run = pushed(law, path=path, leapfrog=True)
    numbers = servo_numbers(run.model, run.settings)
    assert numbers["version"] == (5 if law == "limited" else 3)
    servo = program("servobench_servo")
    bank = servo.Bank([numbers], STEP)
    bank.reset(np.zeros(1))
    found = np.empty(STEPS)
    for k in range(STEPS):
        bank.command(run.goal[k], run.enable[k])
        found[k] = bank.drive(run.position[k : k + 1], run.velocity[k : k + 1])[0]

    np.testing.assert_allclose(found, run.motor_torque, atol=1e-9 * np.abs(run.motor_torque).max())


@pytest.mark.parametrize("period", [2e-4, 7e-4, 2e-3, 3.7e-3])
def test_both_programs_act_alike_at_any_time_step(period):
    """Several actions in a step, and several steps between two actions; commands arrive half a step later."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    run = pushed("voltage", leapfrog=True)
    numbers = servo_numbers(run.model, run.settings) | {"control_period": period}
    bank = program("servobench_servo").Bank([numbers], STEP, 0.5)
    bank.reset(np.zeros(1))
    batch = program("servobench_torch").TorchServo([numbers], 1, STEP, lead=0.5, dtype=torch.float64)
    found = np.empty((STEPS, 2))
    for k in range(STEPS):
        bank.command(run.goal[k], run.enable[k])
        of_batch = batch.motor_torque(
            *(
                torch.full((1, 1), float(x[k]), dtype=torch.float64)
                for x in (run.goal, run.position, run.velocity, run.enable)
            )
        )
        found[k] = bank.drive(run.position[k : k + 1], run.velocity[k : k + 1])[0], of_batch.item()

    np.testing.assert_allclose(found[:, 0], found[:, 1], atol=1e-9 * np.abs(found).max())


def test_coverage_says_that_a_period_is_assumed():
    """Not for a proportional gain, nor for a period that the servo's file states or that is a parameter."""
    model = catalogue_model("xl330", "m6", command_path=COMMAND_PATH_TERMS)
    run = recorded(model, "sin_time_square", kp=400, duration=2.0)
    with_d = replace(run, settings=replace(run.settings, kd=300))

    def told(runs, model=model):
        return [f.text for f in coverage(runs, model=model).findings if f.kind == "period"]

    assert told([run]) == []
    assert told([run, with_d]) == [
        "1 run with an integral or derivative gain, which acts once a control period; the servo file states none, so "
        "1 ms is taken"
    ]
    assert told([run, with_d], with_one_period(model, [run, with_d])) == told([run, with_d])
    assert told([with_d], replace(model, control=replace(model.control, control_period=2e-3))) == []
    assert told([with_d], catalogue_model("xl330", "m6", command_path=("control_period",))) == []
