"""`bench robot`: from motions of a whole arm to a model for each joint, and what refuses runs of joints elsewhere."""

import json
import math
import shutil
import signal
from types import SimpleNamespace

import numpy as np
import pytest

import servobench as sb
from bench_gui.cli import main
from core.base.errors import InputError
from core.servo.shipped import load_model
from sessions import Session
from sessions.results import robot
from sessions.results.identification import load_identification
from sessions.results.record import read_record
from sessions.results.robot import read_robot
from tests.core.robot.planted import ARM, NAMES, planted

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from core.robot.chain import Chain

FIT = ["--models", "m1", "--trials", "200", "--no-command-path", "--threads", "2", "--quiet"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the file of an arm, three motions of it, and the session with them."""
    place = tmp_path_factory.mktemp("arm")
    (place / "arm.xml").write_text(ARM)
    runs = planted(Chain(place / "arm.xml"), load_model("sts3215", "m1"))
    (place / "motions").mkdir()
    for first in range(0, len(runs), 3):
        some = runs[first : first + 3]
        goal, position = (
            np.column_stack([getattr(run, name) for run in some]) for name in ("goal_position", "position")
        )
        path = place / f"motions/{some[0].trajectory}.npz"
        np.savez(path, time=some[0].time, goal=goal, position=position, names=np.array(NAMES))
    words = ["import", place / "motions", "--joints", "all", "--servo", "sts3215", "--kp", "16", "-o", place / "lab"]
    assert main([str(word) for word in words]) == 0
    return place


@pytest.fixture(scope="module")
def result(place):
    """The result of the command for two joints, and what it printed."""
    words = ["robot", "identify", "lab", "--urdf", "arm.xml", "--joints", "lift,elbow", *FIT, "-o", "result"]
    assert main([str(place / word) if word in ("lab", "arm.xml", "result") else word for word in words]) == 0
    return place / "result"


def output_of(capsys, *words, status=0):
    assert main([str(word) for word in words]) == status
    return capsys.readouterr()


def test_each_joint_has_a_folder_and_the_same_held_out_motion(result):
    robot = read_robot(result)
    assert [*robot.joints] == ["lift", "elbow"]
    assert len(robot.held_out) == 1
    assert {*robot.training, *robot.held_out} == {"motion0", "motion1", "motion2"}
    for joint in robot.joints:
        (found,) = load_identification(result / joint).results
        assert found.validation_mae < 0.02
        assert robot.model(joint) == found.model


def test_each_joint_starts_from_the_model_of_all(place, result, tmp_path):
    shared = load_identification(result / "all_joints").recommended.model.values
    for joint in ("lift", "elbow"):
        start = dict(read_record(result / joint).request.start)
        assert start == {**shared, "q_offset": 0.0}
    words = ["robot", "identify", place / "lab", "--urdf", place / "arm.xml", "--joints", "lift,elbow", "--no-share"]
    assert main([str(word) for word in [*words, *FIT, "-o", tmp_path / "alone"]]) == 0
    assert not (tmp_path / "alone/all_joints").exists()
    assert dict(read_record(tmp_path / "alone/lift").request.start) != start


def test_what_is_found_moves_each_joint_as_measured(place, result, capsys):
    told = output_of(capsys, "robot", "evaluate", result, place / "lab").out
    assert told.splitlines()[0].split() == [
        "joint",
        "model",
        "MAE/mrad",
        "held",
        "out/mrad",
        "worst",
        "motion",
        "its",
        "error/mrad",
    ]
    data = json.loads(output_of(capsys, "robot", "evaluate", result, place / "lab", "--json").out)
    assert data["held_out"] == list(read_robot(result).held_out)
    for joint in ("lift", "elbow"):
        assert max(data["joints"][joint]["motions"].values()) < 0.02
    one = json.loads(output_of(capsys, "robot", "evaluate", result, place / "lab", "--joints", "lift", "--json").out)
    assert one["joints"] == {"lift": data["joints"]["lift"]}
    refused = output_of(capsys, "robot", "evaluate", result, place / "lab", "--joints", "pan", status=1).err
    assert refused.endswith("no model of pan; there are lift, elbow\n")
    refused = output_of(capsys, "robot", "evaluate", result, place / "lab", "--joints", "Lift", status=1).err
    assert refused.endswith("no model of Lift (do you mean lift?); there are lift, elbow\n")


def test_each_joint_has_a_report(place, result, capsys):
    told = output_of(capsys, "robot", "report", result, place / "lab", "--joints", "lift").out
    assert told == f"{result / 'lift/report.html'}\n"
    text = (result / "lift/report.html").read_text()
    assert "joint lift of a robot" in text
    assert "<title>sts3215 of lift from lab" in text
    assert "The runs have changed since the fit" not in text
    assert "0 kg" not in text
    held = read_robot(result).held_out[0]
    assert f"--joints lift --no-command-path --models m1 --trials 200 --seed 0 --validation motion={held}" in text
    assert f"bench robot report {result} {place / 'lab'}" in text


def test_python_computes_the_same_loads(place, result):
    arm = sb.robot_runs(place / "lab", place / "arm.xml", "elbow")
    assert [*arm.joints] == ["elbow"]
    errors = sb.evaluate(read_robot(result).model("elbow"), arm.joints["elbow"])
    assert errors.mean_mae < 0.02
    found = sb.identify(arm.joints["elbow"], "m1", command_path=False, trials=30, progress=False)
    held = [run.provenance["motion"] for run in arm.joints["elbow"] if run.id in found.split.validation]
    assert tuple(held) == read_robot(result).held_out


def test_a_result_holds_its_robot_and_can_be_moved(place, result, tmp_path):
    assert (result / "arm.xml").read_text() == (place / "arm.xml").read_text()
    moved = tmp_path / "moved"
    shutil.copytree(result, moved)
    assert read_robot(moved).file == moved / "arm.xml"
    data = {**json.loads((result / "robot.json").read_text()), "robot": str(place / "arm.xml")}
    del data["seal"]
    (moved / "robot.json").write_text(json.dumps(data))
    assert read_robot(moved).file == place / "arm.xml"


def test_a_second_identification_into_one_folder_is_refused(place, result, capsys):
    words = ["robot", "identify", place / "lab", "--urdf", place / "arm.xml", *FIT, "-o", result]
    assert "already holds the identification of a robot" in output_of(capsys, *words, status=1).err


def test_leftovers_of_a_stopped_identification_are_refused(place, tmp_path, capsys):
    """They would leave out the common fit, whose folder they hold."""
    (tmp_path / "all_joints").mkdir()
    words = ["robot", "identify", place / "lab", "--urdf", place / "arm.xml", *FIT, "-o", tmp_path]
    assert "already holds the identification of a robot" in output_of(capsys, *words, status=1).err


@pytest.mark.parametrize(
    "words",
    [
        ["identify", "lab", "-o", "out"],
        ["crossvalidate", "lab", "--models", "m1", "-o", "out"],
        ["evaluate", "lab", "--model", "sts3215:m6"],
        ["simulate", "lab", "--model", "sts3215:m6", "-o", "out"],
        ["coverage", "lab"],
        ["next", "lab"],
    ],
)
def test_runs_of_joints_are_refused_where_no_robot_is_given(place, capsys, words):
    at = [place / word if word in ("lab", "out") else word for word in words]
    line = output_of(capsys, *at, status=1).err
    assert line.count("\n") == 1
    assert "of the joint pan of a robot" in line
    assert "bench robot identify" in line
    assert not (place / "out").exists()


def test_the_window_computes_nothing_of_runs_of_joints(place):
    """Its processes end with the same line, which the page shows."""
    from bench_gui.identify.coverage.compute import CheckJob, check
    from bench_gui.identify.material import Material

    runs = tuple(run.id for run in Session.open(place / "lab").runs())
    line = SimpleNamespace(tell=lambda message: None, stop_asked=lambda: False, courtesy_asked=lambda: False)
    with pytest.raises(InputError, match="bench robot identify"):
        check(CheckJob(material=Material(session=place / "lab", runs=runs)), line)


def test_runs_name_their_joints(place, capsys):
    assert output_of(capsys, "runs", place / "lab").out.splitlines()[2].split()[-1] == "lift"


def test_doubts_and_what_is_left_out_are_printed_before_the_fit(place, tmp_path, capsys):
    """The sign of a joint turned at the import, and a joint that the file lacks."""
    columns = "time=time,goal=goal.{joint}:rad*-1,position=position.{joint}:rad*-1"
    facts = ["--servo", "sts3215", "--kp", "16", "--quiet"]
    for joints, more in (("lift", ["--columns", columns]), ("pan,elbow=hand", [])):
        output_of(capsys, "import", place / "motions", "--joints", joints, *more, *facts, "-o", tmp_path / "lab")
    words = [
        "robot",
        "identify",
        tmp_path / "lab",
        "--urdf",
        place / "arm.xml",
        "--joints",
        "hand",
        "-o",
        tmp_path / "r",
    ]
    assert "joint hand: no run of it; there are runs of" in output_of(capsys, *words, status=1).err
    words[5:7] = ["--joints", "pan", *FIT]
    told = output_of(capsys, *words)
    assert "note: hand is not in arm.xml: left out" in told.err
    assert told.out.splitlines()[0].startswith("joint  range/deg")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("none.urdf", "none.urdf: cannot be read"),
        ("other.xml", "has none of the recorded joints (pan, lift, elbow), its hinges are a"),
    ],
)
def test_a_wrong_robot_is_refused_in_one_line(place, tmp_path, capsys, file, words):
    other = '<mujoco><worldbody><body><joint name="a"/><geom size="0.1"/></body></worldbody></mujoco>'
    (tmp_path / "other.xml").write_text(other)
    line = output_of(
        capsys, "robot", "identify", place / "lab", "--urdf", tmp_path / file, "-o", tmp_path / "r", status=1
    ).err
    assert line.count("\n") == 1
    assert words in line
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("text", ["", "{}", '{"robot": 1, "joints": [], "training": []}'])
def test_a_damaged_result_is_refused_in_one_line(place, tmp_path, capsys, text):
    (tmp_path / "robot.json").write_text(text)
    line = output_of(capsys, "robot", "evaluate", tmp_path, place / "lab", status=1).err
    assert line.count("\n") == 1
    assert "robot.json: cannot be read" in line
    assert "no identification of a robot" in output_of(capsys, "robot", "evaluate", place, place / "lab", status=1).err


def test_the_whole_robot_moves_as_its_joints_and_is_exported(place, result, capsys, tmp_path):
    words = ["robot", "evaluate", result, place / "lab", "--urdf", place / "arm.xml", "--whole"]
    data = json.loads(output_of(capsys, *words, "--json").out)["joints"]
    held = read_robot(result).held_out[0]
    for row in data.values():
        assert [*row["whole_robot"]] == [held]
        assert row["whole_robot"][held] < 0.02
    assert "whole robot/mrad" in output_of(capsys, *words).out
    words = ["robot", "export", result, "--to", "mujoco-hook", "-o", tmp_path / "out"]
    assert str(tmp_path / "out/robot.xml") in output_of(capsys, *words).out.splitlines()
    assert {"lift.servo.json", "elbow.servo.json"} <= {path.name for path in (tmp_path / "out").iterdir()}
    again = output_of(capsys, *words, "--joints", "lift", status=1).err
    assert "exists and differs" in again


def test_the_next_motions_are_printed_and_written(place, result, capsys, tmp_path):
    words = ["robot", "next", place / "lab", "--result", result, "--joints", "lift", "--count", "2"]
    told = output_of(capsys, *words, "--range", "lift=-40:40", "-o", tmp_path / "goals").out
    assert told.splitlines()[0].startswith("joint  motion")
    assert "joints: pan, lift, elbow; the others hold a pose" in told
    data = np.genfromtxt(tmp_path / "goals/lift_2.csv", delimiter=",", names=True, deletechars="")
    assert data.dtype.names == ("time", "goal.pan", "goal.elbow", "goal.lift")
    assert np.ptp(data["goal.pan"]) == 0.0
    assert 0.5 < np.abs(np.degrees(data["goal.lift"])).max() < 40.0
    found = json.loads(output_of(capsys, *words, "--json").out)["joints"]["lift"]
    assert len(found["proposals"]) == 2
    words = ["robot", "next", place / "lab", "--urdf", place / "arm.xml", "--joints", "lift", "--count", "1"]
    assert "not determined so far" in output_of(capsys, *words).out


def test_python_proposes_the_same_motions(place, result, capsys):
    words = ["robot", "next", place / "lab", "--result", result, "--joints", "lift", "--count", "2", "--json"]
    expected = json.loads(output_of(capsys, *words, "--range", "lift=-40:30").out)["joints"]["lift"]
    arm, ends = sb.robot_runs(place / "lab", place / "arm.xml"), (math.radians(-40.0), math.radians(30.0))
    found = sb.propose_motions(arm, "lift", read_robot(result).model("lift"), count=2, ranges={"lift": ends})
    assert json.loads(json.dumps(found.to_json())) == expected
    with pytest.raises(InputError, match="no run of the joint wrist; there are runs of pan, lift, elbow"):
        sb.propose_motions(arm, "wrist")


@pytest.mark.parametrize("printed", [[], ["--json"]])
def test_a_stop_names_the_joints_that_were_fitted_and_not_reached(place, tmp_path, monkeypatch, capsys, printed):
    watch = robot._watch

    def stopping(joint, *place):
        if joint == "lift":
            signal.raise_signal(signal.SIGINT)
        return watch(joint, *place)

    monkeypatch.setattr(robot, "_watch", stopping)
    words = ["robot", "identify", place / "lab", "--urdf", place / "arm.xml", *FIT, *printed, "-o", tmp_path / "result"]
    told = output_of(capsys, *words, status=130).out
    assert [*read_robot(tmp_path / "result").joints] == ["pan", "lift"]
    if printed:
        data = json.loads(told)
        assert (data["stopped"], data["not_reached"]) == ("lift", ["elbow"])
    else:
        line = "stopped during lift, which keeps the best so far; complete: pan; not reached: elbow"
        assert line in told.splitlines()


def test_the_file_of_a_robot_is_taken_from_its_sessions_folder(place, capsys, tmp_path):
    words = ["robot", "identify", place / "lab", "--joints", "lift", *FIT, "-o", tmp_path / "result"]
    refused = output_of(capsys, *words, status=1).err
    assert "give the robot's file as --urdf FILE" in refused
    shutil.copy(place / "arm.xml", place / "lab" / "robot.xml")
    told = output_of(capsys, *words)
    assert "held out:" in told.out
    assert "stays near the model sts3215:m6" in told.err
    (place / "lab" / "robot.xml").unlink()


def test_a_robot_ships(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    chosen = ["--joints", "wrist_roll", "--models", "m1", "--no-command-path", "--trials", "50", "--quiet"]
    words = ["robot", "identify", "example-so101", *chosen, "-o", tmp_path / "result"]
    assert output_of(capsys, *words).out.splitlines()[-1].endswith(str(tmp_path / "example_so101"))
    assert read_robot(tmp_path / "result").file == tmp_path / "result" / "robot.urdf"


def test_the_whole_robot_has_the_gain_of_each_motion(place, result, capsys, tmp_path):
    """Not that of the motions that were fitted."""
    lab = tmp_path / "lab"
    output_of(capsys, "import", place / "motions", "--joints", "all", "--servo", "sts3215", "--kp", 4, "-o", lab)
    words = ["robot", "evaluate", result, lab, "--urdf", place / "arm.xml", "--whole", "--json"]
    for row in json.loads(output_of(capsys, *words).out)["joints"].values():
        for motion, error in row["whole_robot"].items():
            assert error == pytest.approx(row["motions"][motion], rel=0.2)
