"""`bench record --plan`: the grid without a window; goes on where it was left, asks before each change by hand."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from bench_gui.cli import build_parser, main
from bench_gui.cli.commands.servo.record import _ask, _grid
from bench_gui.cli.terminal import ProgressBar
from core.base.errors import InputError
from core.practice.plan import GridPlan, dynamixel_plan, suggested_plan
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from drivers.recorder import RunResult, planned
from drivers.recorder.planned import RecordingPlan, _record_live, _Run, grid_status
from drivers.servo import ServoIdentity
from sessions import Annotation, Session

SMALL = ("--masses", "0.5,1", "--lengths", "0.1,0.15", "--kps", "8", "--trajectory", "sin_sin", "--duration", "0.5")


@pytest.fixture
def record(bench):
    """What the command prints for machines."""
    return lambda session, *words: bench("record", "--fast", "--json", "-o", session, *words).data


def test_a_grid_is_recorded_and_goes_on_where_it_was_left(tmp_path, record):
    path = tmp_path / "grid"
    first = record(path, "--plan", "paper", *SMALL, "--repetitions", "1")
    assert (first["done"], first["total"], len(first["runs"])) == (4, 4, 4)
    session = Session.open(path)
    found = {(run.mass, run.length, run.kp, run.trajectory) for run in session.runs()}
    assert found == {(m, le, 8.0, "sin_sin") for m in (0.5, 1.0) for le in (0.1, 0.15)}
    plan = GridPlan.from_json(session.document("plan"))
    assert (plan.masses, plan.duration) == ((0.5, 1.0), 0.5)
    # Nothing is recorded twice.
    assert record(path, "--plan", "paper", *SMALL)["runs"] == []
    # A run that is excluded is missing again, and only that one.
    left_out = session.runs()[2]
    session.annotate(left_out.id, Annotation(excluded=True, reason="the screw was loose"))
    again = record(path, "--plan", "paper", *SMALL)
    assert len(again["runs"]) == 1
    newest = Session.open(path).runs()[-1]
    assert (newest.mass, newest.length, newest.kp) == (left_out.mass, left_out.length, left_out.kp)
    # One repetition more is four runs more.
    assert len(record(path, "--plan", "paper", *SMALL, "--repetitions", "2")["runs"]) == 4


def test_a_plan_from_a_file(tmp_path, record):
    file = tmp_path / "plan.json"
    plan = replace(
        dynamixel_plan(), masses=(0.5,), lengths=(0.1,), kps=(16.0,), trajectories=("half_sine",), duration=0.4
    )
    file.write_text(json.dumps(plan.to_json()))
    result = record(tmp_path / "session", "--plan", str(file))
    assert [run["trajectory"] for run in result["runs"]] == ["half_sine"]


def test_what_is_wrong_is_said_in_one_line(tmp_path, fails):
    session = tmp_path / "session"
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    assert "recording plan" in fails("record", "-o", session, "--plan", broken)
    assert "cannot be read" in fails("record", "-o", session, "--plan", tmp_path / "none.json")
    assert "--plan" in fails("record", "-o", session, "--masses", "1,2")
    assert not session.exists()


@pytest.mark.parametrize(
    "command",
    [
        ("record", "--fast", "--trajectory", "sin_sin", "--duration", "0.5"),
        ("record", "--fast", "--plan", "paper", *SMALL),
        ("place", "--fast", "--torques", "0.1"),
    ],
    ids=["runs", "grid", "points"],
)
def test_nothing_is_recorded_into_a_session_of_another_servo(lab, fails, command):
    """The example is of a real XL330."""
    before = [run.id for run in Session.open(lab).runs()]
    said = fails(*command, "--servo", "simulated:xl330", "-o", lab)
    assert "its runs and points are of a real xl330, the new ones of a simulated xl330: use another session" in said
    session = Session.open(lab)
    assert [run.id for run in session.runs()] == before
    assert session.document("plan") is None
    assert session.document("placed_points") is None


def test_a_person_is_asked_once_for_each_change(tmp_path):
    """Driven like a servo that can move something real; the servo itself is simulated and loses no sample."""
    grid = replace(
        dynamixel_plan(), masses=(0.5, 1.0), lengths=(0.1,), kps=(8.0, 16.0), trajectories=("half_sine",), duration=0.3
    )
    plan = RecordingPlan(servo="simulated:mx106?clock=virtual", trajectories=(), bench=Bench(mass=0.5, length=0.1))
    session = Session.create(tmp_path / "session")
    runs = [_Run(grid.trajectory(cell), cell.bench(plan.bench), cell.kp) for cell in grid.cells()]
    asked: list[str] = []

    def ask(change: str) -> bool:
        asked.append(change)
        return len(asked) < 3

    recorded = _record_live(plan, runs, lambda _: session, lambda share, text: None, ask)
    assert [run.exit_status for run in recorded] == ["success"] * 4
    assert asked == ["Hang 0.5 kg at 0.1 m", "Hang 1 kg instead of 0.5 kg, still at 0.1 m"]
    assert grid_status(session, grid).complete
    # Whoever says no keeps what there is.
    assert _record_live(plan, runs, lambda _: session, lambda share, text: None, lambda change: False) == []


@pytest.mark.parametrize("status", ["fail", "abort"])
@pytest.mark.parametrize("how", [["--fast"], []])
def test_a_run_that_does_not_end_well_is_the_last(tmp_path, monkeypatch, capsys, how, status):
    result = RunResult(run=1, exit_status=status, reason="too hot")
    recorder = SimpleNamespace(
        start=lambda: ServoIdentity(model="mx106", title="MX-106"),
        record=lambda *_: None,
        wait=lambda progress: result,
    )
    monkeypatch.setattr(planned, "Recorder", lambda _: nullcontext(recorder))
    monkeypatch.setattr(planned, "record_inline", lambda *_: result)
    assert main(["record", "--trajectory", "half_sine,sin_sin", "-o", str(tmp_path / "s"), *how]) == 1
    assert capsys.readouterr().out == f"half_sine: {status}, too hot\n"


def test_the_question_waits_for_enter(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert _ask(ProgressBar(True), "Hang 1 kg at 0.1 m")
    assert "Hang 1 kg at 0.1 m, then press Enter" in capsys.readouterr().err
    # Nobody there: the end of the input.
    assert not _ask(ProgressBar(True), "Hang 1 kg at 0.1 m")


def test_only_a_simulated_servo_can_be_fast(tmp_path, monkeypatch):
    class Elsewhere:
        family = "elsewhere"

    monkeypatch.setattr(planned.ServoAddress, "parse", lambda text: Elsewhere())
    plan = RecordingPlan(servo="elsewhere:1", trajectories=(), bench=Bench(mass=1.0, length=0.1), fast=True)
    with pytest.raises(InputError, match="simulated"):
        planned.record_grid(
            dynamixel_plan(), plan, partial(Session.open_or_create, tmp_path / "s"), lambda s, t: None, lambda c: True
        )
    assert not (tmp_path / "s").exists()


def grid_of(*words):
    return _grid(build_parser().parse_args(["record", "-o", "s", "--servo", "simulated:mx106", *words]))


GRID_CHANGES = {
    "--masses": ("0.4,0.8", "masses", (0.4, 0.8)),
    "--lengths": ("0.11,0.13", "lengths", (0.11, 0.13)),
    "--kps": ("5,7", "kps", (5.0, 7.0)),
    "--repetitions": ("3", "repetitions", 3),
}


@pytest.mark.parametrize("option", GRID_CHANGES)
def test_each_option_of_a_grid_needs_a_plan_and_changes_that_alone(option):
    text, name, value = GRID_CHANGES[option]
    with pytest.raises(InputError, match=f"^{option} changes a grid; add --plan$"):
        grid_of(option, text)
    usual = suggested_plan(load_servo("mx106"))
    assert grid_of("--plan", "paper", option, text) == replace(usual, title="", source="", **{name: value})


def test_a_plan_is_the_paper_s_unless_something_is_changed():
    usual = suggested_plan(load_servo("mx106"))
    assert usual.title
    assert grid_of() is None
    assert grid_of("--plan", "paper") == usual
    changed = grid_of("--plan", "paper", "--duration", "2.5", "--trajectory", "sin_sin,steps")
    assert changed == replace(usual, title="", source="", duration=2.5, trajectories=("sin_sin", "steps"))


def test_a_servo_too_weak_for_the_heaviest_load_is_warned_about_before_the_first_run(tmp_path, record, caplog):
    servo = ("--servo", "simulated:xl330")
    record(tmp_path / "light", *servo, "--mass", "0.1", "--trajectory", "sin_sin", "--duration", "0.2")
    assert not caplog.messages
    record(tmp_path / "heavy", *servo, "--plan", "paper", *SMALL, "--masses", "0.1,1.71", "--lengths", "0.1")
    assert [text for text in caplog.messages if "0.52 N·m, cannot hold 1.71 kg at 0.1 m" in text]
