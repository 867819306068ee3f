"""Bounds of a search: a planted truth beyond them neither biases other values in silence nor passes for determined."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest

from core.identification.cautions import cautions
from core.identification.evaluate import evaluate
from core.identification.evidence.grade import LEFT_OUT
from core.identification.identify import Identification, IdentificationRequest, identify
from core.identification.request import search_template
from core.identification.search.beyond import FASTER, MOST_TIMES, fastest_goal, logarithmic, up_to_goals, widened
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel, build_model
from core.servo.parameters import Parameter
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS, NEUTRAL, physical_limits

SERVO = "mx106"
RATE = 100.0
DURATION = 1.5
PLANTED = {
    "goal_slew": 6.0,
    "dead_band": 0.004,
    "pwm_lag": 0.008,
    "supply_sag": 0.5,
    "release_braking": 0.4,
    "release_delay": 0.02,
    "command_delay": 0.014,
    "error_gain_ratio": 0.9,
    "q_offset": 0.01,
}
"""Truth of the terms that the shipped model lacks."""


def planted(*terms: str, **values: float) -> ServoModel:
    """M1 of the MX-106 with command path terms, in steps that are finer than a fit's."""
    template = build_model(SERVO, "m1", command_path=terms, dt=1.0 / RATE, substeps=100)
    known = {**load_model(SERVO, "m1").values, **PLANTED, **values}
    return template.with_values({name: known[name] for name in template.parameters})


