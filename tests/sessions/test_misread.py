"""An import says which shift of the goals, or which zero, explains more than the tables as they were read."""

import math
import shlex
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import servobench as sb
from core.identification.misread import misread
from tests.bench.goal_shifts import FINER, SERVO, imported, named, planted, written


@cache
def runs_of(seed, finer=1):
    return planted(seed, finer)[1]


def turned(run, angle):
    channels = {name: values + angle * (name in ("position", "goal_position")) for name, values in run.channels.items()}
    return replace(run, channels=channels)


@pytest.mark.parametrize(
    ("seed", "rows_late", "finer"),
    [
        (0, 1, 1),
        (1, -1, 1),
        (1, 2, FINER),
        *(pytest.param(seed, rows, finer, marks=pytest.mark.exhaustive("further servos and shifts"))
          for seed in (2, 3) for rows in (-2, -1, 1, 2) for finer in (1, FINER)),
    ],
)  # fmt: skip
def test_the_shift_of_goals_that_were_logged_early_or_late_is_named(seed, rows_late, finer):
    good, said = named(runs_of(seed, finer), rows_late)
    assert good, said
    assert ("unless the servo itself answers that late" in said) == (rows_late < 0)


@pytest.mark.parametrize("finer", [1, FINER])
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_is_said_of_aligned_goals(seed, finer):
    """The command's delay, 8.8 and 17 ms, is no shift, nor are goals between the rows."""
    assert misread(runs_of(seed, finer)) == []


def test_auto_moves_the_goals_of_all_tables_that_were_logged_alike(tmp_path):
    aligned = runs_of(0)
    late = written(aligned, 1, tmp_path)
    found, said = imported(late, tmp_path / "auto", "auto")
    assert [run.provenance["goal_shift"] for run in found] == [-1] * len(late)
    assert "goals moved 1 row earlier: the error of a quick fit falls from " in said
    assert "import again" not in said
    by_hand, said = imported(late, tmp_path / "hand", -1)
    assert "quick fit" not in said
    assert [run.goal_position.tolist() for run in found] == [run.goal_position.tolist() for run in by_hand]
    # Other tables, twice as fast and aligned, stay as they are.
    (tmp_path / "other").mkdir()
    faster = [replace(run, channels={**run.channels, "time": run.time / 1.5}) for run in runs_of(0, FINER)[:1]]
    mixed = [*late, *written(faster, 0, tmp_path / "other")]
    found, _ = imported(mixed, tmp_path / "mixed", "auto")
    assert [run.provenance.get("goal_shift", 0) for run in found] == [-1] * len(late) + [0]


def test_auto_leaves_aligned_tables_alone(tmp_path):
    found, said = imported(written(runs_of(1), 0, tmp_path), tmp_path / "s", "auto")
    assert ["goal_shift" in run.provenance for run in found] == [False] * 4
    assert not said.strip()


def test_a_frame_is_moved_alike():
    run = runs_of(0)[1]
    frame = {"t": run.time[1:], "goal": run.goal_position[:-1], "pos": run.position[1:]}
    facts = {"servo": SERVO, "mass": run.bench.mass, "length": run.bench.length, "kp": run.settings.kp}
    columns = "time=t,goal=goal,position=pos"
    [found] = sb.from_frame(frame, columns=columns, goal_shift="auto", supply_voltage=15.0, **facts)
    assert found.provenance["goal_shift"] == -1


@pytest.mark.parametrize(
    ("angle", "released", "offset"),
    [(math.pi, True, "-3.1416"), (math.pi, False, "-3.1416"), (-math.pi / 2, True, "1.5708")],
)
def test_a_zero_that_does_not_hang_down_is_named_with_an_option_that_works(tmp_path, angle, released, offset):
    """By the rest of a released load; without one, by gravity."""
    runs = [turned(run, angle) for run in runs_of(0)[: None if released else 3]]
    paths = written(runs, 0, tmp_path)
    _, said = imported(paths, tmp_path / "s")
    assert ("a released load rests" in said) == released
    assert f"0 does not hang down: with --angle-offset {offset} the error of a quick fit falls from " in said
    words = shlex.split(said)
    again = float(words[words.index("--angle-offset") + 1])
    found, said = imported(paths, tmp_path / "again", angle_offset=again)
    assert not said.strip()
    assert found[0].bench.angle_offset == again


def test_a_shift_is_found_beside_a_turned_zero(tmp_path):
    _, said = imported(written([turned(run, math.pi) for run in runs_of(0)], 2, tmp_path), tmp_path / "s")
    assert "--angle-offset -3.1416" in said
    assert "--goal-shift -2," in said


def test_runs_without_driven_motion_say_nothing():
    run = runs_of(0)[0]
    released = replace(run, channels={**run.channels, "torque_enable": np.zeros(run.samples)})
    still = replace(run, channels={**run.channels, "goal_position": np.zeros(run.samples)})
    assert misread([released, still]) == misread([]) == []
