"""`bench next`: which recordings would help most, for people and for scripts."""

from __future__ import annotations

from typing import Any

import pytest

from core.practice.plan import GridPlan
from sessions import Session

GRID = ("--masses", "0.1,0.49", "--lengths", "0.1", "--gains", "100,800", "--trajectories", "sin_sin,lift_and_drop")


@pytest.fixture
def proposed(bench):
    """What the command prints for machines."""
    return lambda *words: bench("next", *words, "--json", "--threads", "1").data


def place(cell: dict[str, Any]) -> tuple[Any, ...]:
    return cell["trajectory"], cell["mass"], cell["length"], cell["kp"]


def test_the_best_cells_of_a_grid_come_in_order(proposed, example):
    found = proposed(example, "--model", "xl330:m2", "--count", "3", *GRID)
    assert (found["servo"], found["runs"], found["objective"]) == ("xl330", 8, "volume")
    cells = [place(p) for p in found["proposals"]]
    assert len(set(cells)) == 3
    # At 0.49 kg, 0.1 m and a gain of 100 all four trajectories are in the session.
    done = {place(r.conditions()) for r in Session.open(example).load_all()}
    assert not done & set(cells)
    gains = [p["nats"] for p in found["proposals"]]
    assert gains == sorted(gains, reverse=True)
    assert {p["name"] for p in found["proposals"][0]["parameters"]} >= {"kt", "R", "friction_stribeck"}


def test_a_person_reads_a_table_and_how_to_record_the_first(bench, example):
    arguments = ["next", example, "--model", "xl330:m1", "--count", "2", "--objective", "widths", *GRID]
    lines = bench(*arguments, "--threads", "1").out.splitlines()
    assert lines[0].split()[:4] == ["trajectory", "mass/kg", "length/m", "gain"]
    assert all("interval" in line or "pins down" in line for line in lines[1:3])
    assert "after 8 runs" in lines[3]
    assert f"bench record --trajectory {lines[1].split()[0]} --mass 0." in lines[4]


def test_without_a_model_one_is_fitted_quickly(proposed, example):
    runs = [r.id for r in Session.open(example).runs()][:2]
    found = proposed(example, "--runs", ",".join(runs), "--dt", "0.01", "--count", "1", *GRID)
    assert found["runs"] == 2
    assert {p["name"] for p in found["proposals"][0]["parameters"]} >= {"command_delay", "load_friction_motor_quad"}


def test_a_session_without_runs_begins_at_the_catalogues_values(proposed, fails, tmp_path):
    Session.create(tmp_path / "new")
    found = proposed(tmp_path / "new", "--servo", "mx106", "--count", "1", *GRID)
    assert found["runs"] == 0
    assert found["proposals"][0]["words"].startswith("pins down")
    assert "give --servo or --model" in fails("next", tmp_path / "new")


def test_the_sessions_plan_is_what_can_be_recorded(proposed, tmp_path):
    new = Session.create(tmp_path / "planned")
    plan = GridPlan(masses=(0.2,), lengths=(0.1,), kps=(200.0,), trajectories=("steps", "sin_sin"), duration=2.0)
    new.set_document("plan", plan.to_json())
    found = proposed(new.path, "--model", "xl330:m1")
    assert found["duration"] == 2.0
    assert {place(p) for p in found["proposals"]} == {(t, 0.2, 0.1, 200.0) for t in ("steps", "sin_sin")}


def test_what_is_wrong_is_said_in_one_line(fails, example):
    grid = ("--masses", "0.49", "--lengths", "0.1", "--gains", "100", "--trajectories")
    assert "no trajectory named" in fails("next", example, "--model", "xl330:m1", *grid, "waltz")
    assert "recordings of xl330, the model is of mx106" in fails("next", example, "--model", "mx106:m1")
    done = ",".join(r.trajectory for r in Session.open(example).load_all() if r.settings.kp == 100.0)
    assert "name other masses" in fails("next", example, "--model", "xl330:m1", *grid, done)
