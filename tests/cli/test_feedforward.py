"""`bench feedforward`: the table, its JSON and its CSV; the physics is tested in core."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import pytest

from bench_gui.cli import COMMANDS
from core.export import approximation

ALL = ["uncompensated", "friction by M1", "friction by M6", "all but friction", "everything by M1", "everything by M6"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The command is there, and the M1 in place of a richer model is the start of its search, not the end."""

    def start(model, bench, settings, form):
        return SimpleNamespace(model=approximation.in_form(model, bench, form))

    monkeypatch.setitem(COMMANDS, "feedforward", ("model", "compensate friction"))
    monkeypatch.setattr(approximation, "approximate", start)


def test_the_richer_friction_is_compared_with_the_best_m1(bench):
    printed = bench("feedforward", "xl330:m6", "--mass", "0.1", "--trajectory", "up_and_down", "--json").data
    runs = printed["trajectories"]["up_and_down"]

    assert printed["bench"]["mass"] == 0.1
    assert [run["title"] for run in runs] == ALL
    by_title = {run["title"]: run["rms_mrad"] for run in runs}
    assert 10.0 * by_title["everything by M6"] < by_title["everything by M1"] < by_title["uncompensated"]


def test_without_a_choice_they_are_the_paper_s_trajectories(bench):
    shown = bench("feedforward", "mx106:m1", "--kp", "8", "--json").data["trajectories"]
    assert list(shown) == ["sin_time_square", "sin_sin", "up_and_down", "lift_and_drop"]
    assert {len(runs) for runs in shown.values()} == {4}


def test_goals_and_motions_are_written(bench, tmp_path):
    file = tmp_path / "new" / "runs.csv"
    words = ("mx106:m1", "--trajectory", "sin_sin", "half_sine", "--dt", "0.01", "--csv", file)
    assert str(file) in bench("feedforward", *words).out
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
def test_what_is_not_possible_is_said_in_one_line(fails, arguments, message):
    assert message in fails("feedforward", *arguments)
