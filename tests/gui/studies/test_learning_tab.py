"""The Learning tab: the paper's arm at first sight, iterations to look at, stopping, what went wrong, and the file."""

import csv

import numpy as np
import pyqtgraph as pg
import pytest

from bench_gui import file_dialogs
from bench_gui.controller import Controller
from bench_gui.studies.learning.form import FILE, SINE, LearningForm
from bench_gui.studies.learning.plots import FIRST, INPUT, JOINT_KEYS, LINK, REFERENCE, TOLERANCE
from bench_gui.studies.learning.tab import LearningTab
from core.base.errors import InputError, ModelError
from core.base.units import RADIANS
from core.studies.compliant.arm import IDENTIFIED, TWO_JOINTS
from core.studies.compliant.learning import LearningLaw


@pytest.fixture
def form(qtbot):
    made = LearningForm(RADIANS)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def tab(qtbot, tmp_path, monkeypatch):
    """The tab alone, in sight, its processes listened to as the window does."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    controller = Controller()
    made = LearningTab(controller)
    for widget in (made, made.settings, made.buttons):
        qtbot.addWidget(widget)
        widget.show()
    made.entered()
    yield made
    controller.close()


def learned(tab):
    return bool(tab.running.iterations) and not tab.running.active


def choose(box, data):
    box.setCurrentIndex(box.findData(data))


# The form.


def test_it_asks_for_the_seed_s_learning_at_first(form):
    """Seed 003, section 4.3."""
    job = form.job()

    assert job.law == LearningLaw()
    assert job.arm.actuators == IDENTIFIED
    assert job.arm.presets == (0.2, 0.2)
    assert job.arm.links == TWO_JOINTS
    assert job.reference.duration == pytest.approx(20.0)
    np.testing.assert_allclose(job.reference.angles[-1], [0.8, 0.8])


def test_fields_are_those_of_the_springs_and_of_the_motion(form):
    choose(form.springs, "awas2")
    assert [box.suffix() for box in form.presets] == [" m", " m"]
    assert all(box.isVisible() for box in form.presets)
    assert form.job().arm.presets == (0.005, 0.005)
    choose(form.springs, "sea")
    assert not any(box.isVisible() for box in form.presets)
    assert not form.rate.isVisible()
    choose(form.motion, SINE)
    assert form.rate.isVisible()


def test_a_preset_that_no_spring_has_is_named(form):
    form.presets[1].setValue(2.0)

    with pytest.raises(ModelError, match="stiffness preset 2 rad"):
        form.job()


def test_a_motion_from_a_file_needs_its_file(form, tmp_path, monkeypatch):
    choose(form.motion, FILE)
    assert "choose its file" in form.obstacle
    with pytest.raises(InputError, match="choose its file"):
        form.job()
    file = tmp_path / "motion.csv"
    file.write_text("time,q1,q2\n0,0,0\n0.1,0.1,0\n0.2,0.3,0\n")
    monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([str(file)], ""))
    form.file_button.click()

    assert form.obstacle == ""
    np.testing.assert_allclose(form.job().reference.angles[:, 0], [0.0, 0.1, 0.3])


# The tab.


def test_a_person_sees_the_paper_s_arm_learn_and_keeps_its_input(qtbot, tab, tmp_path, monkeypatch):
    tab.form.duration.setValue(2.0)
    assert not tab.running.active, "nothing is computed before it is asked for"
    assert "press Learn" in tab.status.text()
    tab.learn_button.click()
    assert tab.plots.joint_1.empty_text == tab.status.text() == "Loading the program…"
    qtbot.waitUntil(lambda: learned(tab))
    count = len(tab.running.iterations)

    assert count <= 11
    assert tab.status.text().startswith(f"Learned in {count} iterations")
    assert tab.shown is tab.running.iterations[-1], "the last one is in sight"
    assert set(tab.plots.keys) == {*JOINT_KEYS, TOLERANCE, REFERENCE, INPUT, LINK, FIRST}
    assert {spec.text.replace("&", "") for spec in tab.actions_offered()} >= {"Learn the motion", "Stop learning"}
    (errors,) = [c for c in tab.plots.by_iteration.seen() if "joint 1" in c.name]
    np.testing.assert_allclose(errors.y, [1e3 * each.worst[0] for each in tab.running.iterations])

    # An earlier iteration, by its point and by its number.
    tab.plots.chosen.emit(2)
    assert tab.shown is tab.running.iterations[1]
    assert [x.value() for x in tab.plots.by_iteration.drawn if isinstance(x, pg.InfiniteLine)] == [2.0]
    (link,) = [c for c in tab.plots.joint_1.seen() if c.name == "Link"]
    np.testing.assert_array_equal(link.y, tab.running.iterations[1].position[:, 0])
    tab.iteration.setValue(1)
    assert FIRST not in tab.plots.keys, "the first is not drawn twice"

    # Its input, for the real arm.
    file = tmp_path / "input.csv"
    monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([str(file.with_suffix(""))], ""))
    tab.iteration.setValue(count)
    with qtbot.waitSignal(tab._controller.message) as said:
        tab.write_button.click()
    rows = list(csv.reader(file.read_text().splitlines()))
    np.testing.assert_allclose(np.array(rows[1:], dtype=float)[:, 1:], tab.shown.equilibrium, atol=1e-8)
    assert "written" in said.args[1]

    # Other settings make what is seen outdated, until it is learned anew.
    tab.form.gain.setValue(8.0)
    assert "learn again" in tab.status.text()
    tab.learn_button.click()
    qtbot.waitUntil(lambda: learned(tab))
    assert tab.status.text().startswith("It diverges")
    assert tab.status.property("role") == "fault"


def test_a_stop_keeps_what_was_learned_and_nonsense_is_refused(qtbot, tab):
    tab.form.most.setValue(100)
    tab.form.tolerance.setValue(0.001)
    tab.form.duration.setValue(60.0)
    tab.learn_button.click()
    assert not tab.learn_button.isEnabled()
    qtbot.waitUntil(lambda: len(tab.running.iterations) >= 2)
    tab.stop_button.click()
    kept = len(tab.running.iterations)

    assert not tab.running.active
    assert 2 <= kept < 100
    assert tab.status.text().startswith(f"Stopped after {kept} iterations")
    assert tab.learn_button.isEnabled()
    assert tab.iteration.maximum() == kept

    # What cannot be asked is said, and nothing runs.
    tab.form.presets[0].setValue(2.0)
    with qtbot.waitSignal(tab._controller.message) as said:
        tab.learn_button.click()
    assert "must lie within" in said.args[1]
    assert not tab.running.active
