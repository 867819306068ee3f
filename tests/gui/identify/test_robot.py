"""Joints of an assembled robot on the Identify page: the SO-101 that ships, two of its joints with a tiny search."""

import json
import shutil

import pytest

from bench_gui.identify.robot.form import RobotForm
from bench_gui.identify.robot.panel import EMPTY, ERRORS, MOTIONS
from bench_gui.shell.tasks import IDENTIFY
from core.base.sealed import parse_sealed
from core.base.units import milliradians
from sessions.folders import example_session
from sessions.results.folder import write_file
from sessions.results.robot import ROBOT, newest_robot, read_robot

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

FIRST_SEEN = IDENTIFY
JOINTS = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"]


@pytest.fixture
def robot(tmp_path):
    """A private copy of the robot's session."""
    return example_session(tmp_path, "example-so101")


@pytest.fixture
def panel(person, robot):
    """The panel of the robot, set to a search that takes moments."""
    person.open(robot)
    person.window.show_task(IDENTIFY)
    panel = person.window.identify.robot
    person.until(panel.isVisible)
    panel.form.models.check(("m1",))
    panel.form.trials.setValue(16)
    for joint in JOINTS[:3]:
        panel.form.joints[joint].click()
    return panel


def rows(panel, place):
    return [[cell.text for cell in row] for row in panel.parts.tables[place].rows]


def titles(panel):
    return [column.title for column in panel.parts.tables[ERRORS].columns]


def test_joints_are_identified_evaluated_and_shown_again(person, panel, robot, session):
    view, work = person.window.identify, panel.work
    assert panel.progress.status.text() == EMPTY
    assert panel.form.file == robot / "robot.urdf"
    assert panel.form.checked == ("wrist_flex", "wrist_roll")
    assert not panel.whole_button.isEnabled()
    # Two runs are selected to look at them: all joints are still identified, from all motions.
    person.controller.library.select([run.id for run in person.controller.library.runs[:2]])
    assert [*panel.form.joints] == JOINTS
    person.click(panel.start_button)
    assert not panel.form.isEnabled()
    assert [line.split(";")[0] for line in person.controller.busy()] == ["an identification of joints"]
    person.until(lambda: work.excited is not None)
    # What the motions can tell comes before the fit.
    assert work.kept is None
    assert [row[:2] for row in rows(panel, MOTIONS)] == [["wrist_flex", "−20 to 20"], ["wrist_roll", "−25 to 28"]]
    assert panel.parts.words.text() == "Gripper is not recorded: it rests at the file's zero."
    person.until(lambda: not work.active)
    assert work.problem == ""

    (folder,) = (robot / "results").iterdir()
    known = read_robot(folder)
    assert [*known.joints] == ["wrist_flex", "wrist_roll"]
    (held,) = known.held_out
    assert panel.parts.words.text() == f"Held out: {held} (1 of 4 motions), in {folder.name}."
    before = rows(panel, ERRORS)
    for row, (joint, errors) in zip(before, known.errors.items(), strict=True):
        assert row[:2] == [joint, "M1"]
        assert float(row[3]) == pytest.approx(1e3 * errors[held], rel=0.01)
        worst = max(errors, key=errors.__getitem__)
        assert row[5] == f"{milliradians(errors[worst])}, {worst}"

    person.click(panel.whole_button)
    person.until(lambda: not work.active)
    assert work.problem == ""
    assert titles(panel)[4] == "Whole [mrad]"
    assert [float(row[4]) for row in rows(panel, ERRORS)] == [
        pytest.approx(1e3 * work.whole[joint], rel=0.01) for joint in known.joints
    ]

    # Another session has its own page, and the robot's shows the stored result.
    person.open(session)
    person.until(lambda: not panel.isVisible())
    assert (view.form.isVisible(), view.start_button.isEnabled()) == (True, True)
    person.open(robot)
    person.until(lambda: work.kept is not None and panel.isVisible())
    assert rows(panel, ERRORS) == before
    assert not view.form.isVisible()
    assert "robot" in view.start_button.toolTip()


