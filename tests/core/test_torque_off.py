"""What a released motor does, in words: from β and its 95 % interval, and what models without β assume."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

from core.identification.evidence.model import (
    NORMAL_95,
    OPEN,
    PARTLY,
    SHORTED,
    UNKNOWN,
    Evidence,
    ParameterEvidence,
    TorqueOff,
)
from core.identification.evidence.sensitivity import judge
from core.motion.recording import Recording
from core.servo.actuator import ControlLaw
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from tests.core.conftest import recorded

VOLTAGE = ControlLaw(law="voltage", output_limit=1.0)
CURRENT = ControlLaw(law="current", output_limit=1.0)


def braking(value: float, half_width: float, **changes: object) -> Evidence:
    """Evidence with β alone; half_width: of its 95 % interval."""
    known = {
        "name": "release_braking", "symbol": "β", "unit": "1", "value": value, "initial": 0.2, "lower": 0.0,
        "upper": 1.0, "frozen": False, "at_bound": "", "standard_error": half_width / NORMAL_95,
    }  # fmt: skip
    p = ParameterEvidence(**{**known, **changes})  # type: ignore[arg-type]
    return Evidence(parameters=(p,), conditions=(), noise=1e-3, samples=100, independent=50.0)


@pytest.mark.parametrize(
    ("value", "half_width", "mode"),
    [
        (0.0, 0.1, OPEN),
        (0.02, 0.005, OPEN),
        (0.15, 0.12, OPEN),
        (0.3, 0.1, PARTLY),
        (0.7, 0.2, PARTLY),
        (0.9, 0.1, SHORTED),
        (1.0, 0.2, SHORTED),
        (0.98, 0.001, SHORTED),
        (0.5, 0.3, UNKNOWN),
        (0.0, 0.6, UNKNOWN),
        (0.4, np.inf, UNKNOWN),
    ],
)
def test_the_interval_says_what_the_motor_does(value: float, half_width: float, mode: str) -> None:
    found = braking(value, half_width).torque_off(VOLTAGE)
    assert found.mode == mode
    assert found.text.startswith(mode)
    assert not found.assumed


def test_the_words_name_the_interval_or_the_remedy() -> None:
    assert braking(0.95, 0.1).torque_off(VOLTAGE).text == "shorted, as β = 0.95, between 0.85 and 1 (95 %)"
    assert "record a torque-off phase" in braking(0.4, np.inf).torque_off(VOLTAGE).text
    traded = braking(0.4, np.inf, traded_with=("k_t", "R", "K_v")).torque_off(VOLTAGE).text
    assert "k_t, R and K_v can compensate β: freeze one" in traded
    assert "record" not in traded


def test_what_nobody_measured_is_said_to_be_assumed() -> None:
    without = replace(braking(0.0, 0.1), parameters=())
    assert without.torque_off(VOLTAGE).assumed
    assert without.torque_off(VOLTAGE).mode == OPEN
    assert "identify the term release_braking" in without.torque_off(VOLTAGE).text
    held = braking(1.0, np.nan, frozen=True).torque_off(VOLTAGE)
    assert held == TorqueOff(SHORTED, "shorted, as β is held at 1", True)


def test_a_current_law_opens_whatever_beta_is() -> None:
    """Its current is zero while released (seed 004, eq. 14): β changes nothing, and no recording would help."""
    found = braking(0.4, np.inf).torque_off(CURRENT)
    assert (found.mode, found.assumed) == (OPEN, True)
    assert "record" not in found.text
    assert load_servo("erob80_50").control.law == "current"


@functools.cache
def truth(beta: float) -> ServoModel:
    """M3, where load-dependent friction tells back-EMF from viscous friction: in M1 and M2 β can be made up for."""
    published = replace(load_model("mx106", "m3"), integrator="algorithm1", quadratic_gate="larger_torque")
    template = build_model("mx106", "m3", command_path=("release_braking",))
    return template.with_values({**published.values, "release_braking": beta})


def runs_of(model: ServoModel, *names: str) -> list[Recording]:
    """Runs at two gains with half a milliradian of noise."""
    return [
        recorded(model, name, Bench(mass=1.0, length=0.15), kp, noise=5e-4, seed=place)
        for place, (name, kp) in enumerate((name, kp) for name in names for kp in (8.0, 32.0))
    ]


@pytest.mark.parametrize(
    ("beta", "mode"),
    [
        (0.5, PARTLY),
        pytest.param(0.0, OPEN, marks=pytest.mark.exhaustive("the other motors")),
        pytest.param(1.0, SHORTED, marks=pytest.mark.exhaustive("the other motors")),
    ],
)
def test_planted_motors_are_told_apart_by_a_torque_off_phase(beta: float, mode: str) -> None:
    model = truth(beta)
    runs = runs_of(model, "sin_sin", "lift_and_drop")
    assert judge(model, model.parameters, runs, threads=1).torque_off(model.control).mode == mode
    driven = runs_of(model, "sin_sin", "sin_time_square")
    assert judge(model, model.parameters, driven, threads=1).torque_off(model.control).mode == UNKNOWN
