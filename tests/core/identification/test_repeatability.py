"""The repeatability floor: exact for planted scatter, blind to when a run began, and never beaten by one motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.identification.choice.repeatability import PARTNERS, repeatability
from core.identification.coverage.repeats import odd_repetitions
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.settings import ServoSettings

STEP = 0.005


def run(name: str, scatter: float | np.ndarray = 0.0, *, start: float = 0.0, mass: float = 1.0) -> Recording:
    """4 s of a swinging goal followed exactly, with a scatter added; its commands come `start` s later."""
    time = STEP * np.arange(801)
    goal = np.sin(2.0 * (time - start)) + 0.3 * np.sin(7.0 * (time - start))
    return Recording(
        id=name,
        trajectory="sin_sin",
        bench=Bench(mass=mass, length=0.1),
        settings=ServoSettings(servo="mx106", kp=8.0, supply_voltage=12.0),
        channels={
            "time": time,
            "goal_position": goal,
            "torque_enable": np.ones(len(time)),
            "position": goal + scatter,
        },
    )


def test_half_the_mean_difference_of_pairs_is_no_floor_of_four_runs() -> None:
    """At −3, −1, 1, 3 mrad a model between the middle ones is off by 2 on average; the six pairs differ by 3⅓."""
    (found,) = repeatability([run(str(offset), 1e-3 * offset) for offset in (-3, -1, 1, 3)]).sets
    assert found.floor == pytest.approx(2e-3)
    assert found.difference == pytest.approx(1e-2 / 3.0)
    assert len(found.distances) == 6


@pytest.mark.parametrize("changes", [{"angle_offset": 0.2}, {"measured_inertia": 0.02}, {"arm_mass": 0.1}])
def test_another_bench_is_no_repetition(changes: dict[str, float]) -> None:
    one, other = run("a"), run("b")
    assert repeatability([one, replace(other, bench=replace(other.bench, **changes))]).sets == ()
    rounded = replace(other, bench=replace(other.bench, length=0.3 - 0.2))
    assert rounded.bench != one.bench
    assert len(repeatability([one, rounded]).sets) == 1


def test_other_conditions_and_other_commands_are_no_repetitions() -> None:
    one = run("a")
    other = replace(run("c"), channels={**run("c").channels, "goal_position": one.goal_position * 0.8})
    assert repeatability([one, run("b", mass=2.0), other]).sets == ()
    assert "record repetitions" in repeatability([one]).text()
    assert repeatability([one]).table() == ()


def with_channels(recording: Recording, **channels: np.ndarray) -> Recording:
    return replace(recording, channels={**recording.channels, **channels})


@pytest.mark.parametrize(("offset", "repeats"), [(0.019, True), (0.021, False)])
def test_goals_may_differ_by_a_fiftieth_of_a_radian(offset: float, repeats: bool) -> None:
    """Goals that stand still, so that no shift in time makes up for it."""
    still = with_channels(run("a"), goal_position=np.full(801, 0.4))
    other = with_channels(run("b"), goal_position=np.full(801, 0.4 + offset))
    assert bool(repeatability([still, other]).sets) == repeats


@pytest.mark.parametrize(("start", "repeats"), [(0.095, True), (-0.095, True), (0.2, False)])
def test_repetitions_may_begin_a_tenth_of_a_second_apart(start: float, repeats: bool) -> None:
    found = repeatability([run("a"), run("b", start=start)]).sets
    assert bool(found) == repeats
    if repeats:
        assert found[0].floor < 1e-4


def test_releases_tell_repetitions_apart_and_goals_while_released_do_not() -> None:
    """For a second of four both are released and the goals differ; then only one of them is."""
    driven = (STEP * np.arange(801) < 3.0).astype(float)
    one = with_channels(run("a"), torque_enable=driven)
    goal = one.goal_position + np.where(driven > 0.0, 0.0, 1.0)
    other = with_channels(run("b"), torque_enable=driven, goal_position=goal)
    assert len(repeatability([one, other]).sets) == 1
    assert repeatability([run("c"), one]).sets == ()


def test_another_unit_gain_or_velocity_gain_is_no_repetition() -> None:
    one, other = run("a"), run("b")
    assert repeatability([one, replace(other, provenance={"unit": "left"})]).sets == ()
    for changes in ({"damping": 0.5}, {"kp": 9.0}, {"ki": 1.0}, {"supply_voltage": 13.0}):
        assert repeatability([one, replace(other, settings=replace(other.settings, **changes))]).sets == ()


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_no_motion_beats_the_floor(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    runs = [run(str(i), 0.01 * random.standard_normal(801)) for i in range(count)]
    (found,) = repeatability(runs).sets
    positions = np.array([r.position for r in runs])
    for motion in (positions.mean(axis=0), positions[0], runs[0].goal_position, np.median(positions, axis=0)):
        assert np.abs(positions - motion).mean() >= found.floor - 1e-12


def test_a_model_is_held_against_the_floor_by_trajectory_and_overall() -> None:
    runs = [
        run("a", 0.002),
        run("b", -0.002),
        run("c", 0.004, mass=2.0),
        run("d", -0.004, mass=2.0),
        run("e", mass=3.0),
    ]
    other = [replace(r, id=r.id + "2", trajectory="up_and_down") for r in runs[:2]]
    found = repeatability([*runs, *other])
    rows = found.table(dict.fromkeys("abcd", 0.012) | {"e": 9.0, "a2": 0.004, "b2": 0.004})
    assert [row.trajectory for row in rows] == ["sin_sin", "up_and_down", ""]
    assert rows[0].floor == pytest.approx(0.003)
    assert rows[0].ratio == pytest.approx(4.0)
    assert rows[1].ratio == pytest.approx(2.0)
    assert (rows[2].repetitions, rows[2].runs) == (3, 6)
    assert "scatter by 2.7 mrad" in found.text()
    # (4·12 + 2·4)/6 = 9⅓ mrad over (2·2 + 2·4 + 2·2)/6 = 2⅔ mrad.
    told = found.text(dict.fromkeys("abcd", 0.012) | {"a2": 0.004, "b2": 0.004})
    assert "(3 sets, 6 runs)" in told
    assert told.endswith("The model's 9.3 mrad on these runs is 3.5 times that.")


def test_an_odd_run_of_a_large_set_is_named() -> None:
    """Runs compared with part of the others only: the one that is 50 mrad off, and no other."""
    runs = [run(f"{number:03d}", 0.05 if number == 70 else 1e-4 * (number % 3)) for number in range(2 * PARTNERS + 20)]
    (found,) = (repeated := repeatability(runs)).sets
    assert len(found.distances) == len(runs) * PARTNERS
    assert [finding.runs for finding in odd_repetitions(repeated, runs)] == [("070",)]
