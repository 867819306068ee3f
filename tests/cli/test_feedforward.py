"""`bench feedforward`: the table, its JSON and its CSV; the physics is tested in core."""

from __future__ import annotations

import csv
import json
from types import SimpleNamespace

import pytest

from bench_gui.cli import COMMANDS, main
from core.export import approximation

ALL = ["uncompensated", "friction by M1", "friction by M6", "all but friction", "everything by M1", "everything by M6"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The command is there, and the M1 in place of a richer model is the start of its search, not the end."""

    def start(model, bench, settings, form):
        return SimpleNamespace(model=approximation.in_form(model, bench, form))

    monkeypatch.setitem(COMMANDS, "feedforward", "compensate friction")
    monkeypatch.setattr(approximation, "approximate", start)


def test_the_richer_friction_is_compared_with_the_best_m1(capsys):
    assert main(["feedforward", "xl330:m6", "--mass", "0.1", "--trajectory", "up_and_down", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    runs = printed["trajectories"]["up_and_down"]

    assert printed["bench"]["mass"] == 0.1
    assert [run["title"] for run in runs] == ALL
    by_title = {run["title"]: run["rms_mrad"] for run in runs}
    assert 10.0 * by_title["everything by M6"] < by_title["everything by M1"] < by_title["uncompensated"]


def test_people_get_a_table_of_the_paper_s_trajectories(capsys):
    assert main(["feedforward", "mx106:m1", "--kp", "8"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].split() == [
        "trajectory",
        "compensated",
        "rms/mrad",
        "mean/mrad",
        "worst/mrad",
        "beyond",
        "the",
        "servo/%",
    ]
    assert len(lines) == 1 + 4 * 4
    assert [line.split()[0] for line in lines[1::4]] == ["sin_time_square", "sin_sin", "up_and_down", "lift_and_drop"]


def test_goals_and_motions_are_written(capsys, tmp_path):
    file = tmp_path / "new" / "runs.csv"
    assert (
        main(["feedforward", "mx106:m1", "--trajectory", "sin_sin", "half_sine", "--dt", "0.01", "--csv", str(file)])
        == 0
    )
    assert str(file) in capsys.readouterr().out
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))

    assert len(rows) == 2 * 600
    assert {row["trajectory"] for row in rows} == {"sin_sin", "half_sine"}
    for row in rows[100:600:50]:
        wanted = float(row["wanted"])
        assert float(row["goal: uncompensated"]) == wanted
        assert abs(float(row["position: everything by M1"]) - wanted) < abs(
            float(row["position: uncompensated"]) - wanted
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mx106:m1", "--ki", "2"], "set ki and kd to 0"),
        (["mx106:m1", "--kp", "0"], "kp above 0"),
        (["mx106:m1", "--trajectory", "waltz"], "no trajectory named 'waltz'"),
        (["mx106:m1", "--dt", "20"], "commands every 20.0 s"),
        (["mx999:m1"], "mx999"),
    ],
)
def test_what_is_not_possible_is_said_in_one_line(capsys, arguments, message):
    assert main(["feedforward", *arguments]) == 1
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err
