"""`bench coverage`: the twin of the check before and after a fit."""

from __future__ import annotations

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from drivers.recorder import record_inline
from drivers.registry import open_servo
from sessions import Session

RUNS = "0003_sin_sin_kp100,0004_sin_sin_kp400"


def test_people_read_words(bench, example) -> None:
    text = bench("coverage", example, "--threads", "1").out
    assert "1 load: load-dependent friction and k_t cannot be distinguished" in text
    assert "record with another mass or length" in text
    assert "0004_sin_sin_kp400" in text


def test_scripts_read_json(bench, example) -> None:
    data = bench("coverage", example, "--json", "--runs", RUNS).data
    assert [cell["kp"] for cell in data["grid"]] == [100.0, 400.0]
    assert {finding["severity"] for finding in data["findings"]} <= {"error", "warning", "note"}
    assert "audit" not in data


def test_a_model_adds_audit_and_residuals(bench, example) -> None:
    arguments = ("--model", "xl330:m1", "--runs", RUNS, "--dt", "0.01", "--threads", "1")
    data = bench("coverage", example, *arguments, "--json").data
    assert {term["name"] for term in data["terms"]} >= {"kt", "R", "friction_viscous"}
    assert isinstance(data["audit"], list)
    assert data["residuals"]["position_rms"] > 0.0
    assert "left unexplained" in bench("coverage", example, *arguments).out


def test_repetitions_are_a_table_of_their_own(bench, tmp_path) -> None:
    session = Session.create(tmp_path / "repeated")
    trajectory = make_trajectory("sin_sin", 1.0)
    with open_servo("simulated:mx106?clock=virtual") as servo:
        servo.connect()
        header = RunHeader(
            trajectory="sin_sin", bench=Bench(mass=1.0, length=0.1), settings=servo.model.default_settings(), rate=200.0
        )
        for _ in range(2):
            assert record_inline(servo, trajectory, header, session.sink()).exit_status == "success"
    text = bench("coverage", session.path, "--threads", "1").out
    (row,) = (line.split() for line in text.splitlines() if line.startswith("sin_sin") and len(line.split()) == 4)
    assert row[:3] == ["sin_sin", "1", "2"]


def test_a_model_of_another_servo_is_refused(fails, example) -> None:
    said = fails("coverage", example, "--model", "mx106:m1")
    assert "these are recordings of xl330, the model is of mx106" in said
