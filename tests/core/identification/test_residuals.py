"""Residual diagnostics: physics taken out of a model, or added to a servo, is hinted at; a true model is left alone."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.evidence.residuals import ResidualDiagnosis, diagnose_residuals
from core.identification.evidence.torque import AFTER_TURN, _near_turn, torque_residual
from core.motion.recording import Recording
from core.motion.simulation import Stepper
from core.servo.model import ServoModel
from tests.bench.planted import RIGS, Run, plan, record, servo, session

NAME = "mx106"
BY_LOAD = ("load_friction_base", "load_friction_stribeck")


@functools.cache
def truth(name: str = NAME) -> ServoModel:
    return servo(name, 0)


@functools.cache
def sound(name: str = NAME) -> tuple[Recording, ...]:
    return tuple(session(servo(name, 0), plan(name)))


def without(model: ServoModel, *terms: str) -> ServoModel:
    return model.with_values(dict.fromkeys(terms, 0.0))


def hints(model: ServoModel, recordings: tuple[Recording, ...] | list[Recording]) -> set[str]:
    return {hint.kind for hint in diagnose_residuals(model, recordings, threads=1).hints}


@pytest.mark.parametrize("name", RIGS)
def test_the_truth_leaves_nothing_to_hint_at(name: str) -> None:
    found = diagnose_residuals(truth(name), sound(name), threads=1)
    assert found.hints == ()
    assert found.position_rms < 2e-3


def test_missing_terms_are_hinted_at() -> None:
    assert "residual_speed" in hints(without(truth(), "friction_viscous"), sound())
    assert hints(without(truth(), "release_braking"), sound()) <= {"residual_release"}
    assert "residual_load" in hints(without(truth("sts3215"), *BY_LOAD), sound("sts3215"))


def test_a_hint_has_the_sign_of_its_effect_and_no_term_that_the_model_has() -> None:
    viscous = truth().values["friction_viscous"]
    too_much = truth().with_values({"friction_viscous": 3.0 * viscous})
    hint = next(h for h in diagnose_residuals(too_much, sound(), threads=1).hints if h.kind == "residual_speed")
    assert "too much friction at high speed" in hint.text
    assert "raise" not in hint.remedy
    loaded = without(truth("sts3215"), *BY_LOAD)
    found = diagnose_residuals(loaded, sound("sts3215"), threads=1).hints
    assert "M3" not in next(h for h in found if h.kind == "residual_load").remedy


def test_a_servo_that_brakes_when_released() -> None:
    """β = 1 shorts the motor; a model with an open circuit brakes less."""
    braking = truth().with_parameters(truth().parameters.with_values({"release_braking": 1.0}))
    runs = [record(braking, Run("lift_and_drop", m, 32.0, 15.0), f"{m}", i) for i, m in enumerate((0.8, 1.0, 1.2, 2.0))]
    found = diagnose_residuals(without(braking, "release_braking"), runs, threads=1)
    hint = next(hint for hint in found.hints if hint.kind == "residual_release")
    assert "brakes more" in hint.text


def driven(torque: Callable[[float], float], channels: Callable[[int], dict[str, np.ndarray]]) -> list[Recording]:
    """Recordings of the truth with an additional torque [N·m] that depends on the velocity [rad/s]."""
    found = []
    for i, run in enumerate(r for r in sound() if r.trajectory != "lift_and_drop"):
        stepper = Stepper(truth(), run.bench, run.settings, 0.005, substeps=truth().substeps)
        position = np.empty(run.samples)
        for k, goal in enumerate(run.goal_position.tolist()):
            position[k] = stepper.position
            stepper.step(goal, hand_torque=torque(stepper.velocity))
        found.append(replace(run, channels={**run.channels, "position": position, **channels(i)}))
    return found


def test_viscous_friction_in_one_direction_only() -> None:
    runs = driven(lambda v: -0.25 * max(v, 0.0), lambda i: {})
    assert "residual_directional_speed" in hints(truth(), runs)


def test_friction_that_falls_as_the_servo_warms_up() -> None:
    """A tenth of a newton metre and more is lost from the coldest run to the warmest."""
    cold = [
        driven(lambda v, c=c: -c * np.tanh(20.0 * v), lambda i: {})[i] for i, c in enumerate(np.linspace(0.4, 0, 8))
    ]
    warm = [
        replace(run, channels={**run.channels, "temperature": np.full(run.samples, 25.0 + 4.0 * i)})
        for i, run in enumerate(cold)
    ]
    found = diagnose_residuals(truth(), warm, threads=1)
    assert "residual_temperature" in {hint.kind for hint in found.hints}
    assert len([b for b in found.bins if b.factor == "temperature"]) >= 3


def test_torque_residual_is_the_torque_that_was_added() -> None:
    """A constant hand torque of 0.3 N·m is found, whatever the motion."""
    run = driven(lambda v: 0.3, lambda i: {})[0]
    found = torque_residual(truth(), run)
    assert found.torque[found.moving & ~found.near_turn].mean() == pytest.approx(0.3, abs=0.03)


def test_samples_are_near_a_turn_for_a_moment_after_it() -> None:
    found = _near_turn(np.where(np.arange(100) < 20, 1.0, -1.0), 0.005)
    assert np.flatnonzero(found).tolist() == list(range(20, 20 + round(AFTER_TURN / 0.005)))


def test_bins_hold_every_moving_sample_once() -> None:
    found = diagnose_residuals(truth(), sound(), threads=1)
    total = {f: sum(b.samples for b in found.bins if b.factor == f) for f in ("direction", "speed", "load", "phase")}
    assert len(set(total.values())) == 1
    assert sum(b.samples for b in found.bins if b.factor == "trajectory") == sum(run.samples for run in sound())


def test_json_round_trip() -> None:
    found = diagnose_residuals(truth(), sound()[:2], threads=1)
    again = ResidualDiagnosis.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
    assert again.to_json() == found.to_json()
    with pytest.raises(IdentificationError, match="cannot be read"):
        ResidualDiagnosis.from_json({})
    with pytest.raises(IdentificationError, match="no recordings"):
        diagnose_residuals(truth(), [])