def test_what_was_chosen_is_there_again_for_this_session(person, panel, robot, session, tmp_path):
    other = shutil.copy(robot / "robot.urdf", tmp_path / "other.urdf")
    panel.form.take_file(other)
    person.open(session)
    state = json.loads(json.dumps(panel.form.state()))
    again = RobotForm()
    again.restore(state)
    assert again.fit.values() == {"models": ("m1",), "trials": 16}
    again.offer(session, [])
    again.offer(robot, JOINTS)
    assert (again.file, again.checked) == (other, ("wrist_flex", "wrist_roll"))
    # Another robot begins as it always does.
    again.offer(tmp_path, JOINTS)
    assert (again.file, list(again.checked)) == (None, JOINTS)
    with pytest.raises(ValueError, match="unpack"):
        again.restore(state | {"robot": ["no file"]})


def test_one_search_runs_at_a_time(person, panel, session):
    """A search in a session that is open no longer keeps the others waiting."""
    panel.form.trials.setValue(5_000_000)
    person.click(panel.start_button)
    view, words = person.window.identify, "Not possible: work on the joints of a robot is under way"
    person.open(session)
    person.until(lambda: view.start_button.isVisible())
    for search in (view, view.evidence.crossvalidation, view.evidence.certainty):
        assert search.start_button.toolTip().startswith(words)
        assert not search.start_button.isEnabled()
    panel.work.stop()
    person.until(lambda: not panel.work.active)
    assert view.evidence.crossvalidation.start_button.isEnabled()


def test_joints_wait_for_an_identification_on_the_bench(person, robot, identified, tmp_path):
    person.open(shutil.copytree(identified, tmp_path / "bench"))
    person.window.show_task(IDENTIFY)
    view = person.window.identify
    view.form.set_option("trials", 5_000_000)
    person.click(view.start_button)
    person.open(robot)
    panel = view.robot
    person.until(panel.isVisible)
    assert panel.start_button.toolTip() == "Not possible: an identification is running; wait for it or stop it"
    assert panel.check_button.isEnabled()
    person.controller.fitting.stop()
    person.until(lambda: not person.controller.fitting.active)
    assert panel.start_button.isEnabled()


def test_a_report_of_the_selected_joint_is_opened(person, panel, robot, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "bench_gui.identify.view.QDesktopServices.openUrl", lambda url: opened.append(url.toLocalFile())
    )
    person.click(panel.start_button)
    person.until(lambda: not panel.work.active)
    panel.parts.view.selectRow(1)
    person.click(panel.report_button)
    person.until(lambda: not panel.work.active)
    assert panel.work.problem == ""
    (folder,) = (robot / "results").iterdir()
    assert opened == [str(folder / "wrist_roll" / "report.html")]
    assert not (folder / "wrist_flex" / "report.html").exists()
    # Results of earlier versions state no errors by motion.
    data = parse_sealed((folder / ROBOT).read_text())
    for row in data["joints"].values():
        del row["errors"]
    write_file(folder, ROBOT, data)
    stored = newest_robot(robot)
    assert stored is not None
    assert [row.worst for row in stored.rows] == [None, None]


def test_a_stop_keeps_the_joints_found_so_far(person, panel, robot):
    panel.form.joints["wrist_roll"].click()
    stop_a_search(person, panel)
    assert [row[0] for row in rows(panel, ERRORS)] == ["wrist_flex"]


def test_a_stop_before_the_first_joint_finds_nothing(person, panel, robot):
    stop_a_search(person, panel)
    assert not rows(panel, ERRORS)


def stop_a_search(person, panel):
    panel.form.trials.setValue(5_000_000)
    with person.qtbot.waitSignal(panel.work.progressed):
        person.click(panel.start_button)
    person.until(lambda: "mrad" in panel.progress.status.text())
    person.click(panel.stop_button)
    person.until(lambda: not panel.work.active)
    assert panel.work.problem == ""


def test_obstacles_and_mix_ups_are_named(person, panel, tmp_path):
    panel.form.models.check(())
    assert panel.start_button.toolTip() == "Not possible: no model is checked; check at least one"
    assert panel.check_button.isEnabled()
    (tmp_path / "other.xml").write_text(
        '<mujoco><worldbody><body><joint name="lift"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    panel.form.take_file(tmp_path / "other.xml")
    person.click(panel.check_button)
    person.until(lambda: not panel.work.active)
    assert "shoulder_pan" in panel.progress.status.text()
    panel.form.take_file(None)
    assert panel.check_button.toolTip() == "Not possible: choose the robot's file"
