"""Friction that drifts with the clock is named, with its size; a servo without drift is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.evidence.adaptation import adapted
from core.identification.evidence.drift import (
    SHORTEST,
    SIGNIFICANT,
    at_level,
    began,
    drift_findings,
    drift_of,
    shown_levels,
)
from core.identification.evidence.residuals import diagnose_residuals
from core.motion.recording import Recording
from core.servo.friction import friction_budget
from tests.bench.planted import plan, record, servo

BEGIN = datetime(2026, 3, 1, 9, 0)


def steady(hours: float) -> float:
    return 1.0


def falling(hours: float) -> float:
    """Fall by 5 % per hour."""
    return 1.0 - 0.05 * hours


def session(
    level: Callable[[float], float], seed: int = 0, hours: float = 1.0, runs: int = 24, late: float = 0.0
) -> list[Recording]:
    """Recordings of a servo whose friction has this level at each time [h]; loads and gains take turns.

    The delay of the command differs by up to `late` from run to run [s].
    """
    truth, found = servo("mx106", seed), list[Recording]()
    delay, chance = truth.values["command_delay"], np.random.default_rng(seed)
    planned = (3 * plan("mx106"))[:runs]
    for number, run in enumerate(planned):
        after = hours * number / (len(planned) - 1)
        timed = truth.with_values({"command_delay": max(0.0, delay + late * chance.uniform(-1.0, 1.0))})
        made = record(at_level(timed, level(after)), run, f"run {number}", 1000 * seed + number)
        started = (BEGIN + timedelta(hours=after)).isoformat()
        found.append(replace(made, provenance={**made.provenance, "started": started}))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_fall_of_five_percent_per_hour_is_named(seed):
    runs = session(falling, seed)
    (finding,) = drift_findings(servo("mx106", seed), runs[::-1])
    assert finding.kind == "residual_clock"
    assert "1 Mar" in finding.text
    assert finding in diagnose_residuals(servo("mx106", seed), runs).hints


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.exhaustive("20 servos")) for s in range(3, 20))]
)
def test_no_drift_is_named_in_a_sound_session(seed):
    assert not drift_findings(servo("mx106", seed), session(steady, seed))


@pytest.mark.parametrize("level", [lambda hours: 1.3 if hours < 0.33 else 1.0, lambda hours: 1.0 - 0.5 * hours])
def test_a_warm_up_of_a_minority_of_runs_and_a_large_fall_are_named(level):
    (finding,) = drift_findings(servo("mx106", 0), session(level))
    before, after = (float(text) for text in re.findall(r"(\d\.\d+) times", finding.text))
    assert before / after == pytest.approx(level(0.0) / level(1.0), rel=0.15)


def test_levels_are_those_planted():
    runs = session(lambda hours: 0.9 if hours < 0.5 else 1.1, runs=12)
    logs, errors = shown_levels(servo("mx106", 0), runs)
    planted = np.log(np.repeat([0.9, 1.1], 6))
    assert (np.abs(logs - planted) < 3.0 * errors + 0.02).all()
    assert np.median(errors) < 0.02


def test_levels_are_those_planted_when_commands_arrive_at_other_times() -> None:
    """While it is driven, a delay that differs by up to 8 ms resembles a level that differs by half."""
    logs, _ = shown_levels(servo("mx106", 0), session(steady, runs=12, late=0.008))
    assert np.abs(logs).max() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_drift_is_named_and_none_invented_when_commands_arrive_at_other_times(seed: int) -> None:
    model = servo("mx106", seed)
    assert drift_findings(model, session(falling, seed, hours=2.0, late=0.008))
    assert not drift_findings(model, session(steady, seed, hours=2.0, late=0.008))


def test_few_runs_and_runs_without_a_date_show_no_drift():
    runs = session(falling, runs=12)
    assert drift_findings(servo("mx106", 0), runs)
    assert not drift_findings(servo("mx106", 0), runs[:7])
    undated = [replace(run, provenance={**run.provenance, "started": "yesterday"}) for run in runs]
    assert np.isnan(began(undated[0]))
    assert not drift_findings(servo("mx106", 0), undated)
    at_once = [replace(run, provenance=runs[0].provenance) for run in runs]
    assert not drift_findings(servo("mx106", 0), at_once)


def test_the_process_finds_spread_and_time_constant():
    """Levels of a known process, with the errors stated."""
    chance, hours = np.random.default_rng(1), np.arange(0.0, 60.0, 0.25)
    level = np.empty(len(hours))
    level[0] = chance.normal(0.0, 0.1)
    keep = np.exp(-0.25 / 3.0)
    for place in range(1, len(hours)):
        level[place] = keep * level[place - 1] + chance.normal(0.0, 0.1 * np.sqrt(1.0 - keep**2))
    errors = np.full(len(hours), 0.02)
    found = drift_of(3600.0 * hours, level + chance.normal(0.0, errors), errors)
    assert found.spread == pytest.approx(0.1, rel=0.4)
    assert found.time_constant == pytest.approx(3.0 * 3600.0, rel=0.6)
    assert np.abs(np.log(found.levels) - level).mean() < 0.02
    noise = drift_of(3600.0 * hours, chance.normal(0.0, errors), errors)
    assert noise.gain < 6.0
    assert noise.time_constant >= 3600.0 * SHORTEST


def test_a_level_multiplies_everything_that_friction_is_proportional_to():
    model = servo("mx106", 0)
    raised = at_level(model, 1.25)
    budget, more = (friction_budget(m.friction, m.values, 1.0, -0.5, [0.0, 0.3]) for m in (model, raised))
    assert more == pytest.approx(1.25 * budget)
    assert raised.values["kt"] == model.values["kt"]


@pytest.mark.parametrize("dated", [True, False])
def test_a_model_adapts_to_the_friction_of_the_first_runs(dated):
    """Two mornings at different friction; runs without a time are one morning."""
    levels = (0.8, 1.25) if dated else (1.25,)
    runs = [
        replace(
            run, id=f"{run.id}, day {day}", provenance={"started": f"2026-03-0{day}T09:{place:02}"} if dated else {}
        )
        for day, level in enumerate(levels, 1)
        for place, run in enumerate(session(lambda _, level=level: level, runs=8))
    ]
    found = adapted(servo("mx106", 0), runs, 3)
    assert len(found.adapted) == 5 * len(levels)
    assert [*found.levels.values()] == pytest.approx(levels, rel=0.06)
    assert found.mean_mae < 0.5 * np.mean([*found.unadapted.values()])
    assert f"the other {5 * len(levels)} runs" in found.text


@pytest.mark.parametrize(("first", "problem"), [(0, "at least 1"), (8, "adapt to fewer")])
def test_runs_that_leave_none_to_judge_are_refused(first, problem):
    with pytest.raises(IdentificationError, match=problem):
        adapted(servo("mx106", 0), session(steady, runs=8), first)


def test_a_slow_fall_is_not_taken_for_the_mean() -> None:
    """Levels of 20 runs with known errors: twice the log-likelihood shows 5 % per hour, and no drift without one."""

    def named(fall: float) -> int:
        count = 0
        for seed in range(30):
            chance = np.random.default_rng(seed)
            hours, errors = np.sort(chance.uniform(0.0, 2.5, 20)), np.full(20, 0.03)
            levels = np.log(1.0 - fall * hours) + chance.normal(0.0, errors)
            count += drift_of(3600.0 * hours, levels, errors).gain > SIGNIFICANT
        return count

    assert named(0.0) == 0
    assert named(0.05) >= 25
