"""Joints of a robot on the pages Compare and Export: the SO-101 that ships, with quick models of two of its joints."""

import math
import shutil

import pytest
from PySide6.QtCore import Qt

from bench_gui.compare.view import ERRORS, MODELS
from bench_gui.shell.tasks import COMPARE, EXPORT
from bench_gui.work import simulations
from core.identification.request import IdentificationRequest
from sessions import Session
from sessions.folders import example_session
from sessions.results.folder import FOLDER
from sessions.results.robot import errors_by_motion, identify_robot, newest_robot, read_robot
from tests.kept import kept

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

FIRST_SEEN = COMPARE
JOINTS = ("elbow_flex", "wrist_roll")
KEYS = tuple(f"identified:{joint}:m1" for joint in JOINTS)
CATALOGUE = "catalogue:sts3215:m6"


def motions(session, joints=JOINTS):
    from core.robot.chain import Chain
    from core.robot.runs import robot_runs

    return robot_runs(Chain(session / "robot.urdf"), Session.open(session).load_for_fit(), joints)


def quick_models(folder):
    """M1 of two joints, after some moments of search."""
    session = shutil.move(example_session(folder, "example-so101"), folder / "arm")
    request = IdentificationRequest(servo="sts3215", models=("m1",), trials=16, prior=20.0)
    identify_robot(Session.open(session), motions(session), session / "robot.urdf", request, session / FOLDER / "a")


@pytest.fixture
def arm(tmp_path):
    """A private copy of the session with models."""
    return shutil.copytree(kept(quick_models) / "arm", tmp_path / "arm")


def judged(person):
    known, wanted = person.controller.comparison.judged
    return wanted > 0 and known == wanted


def test_runs_of_joints_are_compared_below_their_loads(person, arm):
    comparison, view = person.controller.comparison, person.window.compare
    person.open(arm)
    person.window.show_task(COMPARE)
    # The robot's models are chosen once they are read, beside the catalogue's richest.
    person.until(lambda: comparison.chosen == (*KEYS, CATALOGUE))
    assert [view.boxes[key].text() for key in KEYS] == ["elbow_flex: M1", "wrist_roll: M1"]
    assert view.next_button.text() == "Export"
    person.click(view.tabs.buttons[ERRORS])
    person.until(lambda: judged(person))

    runs, known = motions(arm), read_robot(arm / FOLDER / "a")
    table = view.errors.table
    cells = [[table.data(table.index(row, c)) for c in range(table.columnCount())] for row in range(table.rowCount())]
    assert [table.headerData(c, Qt.Orientation.Horizontal) for c in (2, 3)] == ["elbow_flex: M1", "wrist_roll: M1"]
    for place, joint in enumerate(JOINTS):
        # The figures of bench robot evaluate, in the rows of this joint alone.
        truth = errors_by_motion(runs, joint, known.model(joint)).values()
        shown = {}
        for cell in cells[1:]:
            shown.setdefault(cell[1].split("  ")[1], []).append(cell[2 + place])
        assert [float(text) for text in shown.pop(joint)] == pytest.approx([1e3 * each for each in truth], rel=0.01)
        assert {text for texts in shown.values() for text in texts} == {"–"}
    assert all(math.isfinite(float(cell[4])) for cell in cells), "the catalogue's model is of any joint"
    assert not any(table.cell_at(0, column).tone for column in (2, 3, 4)), "the means are of other runs"

    person.click(view.tabs.buttons[MODELS])
    view.models.groups.setCurrentText("fit, held out")
    assert [name.split("\n") for name in view.models.chart.panel.groups][:2] == [
        ["training", "6 runs"],
        ["validation", "2 runs"],
    ]

    # A single run: the models of its joint, over its motion.
    run = next(run for run in person.controller.library.runs if run.joint == "wrist_roll")
    view.show_run(run.id)
    person.controller.library.select([run.id])
    person.until(lambda: [entry.key for entry in comparison.picture.models] == [KEYS[1], CATALOGUE])
    person.until(lambda: not comparison.waiting)
    (simulated,) = comparison.picture.overlays.runs
    assert list(simulated.position) == [KEYS[1], CATALOGUE]
    assert view.plots.cells[0].title.text().endswith("wrist_roll")
    view.overlay.play()
    person.until(lambda: view.overlay.playback.time > 0.1)
    assert len(view.overlay.playback.pendulum.others) == 2
    assert person.message == ""


def test_without_the_robots_file_one_line_names_the_remedy(person, arm):
    shutil.rmtree(arm / FOLDER)
    (arm / "robot.urdf").unlink()
    person.open(arm)
    person.window.show_task(COMPARE)
    person.until(lambda: "not known without the robot's file" in person.message)
    assert person.message.count("robot.urdf") == 1
    person.until(lambda: len(person.window.compare.plots.shown) > 0)  # as measured


def test_loads_follow_the_robots_file_and_the_used_parts(arm):
    """They are cached, but not beyond a change of either."""
    session = Session.open(arm)
    models = dict(zip(JOINTS, newest_robot(arm).models, strict=True))
    runs = {joint: [run.id for run in session.runs() if run.joint == joint] for joint in JOINTS}
    first = simulations.errors(arm, runs, models)
    assert first.problems == ()
    assert simulations.errors(arm, runs, models).mae == first.mae

    # The load on the elbow depends on the wrist: without it, the motion has none.
    out = runs["wrist_roll"][0]
    session.revise([out], lambda _, noted: type(noted)(excluded=True))
    without = simulations.errors(arm, runs, models).mae["elbow_flex"]
    lost, *others = runs["elbow_flex"]
    assert math.isnan(without[lost])
    assert [without[run] for run in others] == [first.mae["elbow_flex"][run] for run in others]
    (problem,) = simulations.errors(arm, {"elbow_flex": [lost]}, {"elbow_flex": models["elbow_flex"]}).problems
    assert "none of these runs is of joint elbow_flex with a known load" in problem

    file = read_robot(arm / FOLDER / "a").file
    file.write_text("<robot/>")
    # One line for both joints.
    (problem,) = simulations.errors(arm, runs, models).problems
    assert file.name in problem


def test_the_model_of_a_joint_is_exported_with_its_recorded_gain(person, arm):
    person.controller.exporting.learn_targets()
    person.open(arm)
    person.window.show_task(EXPORT)
    view, gain = person.window.export, person.window.export.form.fields["kp"]
    person.until(lambda: view.model.findData(KEYS[1]) >= 0 and view.target.count() > 0)
    assert not view.whole_robot.isVisible()
    view.choose_target("json")
    view.model.setCurrentIndex(view.model.findData(KEYS[1]))
    view.model.activated.emit(view.model.currentIndex())
    assert view.model.currentText() == "sts3215  wrist_roll: M1 identified"
    assert gain.value() == motions(arm).joints["wrist_roll"][0].settings.kp
    assert f"bench robot export {arm / FOLDER / 'a'} --to TARGET" in view.whole_robot.text()
    person.until(lambda: view.export_button.isEnabled())
    assert '"joint": "wrist_roll"' in view.text.toPlainText()
