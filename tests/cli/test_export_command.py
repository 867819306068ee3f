"""`bench export` of a model: names, files that are there, what is refused."""

import sys
from pathlib import Path

import pytest

from bench_gui.cli import main
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from sessions import Session


def export(folder, *words, to="c", model="mx106:m1"):
    return main(["export", model, "--to", to, "-o", str(folder), *words])


def test_a_file_that_differs_is_replaced_only_by_force(tmp_path, bench, fails):
    mine = tmp_path / "elbow.servo.h"
    mine.write_text("/* mine */\n")
    words = ("export", "mx106:m1", "--to", "c", "-o", tmp_path, "--name", "elbow")
    said = fails(*words)
    assert f"{mine} exists and differs" in said
    assert "--force" in said
    assert mine.read_text() == "/* mine */\n"
    bench(*words, "--force")
    assert "static const sb_servo elbow_servo" in mine.read_text()
    bench(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kp", "0"), "kp = 0"),
        (("--kp", "nan"), "--kp: 'nan' is not a number"),
        (("--kp", "-1"), "kp = -1"),
        (("--set", "timestep=1"), "a time step of 1 s is not possible"),
        (("--set", "timestep=1e-9"), "a time step of 1e-09 s is not possible"),
        (("--set", "supply_voltage=0"), "supply_voltage = 0"),
        (("--set", "bench=1"), "bench has its own option; give --mass and --length"),
        (("--set", "name=1"), "name has its own option; give --name"),
        (("--set", "force=1"), "force has its own option; give --force"),
        (("--set", "wheels=4"), "no option wheels"),
        (("--mass", "1"), "needs both --mass and --length"),
    ],
)
@pytest.mark.parametrize("to", ["c", "mujoco"])
def test_what_is_not_possible_is_refused_in_one_line(tmp_path, capsys, to, words, said):
    try:
        code = export(tmp_path / "out", *words, to=to)
    except SystemExit as ended:
        code = ended.code
    assert code in (1, 2)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(("usage:", " "))]
    assert said in line
    assert not (tmp_path / "out").exists()


def test_an_export_whose_engine_is_missing_is_an_export(tmp_path, bench, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ("export", "mx106:m1", "--to", "c", "-o", tmp_path, "--check")
    said = bench(*words).out
    assert str(tmp_path / "README.md") in said
    assert "not checked: it needs a C compiler" in said
    found = bench(*words, "--json").data
    assert found["checked"] is None
    assert "C compiler" in found["not_checked"]


def test_a_missing_package_is_named_with_how_to_install_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pydrake", None)
    assert export(tmp_path, "--check", to="drake") == 0
    assert "not checked: Drake is not installed here: pip install drake" in capsys.readouterr().out


def test_models_of_several_joints_are_exported_under_their_names(tmp_path, bench, fails):
    """Each is what an export of it alone with this name is; a path with an equals sign is one model."""
    joints = {"shoulder_lift": "sts3215:m1", "elbow_flex": "sts3215:m4"}
    words = [f"{joint}={model}" for joint, model in joints.items()]
    rows = bench("export", *words, "--to", "mujoco", "-o", tmp_path / "arm", "--json").data
    for (joint, model), row in zip(joints.items(), rows, strict=True):
        one = bench("export", model, "--to", "mujoco", "-o", tmp_path / joint, "--name", joint, "--json").data
        assert [Path(file).name for file in row["files"]] == [Path(file).name for file in one["files"]]
        (xml,) = (tmp_path / joint).glob("*.servo.xml")
        assert (tmp_path / "arm" / xml.name).read_text() == xml.read_text()
        assert f'class="{joint}"' in xml.read_text()
    titles = [line for line in (tmp_path / "arm/README.md").read_text().splitlines() if line.startswith("# ")]
    assert [title.partition(": ")[0] for title in titles] == ["# shoulder_lift", "# elbow_flex"]
    path = tmp_path / "a=b.json"
    path.write_text(load_model("sts3215", "m1").to_json_text())
    bench("export", path, "--to", "json", "-o", tmp_path / "json")
    assert "write NAME=MODEL" in fails("export", *words, "--to", "mujoco", "-o", tmp_path / "x", "--name", "arm")
    session = tmp_path / "lab"
    Session.create(session)
    assert "lab" in fails("export", words[0], f"a={session}", "--to", "mujoco", "-o", tmp_path / "y")
    assert not (tmp_path / "y").exists()


def test_our_own_file_is_checked_by_reading_it(tmp_path, capsys):
    assert export(tmp_path, "--check", to="json") == 0
    assert "json read back bit for bit: 0 mrad" in capsys.readouterr().out
    assert "Checked" in (tmp_path / "README.md").read_text()
    (file,) = (path for path in tmp_path.glob("*.json"))
    ServoModel.read(file)
