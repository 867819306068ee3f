"""`bench arm identify`: from CSV files of a simulated arm to a table, JSON and files."""

import json

import numpy as np
import pytest

from core.studies.arm.dynamics import ARM_AT, arm_rows, simulate_windows
from core.studies.arm.links import read_arm_parameters

LINKS = "m1: 0.6\nm2: 0.55\nl1: 0.3\nl2: 0.2\nr1: 0.28\nr2: 0.18\nI1: 0.05\nI2: 0.021\n"
DT = 0.002
STEPS = 750


@pytest.fixture
def arm(tmp_path):
    """Paths of the links and of three recordings of an arm with 0.1 N·m of Coulomb friction in both joints."""
    links = tmp_path / "links.yml"
    links.write_text(LINKS)
    row = arm_rows(read_arm_parameters(links).links)
    for joint in (1, 2):
        row[:, ARM_AT[f"friction_base_of_{joint}"]] = 0.1
    time = DT * np.arange(STEPS + 1)
    where = np.zeros(1, dtype=np.int64)
    files = []
    for place in range(3):
        torque = np.column_stack([np.sin((4 + place) * time), 0.5 * np.cos((7 - place) * time)])
        motion = simulate_windows(row, torque, where, where, np.zeros((1, 4)), STEPS, DT)[0, :, :, 0]
        table = np.column_stack([time, motion, torque])
        files.append(tmp_path / f"run{place}.csv")
        np.savetxt(files[-1], table, delimiter=",", header="time,q1,q2,tau1,tau2", comments="")
    return links, files


@pytest.fixture
def identify(bench, arm):
    """Identifies the arm, quickly."""
    links, files = arm
    quick = ("--models", "m1", "--groups", "", "--trials", "60", "--windows", "0.25,0.1", "--fit-window", "0.25")
    return lambda *more, code=0: bench("arm", "identify", *files, "--links", links, *quick, "--quiet", *more, code=code)


def test_friction_of_both_joints_comes_out(identify, tmp_path):
    result = identify("--json", "-o", tmp_path / "found").data
    assert result["windows"] == [0.1, 0.25]
    fit = result["fits"][1]
    for joint in (1, 2):
        assert fit["parameters"][f"friction_base_{joint}"]["value"] == pytest.approx(0.1, rel=0.05)
    assert json.loads((tmp_path / "found" / "result.json").read_text()) == result
    heading, *rows = (tmp_path / "found" / "errors.csv").read_text().splitlines()
    assert heading.startswith("model,training 0.1 s [mrad],training 0.25 s [mrad],held out 0.1 s [mrad]")
    assert [row.split(",")[0] for row in rows] == ["file", "m1"]


def test_the_table_names_models_and_parameters(identify):
    printed = identify().out
    assert "held out 0.25 s/mrad" in printed
    assert "m1: friction_base_1 0." in printed


def test_wrong_input_is_one_clear_error(identify, arm, fails):
    assert "terms" in identify("--groups", "gears", code=1).err
    links, files = arm
    assert "cannot be read" in fails("arm", "identify", files[0].with_name("none.csv"), "--links", links)
