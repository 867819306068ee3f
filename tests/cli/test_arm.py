"""`bench arm`: what is compared, written and refused; the physics is `tests/core/arm`'s."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from bench_gui.cli.commands.studies import arm as arm_command
from core.studies.arm.scene import ARMS

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

QUICK = ["--paths", "circle", "--gains", "high", "--models", "m4,m6", "--period", "0.5"]


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_choices_are_the_arms_there_are():
    assert tuple(ARMS) == arm_command.ARM_CHOICES


def test_validate_writes_the_table_motions_and_pictures(bench, tmp_path):
    said = bench("arm", "validate", *QUICK, "-o", tmp_path, "--json").data
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


def test_a_recording_takes_the_truths_place(bench, tmp_path):
    bench("arm", "simulate", "--period", 1, "--gain", "low", "-o", tmp_path / "run.csv")
    asked = ["--recording", tmp_path / "run.csv", "--gains", "low", "--models", "m4,m6"]
    m4, m6 = bench("arm", "validate", *asked, "--json", "-o", tmp_path / "out").data["cases"]
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
def test_what_is_not_possible_is_said(fails, arguments, message):
    assert message in fails("arm", *arguments)
