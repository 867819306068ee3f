"""`bench arm`: what is compared, written and refused; the physics is `tests/core/arm`'s."""

from __future__ import annotations

import argparse
import csv
import json

import numpy as np
import pytest

from bench_gui.cli.commands import arm as arm_command
from core.errors import InputError
from core.studies.arm.scene import ARMS

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

QUICK = ["--paths", "circle", "--gains", "high", "--models", "m4,m6", "--period", "0.5"]

LINKS = """\
m1: 0.4
m2: 0.3
l1: 0.2
l2: 0.15
r1: 0.1
r2: 0.1
I1: 0.006
I2: 0.004
"""


def arm(*arguments):
    """Run `bench arm` with errors as exceptions."""
    parser = argparse.ArgumentParser()
    arm_command.add_arguments(parser)
    return arm_command.run(parser.parse_args([str(argument) for argument in arguments]))


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_choices_are_the_arms_there_are():
    assert tuple(ARMS) == arm_command.ARM_CHOICES


def test_validate_writes_the_table_motions_and_pictures(capsys, tmp_path):
    assert arm("validate", *QUICK, "-o", tmp_path, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["joints"] == ["Dynamixel MX-106 M6", "Dynamixel MX-64 M6"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "circle-high.csv",
        "circle-high.svg",
        "errors.csv",
        "errors.svg",
    ]
    assert [float(row["mae_mrad"]) for row in table(tmp_path / "errors.csv")] == [c["mae_mrad"] for c in said["cases"]]
    motions = table(tmp_path / "circle-high.csv")
    assert len(motions) == 100
    own = [abs(float(row["m6_1"]) - float(row["q1"])) for row in motions]
    assert 1e3 * np.mean(own) == pytest.approx(said["cases"][1]["shoulder_mrad"])
    assert (tmp_path / "errors.svg").read_text("utf-8").count("<svg") == 1


def test_validate_prints_a_line_a_case(capsys):
    assert arm("validate", "--arm", "erob", *QUICK) == 0
    heading, columns, line, links = capsys.readouterr().out.splitlines()
    assert "eRob80" in heading
    assert columns.split() == ["case", "m4", "published", "m6"]
    assert line.startswith("Circle, high")
    assert (
        links
        == "the paper gives only the servos: links and path sizes are ServoBench's; --links FILE replaces the links"
    )


def test_an_arm_of_ones_own_follows_a_path_into_a_file(capsys, tmp_path):
    (tmp_path / "links.yml").write_text(LINKS)
    asked = ["--links", tmp_path / "links.yml", "--joint1", "mx106:m4", "--joint2", "xl330:m6"]
    assert arm("simulate", *asked, "--path", "square", "--gain", "20", "--period", 1, "-o", tmp_path / "run.csv") == 0
    assert "200 samples of Dynamixel MX-106 M4 and" in capsys.readouterr().out
    rows = table(tmp_path / "run.csv")
    assert list(rows[0]) == ["time", "goal1", "goal2", "q1", "q2", "v1", "v2", "tau1", "tau2", "x", "z"]
    q1, q2, x = (np.array([float(row[name]) for row in rows]) for name in ("q1", "q2", "x"))
    assert x == pytest.approx(0.2 * np.sin(q1) + 0.15 * np.sin(q1 + q2))


def test_a_recording_takes_the_truths_place(capsys, tmp_path):
    assert arm("simulate", "--period", 1, "--gain", "low", "-o", tmp_path / "run.csv") == 0
    capsys.readouterr()
    asked = ["--recording", tmp_path / "run.csv", "--gains", "low", "--models", "m4,m6"]
    assert arm("validate", *asked, "--json", "-o", tmp_path / "out") == 0
    m4, m6 = json.loads(capsys.readouterr().out)["cases"]
    assert m6["mae_mrad"] < 0.01 * m4["mae_mrad"]
    assert (tmp_path / "out" / "run.svg").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["validate", "--arm", "erob", "--links", "a.yml"], "leave one of them out"),
        (["validate", "--links", "a.yml", "--joint1", "mx64:m6"], "--joint1 and --joint2"),
        (["validate", "--paths", "spiral", "--models", "m6"], "no path 'spiral'"),
        (["validate", "--gains", "much", "--models", "m6"], "no gain 'much'"),
        (["validate", "--recording", "a.csv", "--models", "m6"], "one gain"),
        (["simulate", "--timestep", "0.004", "-o", "never.csv"], "not a multiple"),
    ],
)
def test_what_is_not_possible_is_said(arguments, message):
    with pytest.raises(InputError, match=message):
        arm(*arguments)
