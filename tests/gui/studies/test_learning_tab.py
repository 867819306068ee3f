"""The Learning tab: the paper's arm at first sight, iterations to look at, stopping, what went wrong, and the file."""

import csv
import subprocess
import sys

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QComboBox, QFileDialog

from bench_gui.shell.tasks import BENCH, EXPLORE
from bench_gui.studies.learning.form import FILE, SINE, LearningForm
from bench_gui.studies.learning.plots import FIRST, INPUT, JOINT_KEYS, LINK, REFERENCE, TOLERANCE
from core.errors import InputError, ModelError
from core.studies.compliant.arm import IDENTIFIED, TWO_JOINTS
from core.studies.compliant.learning import LearningLaw
from core.units import DEGREES, RADIANS

FIRST_SEEN = BENCH


@pytest.fixture
def form(qtbot):
    made = LearningForm(RADIANS)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def tab(person):
    """Not yet in sight."""
    person.window.show_task(EXPLORE)
    return person.window.explore.learning


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


def test_what_is_entered_is_asked(form):
    form.gain.setValue(0.7)
    form.decay.setValue(5.0)
    form.most.setValue(4)
    form.tolerance.setValue(0.02)
    form.goals[1].setValue(-0.4)
    form.duration.setValue(5.0)
    form.presets[0].setValue(0.3)
    form.load.setValue(0.5)
    form.load_at.setValue(0.1)
    form.gravity.setChecked(False)
    job = form.job()

    assert job.law == LearningLaw(gain=0.7, decay=5.0, tolerance=0.02, iterations=4)
    np.testing.assert_allclose(job.reference.angles[-1], [0.8, -0.4])
    assert job.arm.presets == (0.3, 0.2)
    assert job.arm.links.gravity == 0.0
    assert (job.arm.links.masses[1], job.arm.links.centres[1]) == (0.5, 0.1)
    assert job.arm.links.inertias[1] == pytest.approx(1e-3 + 0.5 * 0.1**2)


def test_degrees_change_what_is_seen_and_not_what_is_asked(form):
    before = form.job().reference.angles
    form.show_in(DEGREES)

    assert form.goals[0].value() == pytest.approx(45.84)
    assert form.goals[0].suffix() == " °"
    np.testing.assert_array_equal(form.job().reference.angles, before)


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
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    form.file_button.click()

    assert form.obstacle == ""
    np.testing.assert_allclose(form.job().reference.angles[:, 0], [0.0, 0.1, 0.3])


def test_everything_says_what_it_is(form):
    for kind in (QAbstractButton, QAbstractSpinBox, QComboBox):
        for widget in form.findChildren(kind):
            assert widget.accessibleName(), widget
            assert widget.toolTip(), widget.accessibleName()


# The tab.


def test_neither_the_tab_nor_an_answer_brings_the_compiler_into_the_window_s_process():
    script = (
        "import pickle, sys\n"
        "import numpy as np\n"
        "import bench_gui.studies.learning.tab\n"
        "from core.studies.compliant.learning import Iteration\n"
        "zero = np.zeros((2, 2))\n"
        "each = Iteration(number=1, equilibrium=zero, link_equilibrium=zero, position=zero, error=zero)\n"
        "pickle.loads(pickle.dumps(each))\n"
        "print([m for m in ('numba', 'scipy', 'mujoco', 'matplotlib') if m in sys.modules])\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"


def test_a_person_sees_the_paper_s_arm_learn_and_keeps_its_input(person, tab, tmp_path, monkeypatch):
    tab.form.duration.setValue(4.0)
    person.window.explore.show_tab(tab)
    assert not tab.running.active, "nothing is computed before it is asked for"
    assert "press Learn" in tab.status.text()
    person.click(tab.learn_button)
    person.until(lambda: learned(tab))
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
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(file.with_suffix("")), ""))
    tab.iteration.setValue(count)
    person.click(tab.write_button)
    rows = list(csv.reader(file.read_text().splitlines()))
    np.testing.assert_allclose(np.array(rows[1:], dtype=float)[:, 1:], tab.shown.equilibrium, atol=1e-8)
    assert "written" in person.message

    # Other settings make what is seen outdated, until it is learned anew.
    tab.form.gain.setValue(8.0)
    tab.form.duration.setValue(2.0)
    assert "learn again" in tab.status.text()
    person.click(tab.learn_button)
    person.until(lambda: learned(tab))
    assert tab.status.text().startswith("It diverges")
    assert tab.status.property("role") == "fault"


def test_a_stop_keeps_what_was_learned_and_nonsense_is_refused(person, tab):
    tab.form.most.setValue(100)
    tab.form.tolerance.setValue(0.001)
    tab.form.duration.setValue(120.0)
    person.window.explore.show_tab(tab)
    person.click(tab.learn_button)
    assert not tab.learn_button.isEnabled()
    person.until(lambda: len(tab.running.iterations) >= 2)
    person.click(tab.stop_button)
    kept = len(tab.running.iterations)

    assert not tab.running.active
    assert 2 <= kept < 100
    assert tab.status.text().startswith(f"Stopped after {kept} iterations")
    assert tab.learn_button.isEnabled()
    assert tab.iteration.maximum() == kept

    # What cannot be asked is said, and nothing runs.
    tab.form.presets[0].setValue(2.0)
    person.click(tab.learn_button)
    assert "must lie within" in person.message
    assert not tab.running.active
