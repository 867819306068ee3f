"""Offsets of single runs: found, told in words, and kept out of the values that all runs share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from core.identification.evidence.model import Evidence, RunOffset
from core.identification.identify import IdentificationRequest, identify
from core.identification.result import ModelResult
from core.identification.search.objective import Batch
from core.identification.search.offsets import Offsets, with_offsets
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from tests.core.conftest import recorded

SERVO = "mx106"
TURNED, SAGGING, LATE = 0.03, -0.6, 0.01
"""Differences of one run each from the others [rad, V, s]."""


@functools.cache
def truth() -> ServoModel:
    model = build_model(SERVO, "m1")
    return model.with_values({"friction_base": 0.12, "armature": 0.02})


def record(bench: Bench, supply: float, trajectory: str, name: str) -> Recording:
    """A run whose header is written as if nothing were off."""
    off = replace(truth(), supply_voltage=truth().supply_voltage + supply)
    made = recorded(off, trajectory, bench, 8.0, name=name, noise=1e-3, seed=len(name))
    return replace(made, bench=replace(bench, angle_offset=0.0), settings=truth().default_settings(8.0))


def delayed(run: Recording) -> Recording:
    """The same motion, logged as if the goals had been sent earlier."""
    whole = round(LATE / float(run.time[1] - run.time[0]))
    goal = np.append(run.goal_position[whole:], np.full(whole, run.goal_position[-1]))
    return replace(run, channels={**run.channels, "goal_position": goal})


@functools.cache
def recordings() -> tuple[Recording, ...]:
    bench = Bench(mass=1.0, length=0.15)
    return (
        record(bench, 0.0, "sin_sin", "sound"),
        record(bench, 0.0, "lift_and_drop", "as_well"),
        record(replace(bench, angle_offset=TURNED), 0.0, "sin_sin", "turned"),
        record(bench, SAGGING, "sin_time_square", "sagging"),
        record(bench, 0.0, "sin_time_square", "square"),
        delayed(record(bench, 0.0, "sin_sin", "late")),
    )


@functools.cache
def all_off() -> tuple[Recording, ...]:
    """The horn was put on anew, and the pack charged, before each run."""
    bench = Bench(mass=1.0, length=0.15)
    return tuple(
        record(replace(bench, angle_offset=angle), supply, trajectory, f"{angle}")
        for angle, supply, trajectory in (
            (0.04, 0.5, "sin_sin"),
            (-0.02, -0.4, "sin_time_square"),
            (0.03, -0.6, "lift_and_drop"),
            (-0.03, 0.3, "up_and_down"),
        )
    )


@functools.cache
def fitted(run_offsets: bool, of: Callable[[], tuple[Recording, ...]] = recordings) -> ModelResult:
    request = IdentificationRequest(
        servo=SERVO,
        models=("m1",),
        trials=3000,
        validation="none",
        threads=1,
        run_offsets=run_offsets,
        frozen=(("R", truth().values["R"]),),
    )
    return identify(request, of()).results[0]


def test_each_run_is_given_its_own() -> None:
    found = {offset.id: offset for offset in fitted(True).evidence.offsets}
    assert found["turned"].angle - found["sound"].angle == pytest.approx(TURNED, abs=4e-3)
    assert found["sagging"].supply - found["square"].supply == pytest.approx(SAGGING, abs=0.15)
    assert found["late"].delay - found["sound"].delay == pytest.approx(LATE, abs=1e-3)
    assert abs(found["turned"].angle_error) < 5e-3


def test_a_delay_of_all_runs_is_not_that_of_each() -> None:
    """The runs of a model without a delay of its own are still compared with their commands as logged."""
    late = tuple(delayed(run) for run in recordings()[:2])
    batch = Batch(truth(), late, threads=1)
    _, offsets = with_offsets(batch, truth().parameters.vector())
    assert np.median(offsets.values[:, 2]) == pytest.approx(0.0, abs=1e-9)


def test_warnings_name_the_runs_and_the_remedy() -> None:
    texts = [text for text in fitted(True).evidence.warnings if text.startswith("in run ")]
    assert any(text.startswith("in run turned") and "set it again" in text for text in texts)
    assert any(text.startswith("in run sagging") and "measure it" in text for text in texts)
    assert any(text.startswith("in run late") and "ms later" in text for text in texts)
    assert not any(text.startswith("in run sound") for text in texts)
    assert not fitted(False).evidence.offsets


@pytest.mark.exhaustive("another fit with offsets")
def test_where_most_runs_stand_apart_the_model_is_to_blame() -> None:
    evidence = fitted(True, all_off).evidence
    assert all(offset.text for offset in evidence.offsets)
    assert next(text for text in evidence.warnings if "another angle, supply" in text).startswith("4 of 4 runs")
    assert not any(text.startswith("run ") for text in evidence.warnings)


def test_each_number_is_reported_under_its_own_name() -> None:
    offsets = Offsets(np.array([[0.1, 0.2, 0.01], [0.3, 0.4, 0.02]]), np.array([[0.5, 0.6, 0.03], [0.7, 0.8, 0.04]]))
    first, second = offsets.reported(SimpleNamespace(ids=("a", "b")))
    late, later = {"delay": 0.01, "delay_error": 0.03}, {"delay": 0.02, "delay_error": 0.04}
    assert first == RunOffset(id="a", angle=0.1, angle_error=0.5, supply=0.2, supply_error=0.6, **late)
    assert second == RunOffset(id="b", angle=0.3, angle_error=0.7, supply=0.4, supply_error=0.8, **later)


def test_they_are_kept_with_the_result() -> None:
    evidence = fitted(True).evidence
    assert Evidence.from_json(evidence.to_json()).offsets == evidence.offsets


def test_small_and_uncertain_ones_are_not_worth_a_word() -> None:
    quiet = RunOffset(id="a", angle=0.004, angle_error=1e-4, supply=0.3, supply_error=0.2)
    assert quiet.text == ""
