"""Servos that are not commanded by an angle: their law, their simulation, and the runs that they are fitted to."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError, ModelError
from core.identification.coverage.causes import causes
from core.identification.coverage.problem import CorrectedRun
from core.identification.coverage.report import coverage
from core.identification.evaluate import evaluate
from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.identification.runs.conditions import UnusableRuns, missing_conditions, suited
from core.identification.search.objective import Batch
from core.motion.simulation import simulate_recording
from core.servo.actuator import COMMANDS, PIECE
from core.servo.model import ServoModel, build_model
from core.servo.terms import ANGLE_TERMS, COMMAND_PATH_TERMS
from tests.bench.commands import STEP, fitted, judged, planted, recorded

OTHERS = [kind for kind in COMMANDS if kind != "position"]


@pytest.fixture(scope="module", params=OTHERS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def servo(kind):
    return replace(planted(kind, 0), dt=STEP, substeps=4)


@pytest.fixture(scope="module")
def runs(servo):
    return recorded(servo, 0)


def test_every_simulation_of_a_run_is_the_same(servo, runs):
    """The population, the single run and that of the audit; all but a speed loop start anew every second."""
    population = Batch(servo, runs).scores().mae.ravel()
    single = [np.abs(simulate_recording(servo, run).position - run.position).mean() for run in runs]
    audit = [np.abs(CorrectedRun(servo, run, None, "logged").alone(servo.rows()[0])).mean() for run in runs]
    np.testing.assert_allclose(single, population, rtol=1e-9)
    np.testing.assert_allclose(audit, population, rtol=1e-9)
    assert evaluate(servo, runs).mean_mae == pytest.approx(float(np.mean(single)), rel=1e-9)
    whole = simulate_recording(servo, runs[0], whole=True).position
    assert np.array_equal(whole, simulate_recording(servo, runs[0]).position) == (servo.control.command == "velocity")


def test_the_step_is_of_second_order_where_the_command_is_smooth(servo, runs):
    """Without a delay and with goals that change little, a tenth of the step leaves a hundredth of the error."""
    smooth = servo.with_values({"command_delay": 0.0, "dtheta_stribeck": servo.parameters["dtheta_stribeck"].upper})
    time = np.arange(0.0, 2.0, STEP)
    scale = 0.3 * float(np.ptp(runs[0].goal))
    channels = {
        "time": time,
        COMMANDS[servo.control.command].channel: np.full(len(time), scale),
        "torque_enable": np.ones(len(time)),
        "position": np.zeros(len(time)),
    }
    run = replace(runs[0], channels=channels)

    def moved(substeps: int) -> np.ndarray:
        return simulate_recording(replace(smooth, substeps=substeps), run, whole=True).position

    finest = moved(256)
    coarse, fine = (float(np.abs(moved(steps) - finest).mean()) for steps in (2, 8))
    assert fine < max(coarse / 10.0, 1e-7)


def test_a_file_keeps_the_command_and_one_of_an_angle_does_not_name_it(servo):
    read = ServoModel.from_json(servo.to_json())
    assert read == servo
    assert "command" not in build_model("mx106", "m1").to_json()["control"]


def test_gains_of_the_position_loop_change_nothing(servo, runs):
    stiffer = replace(runs[0], settings=replace(runs[0].settings, kp=99.0, ki=5.0, kd=1.0))
    assert np.array_equal(simulate_recording(servo, runs[0]).position, simulate_recording(servo, stiffer).position)


def test_a_run_needs_the_models_command(servo, runs):
    angle = build_model("mx106", "m1")
    with pytest.raises(InputError, match="is commanded by an angle, this run by a"):
        simulate_recording(angle, runs[0])
    with pytest.raises(InputError, match="it has goal_position and goal_"):
        _ = replace(runs[0], channels={**runs[0].channels, "goal_position": runs[0].position}).command
    with pytest.raises(ModelError, match="no command 'steam'"):
        build_model("mx106", "m1", command="steam")


def test_terms_of_an_angle_are_left_out_and_kinds_do_not_mix(servo, runs):
    request = IdentificationRequest(servo="mx106", command_path=COMMAND_PATH_TERMS)
    asked = suited(request, runs)
    assert asked.command == servo.control.command
    assert not set(asked.command_path) & set(ANGLE_TERMS)
    other = replace(planted("position", 0), dt=STEP)
    with pytest.raises(UnusableRuns, match="cannot be fitted together"):
        suited(request, [*runs, *recorded(other, 0)])


def test_the_coverage_says_what_a_command_cannot_tell(servo, runs):
    verdicts = {term.name: term.verdict for term in coverage(runs).terms}
    assert verdicts["R"] == ("none" if COMMANDS[servo.control.command].law == "current" else "good")
    assert not set(verdicts) & set(ANGLE_TERMS)


@pytest.mark.parametrize(
    "command",
    [
        "voltage",
        *(pytest.param(k, marks=pytest.mark.exhaustive("a whole search each")) for k in ("current", "velocity")),
    ],
)
def test_a_planted_servo_is_found_again(command):
    model = planted(command, 3)
    result = fitted(model, recorded(model, 3), 3)
    good = judged(result, model.values)
    assert sum(good.values()) >= 0.9 * len(good)
    assert result.train_mae < 3e-3
    if command != "velocity":
        assert len(good) >= 5


@pytest.mark.parametrize("channel", ["duty_cycle", "current"])
def test_a_measured_channel_takes_the_place_of_the_goal(channel):
    """Motor and friction move the shaft as the planted servo, without its control law.

    A current that jumps with each goal is known less well between two samples.
    """
    model = planted("position", 1)
    smooth = [run for run in recorded(model, 1) if run.trajectory != "wave 3"]
    driven = build_model("mx106", "m4", command=channel)
    known = {name: value for name, value in model.values.items() if name in driven.parameters}
    assert evaluate(driven.with_values(known), smooth).mean_mae < (5e-3 if channel == "duty_cycle" else 5e-2)
    without = [replace(run, channels={k: v for k, v in run.channels.items() if k != channel}) for run in smooth]
    request = IdentificationRequest(servo="mx106", models=("m1",), drive_from=channel, trials=50)
    found = identify(request, smooth).results[0].model
    assert (found.control.command, channel in found.provenance["unused_channels"]) == (channel, False)
    with pytest.raises(InputError, match=f"no {channel.replace('_', ' ')} was measured"):
        identify(request, without)


def test_a_voltage_is_that_of_the_motor_whatever_the_supply():
    model = replace(planted("voltage", 0), dt=STEP)
    run = recorded(model, 0)[0]
    sagging = {**run.channels, "supply_voltage": np.full(run.samples, 0.7 * run.settings.supply_voltage)}
    moved = simulate_recording(model, replace(run, channels=sagging), whole=True).position
    np.testing.assert_allclose(moved, simulate_recording(model, run, whole=True).position, atol=1e-9)


@pytest.mark.parametrize("name", ["goal_torque", "goal_current"])
def test_the_goal_is_held_and_resampled_as_any_other(name):
    model = replace(planted(name.removeprefix("goal_"), 0), dt=STEP)
    run = recorded(model, 0)[0]
    coarse = run.resampled(2.0 * STEP)
    assert set(coarse.goal) <= set(run.goal)
    assert math.isnan(coarse.goal_position[0])
    assert model.control.piece == PIECE


def test_a_gap_of_the_driving_channel_is_named_and_its_sign_is_tried():
    model = replace(planted("position", 1), dt=STEP)
    run = recorded(model, 1)[0]
    duty = run.channels["duty_cycle"].copy()
    duty[100:150] = np.nan
    with pytest.raises(InputError, match=r"no duty cycle was measured for 0\.255 s at 0\.495 s; trim"):
        replace(run, channels={**run.channels, "duty_cycle": duty}).commanded("duty_cycle")
    duty[100:150:5] = 0.1
    assert np.isfinite(replace(run, channels={**run.channels, "duty_cycle": duty}).commanded("duty_cycle").goal).all()
    driven = build_model("mx106", "m4", command="duty_cycle")
    (sign,) = next(same for same in causes(driven, [run]) if same[0].kind == "sign")
    assert sign.text == "the measured duty cycle inverted"
    assert np.array_equal(sign.recordings[0].goal, -run.channels["duty_cycle"])


def test_runs_of_several_commands_are_named_before_a_fit():
    mixed = [*recorded(planted("torque", 0), 0)[:1], *recorded(planted("position", 0), 0)[:1]]
    found = [finding.text for finding in coverage(mixed).findings]
    assert "runs commanded by an angle and by a torque need a fit each" in found


def test_a_coarse_current_is_named():
    runs = recorded(planted("position", 1), 1)
    texts = missing_conditions(build_model("mx106", "m1", command="current"), runs)
    assert any("log faster, or drive from the duty cycle" in text for text in texts)
    assert not any(
        "log faster" in t for t in missing_conditions(build_model("mx106", "m1", command="duty_cycle"), runs)
    )