def record(truth: ServoModel, number: int, frequency: float, *, release: bool = False) -> Recording:
    """A run that follows a sine, rounded to encoder steps; the torque is off in its last part if asked for."""
    time = np.arange(round(DURATION * RATE)) / RATE
    run = Recording(
        id=f"{number}",
        trajectory="sine",
        bench=Bench(mass=1.0 + number % 2, length=0.15),
        settings=truth.default_settings((8.0, 32.0)[number // 2 % 2]),
        channels={
            "time": time,
            "goal_position": 0.8 * np.sin(2.0 * np.pi * frequency * time),
            "torque_enable": (time < 1.1).astype(float) if release else np.ones_like(time),
            "position": np.zeros_like(time),
        },
    )
    step = load_servo(SERVO).encoder_step
    noise = np.random.default_rng([3, number]).normal(scale=0.3, size=run.samples)
    position = step * np.round(simulate_recording(truth, run).position / step + noise)
    return replace(run, channels={**run.channels, "position": position})


def session(truth: ServoModel, frequencies: tuple[float, ...] = (0.7, 1.5, 5.0, 2.5)) -> list[Recording]:
    """Runs of these frequencies [Hz]; every second one ends with a release."""
    return [record(truth, number, f, release=number % 2 == 1) for number, f in enumerate(frequencies)]


def found_by(truth: ServoModel, runs: list[Recording], **options: object) -> Identification:
    """Identification that begins at the truth as far as its bounds allow, so that few evaluations suffice."""
    start = tuple((name, value) for name, value in truth.values.items() if name != "goal_slew" or value < 1e3)
    asked = {"start": start, "trials": 300, **options}
    terms = truth.command_path + tuple(name for name in ("goal_slew",) if name in truth.parameters)
    request = IdentificationRequest(
        servo=SERVO,
        models=("m1",),
        command_path=tuple(name for name in COMMAND_PATH_TERMS if name in terms),
        validation="none",
        contact="rigid",
        threads=1,
        **asked,  # type: ignore[arg-type]
    )
    return identify(request, runs)


@functools.cache
def whole() -> tuple[ServoModel, list[Recording]]:
    """A servo with every command path term, and its runs."""
    truth = planted(*COMMAND_PATH_TERMS)
    return truth, session(truth)


OUTRUN = (1.0, 4.0, 9.0)
"""Frequencies whose goals move at up to 45 rad/s, ten times the no-load speed [Hz]."""


def test_a_goal_that_outruns_the_servo_leaves_a_limit_that_is_not_there_out() -> None:
    """At twice the no-load speed, the limit once cost 16 mrad and moved every value that could compensate it."""
    steps = 8
    truth = replace(planted("command_delay", "goal_slew", goal_slew=NEUTRAL["goal_slew"]), substeps=steps)
    known = ("friction_base", "friction_viscous", "armature", "q_offset")
    runs = session(truth, OUTRUN)
    frozen = tuple((name, truth.values[name]) for name in known)
    found = found_by(truth, runs, frozen=frozen, trials=1500, start=(), substeps=steps)
    best = found.recommended
    assert best.evidence.of("goal_slew").grade.word == LEFT_OUT
    assert "goal_slew" not in best.model.command_path
    assert best.train_mae < 1.05 * evaluate(truth, runs).mean_mae
    for name in ("kt", "R", "command_delay"):
        value = best.evidence.of(name)
        assert abs(value.value - truth.values[name]) < 2.0 * value.half_width < 0.1 * truth.values[name], name
    assert any("ω_max is left out" in str(caution) for caution in cautions(found))


@pytest.mark.exhaustive("further speeds of the same limit")
@pytest.mark.parametrize("speed", [1.0, 3.0, 6.0, 12.0, 30.0])
def test_a_limit_that_acts_is_found_at_any_speed(speed: float) -> None:
    truth = planted("command_delay", "goal_slew", goal_slew=speed)
    best = found_by(truth, session(truth, OUTRUN), trials=None, start=()).recommended
    assert best.evidence.of("goal_slew").value == pytest.approx(speed, rel=0.02)


def test_a_limit_is_searched_up_to_the_goals_of_the_runs() -> None:
    template = search_template(IdentificationRequest(servo=SERVO, command_path=("goal_slew",)), "m1")
    before = template.parameters["goal_slew"].upper
    for frequency, upper in ((0.05, before), (1.0, None), (40.0, MOST_TIMES * before)):
        runs = [record(planted(), 0, frequency)]
        expected = FASTER * fastest_goal(runs) if upper is None else upper
        wider = up_to_goals(template, runs, ())
        assert wider.parameters["goal_slew"].upper == pytest.approx(expected)
        assert any(logarithmic(wider.parameters)) == (expected > 2.5 * before)
        assert up_to_goals(template, runs, ("goal_slew",)) is template


def releasable(parameter: Parameter) -> list[str]:
    """Ends of a parameter's range beyond which values have a meaning."""
    low, high, _ = physical_limits(parameter.name)
    return ["lower"] * (parameter.lower > low or low < 0.0) + ["upper"] * (parameter.upper < high)


BEYOND = [
    pytest.param(
        p.name, side,
        marks=() if (p.name, side) in {("command_delay", "upper"), ("kt", "lower")}
        else pytest.mark.exhaustive("further terms of the same rule"),
    )
    for p in planted(*COMMAND_PATH_TERMS).parameters.free
    for side in releasable(p)
]  # fmt: skip


@pytest.mark.parametrize(("name", "side"), BEYOND)
def test_a_bound_that_excludes_the_truth_widens_what_trades_with_it(name: str, side: str) -> None:
    truth, runs = whole()
    value = truth.values[name]
    width = abs(value) / 5.0
    bounds = (value - 2.0 * width, value - width) if side == "upper" else (value + width, value + 2.0 * width)
    best = found_by(truth, runs, bounds=((name, *bounds),)).recommended
    held = best.evidence.of(name)
    assert held.at_bound == side
    assert not held.determined
    assert held.better_beyond == pytest.approx(value, abs=max(0.6 * width, held.half_width))
    assert "fits better" in held.bound_warning
    for p in best.evidence.parameters:
        assert abs(p.value - truth.values[p.name]) <= 1.5 * p.half_width or math.isinf(p.half_width), p.symbol


def test_a_bound_at_a_physical_limit_stays() -> None:
    """No friction below 0, no braking above that of a shorted motor."""
    model = planted("release_braking", "command_delay")
    at_limits = model.with_values({"friction_base": 0.0, "command_delay": 0.0, "release_braking": 1.0})
    assert widened(at_limits) is None
    wider = widened(at_limits.with_values({"command_delay": 0.06}))
    assert wider is not None
    moved = {p.name for p, q in zip(wider.parameters.free, model.parameters.free, strict=True) if p.upper != q.upper}
    assert moved == {"command_delay"}
