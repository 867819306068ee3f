"""While a number of a form is red, nothing starts: by its button, by menu, shortcut and command palette."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QFileDialog, QPushButton

from bench_gui.plots.export import PlotExport
from bench_gui.record.queue import RecordQueue
from bench_gui.shell.tasks import PLACE, RECORD
from bench_gui.state.servo_link import ServoLink
from bench_gui.widgets.fields import NumberBox, Refusing, WholeBox, refused_fields
from bench_gui.widgets.start_button import StartButton
from bench_gui.work.computation import Computation
from drivers.recorder import Recorder
from drivers.servo import ServoState

pytest_plugins = ["tests.gui.whole"]

FIRST_SEEN = RECORD
STARTERS = (
    (Computation, "start"),
    (Recorder, "launch"),
    (RecordQueue, "record"),
    (RecordQueue, "resume"),
    (RecordQueue, "add"),
    (ServoLink, "hold"),
    (QFileDialog, "exec"),
)


@pytest.fixture
def started(monkeypatch):
    """Names of what was started; nothing of it really starts."""
    names = []
    for owner, name in STARTERS:
        note = lambda *_, name=f"{owner.__name__}.{name}", **__: names.append(name)  # noqa: E731
        monkeypatch.setattr(owner, name, note)
    monkeypatch.setattr(QDialog, "exec", lambda _: 0)
    return names


def fields_of(button):
    return [
        box
        for form in button._forms
        for kind in (NumberBox, WholeBox)
        for box in form.findChildren(kind)
        if box.isVisibleTo(form) and box.isEnabled()
    ]


def redden(box):
    box.lineEdit().setText("1.000,5")
    box.settle()
    assert box.refusal


def test_every_start_button_names_the_refused_field_and_starts_nothing(whole, started):
    buttons = [button for button in whole.window.findChildren(StartButton) if fields_of(button)]
    assert len(buttons) >= 12
    for button in buttons:
        text = button.text()
        for box in fields_of(button):
            before = box.value()
            redden(box)
            assert button.text() == f"Correct {box.accessibleName()}", (text, box.accessibleName())
            assert box.refusal in button.toolTip()
            button.clicked.emit()
            box.setValue(before)
            assert (button.text(), started) == (text, []), box.accessibleName()


def test_every_primary_button_beside_number_fields_is_a_start_button(whole):
    """So that a new page cannot forget it."""
    for page in whole.window.pages:
        for holder in (page, page.inspector):
            for button in holder.findChildren(QPushButton):
                if button.property("kind") == "primary" and not isinstance(button, StartButton):
                    assert button.text() in PLAIN, button.text()


PLAIN = {"Connect", "Apply", "Add to the queue", "Apply fix", "Try 8 simulated servos", "Identify",
         "Next step", "Change it", "Record four runs (24 s)"}  # fmt: skip
"""Buttons that read no field, or that guard what they start elsewhere."""


def run_all_actions(window):
    """Do what menus, shortcuts and the palette offer on each page."""
    for page in window.pages:
        for spec in page.actions_offered():
            if spec.enabled is None or spec.enabled():
                spec.act()


def test_no_action_of_a_menu_starts_anything_while_numbers_are_refused(whole, started, monkeypatch):
    monkeypatch.setattr(PlotExport, "ask", lambda _: None)
    boxes = [box for kind in (NumberBox, WholeBox) for box in whole.window.findChildren(kind) if box.isEnabled()]
    before = {box: box.value() for box in boxes}
    for box in boxes:
        redden(box)
    run_all_actions(whole.window)
    assert {*started} <= {"QFileDialog.exec"}, "a file may be chosen"
    for box, value in before.items():
        box.setValue(value)
    run_all_actions(whole.window)
    assert {"Computation.start", "RecordQueue.add"} <= {*started}


# At a servo.


def type_into(box, text):
    """Type without leaving the field, as before a shortcut or a click on a button that takes no focus."""
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, text)


@pytest.mark.parametrize("way", ["button", "shortcut", "trajectory now", "list"])
def test_a_refused_amplitude_moves_nothing_and_is_named(person, way):
    person.connect()
    view, queue = person.window.record, person.controller.queue
    ways = {
        "button": lambda: person.click(view.run_button),
        "shortcut": lambda: QTest.keyClick(person.window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier),
        "trajectory now": view.start.record_chosen,
        "list": view.start.add,
    }
    amplitude = view.form.field("amplitude")
    type_into(amplitude, "4")
    ways[way]()
    assert not queue.active
    assert not queue.waiting
    assert (amplitude.text(), view.run_button.text()) == ("4 rad", "Correct Amplitude")
    assert queue.obstacle.startswith("Amplitude: At most 3.1416 rad; still")
    assert person.state is ServoState.READY
    type_into(amplitude, "0,4")
    ways[way]()
    runs = queue.waiting or (queue.running,)
    assert runs[0].trajectory.parameters.numbers()["amplitude"] == 0.4, "what is typed is what moves"
    queue.abort()
    person.until(lambda: not queue.active)


@pytest.mark.parametrize("text", ["1,5", "0", "0.3, x", "1.000,5"])
def test_refused_torques_are_not_held(person, text):
    person.connect()
    person.window.show_task(PLACE)
    view = person.window.page(PLACE)
    view.torque_form.torques.setFocus()
    view.torque_form.torques.selectAll()
    QTest.keyClicks(view.torque_form.torques, text)
    person.click(view.go_button)
    assert not person.controller.placing.active
    assert view.go_button.text() == "Correct Motor torques"
    assert refused_fields(view.inspector) == [view.torque_form.torques]
    view._hold()
    assert not person.controller.placing.active


def test_a_refused_list_of_the_plan_adds_no_runs(person):
    person.window.show_task(RECORD)
    plan, queue = person.window.record.plan, person.controller.queue
    masses = plan.fields["masses"]
    assert isinstance(masses, Refusing)
    masses.setText("1,5")
    masses.setModified(True)
    for add in (plan.add_button.click, plan.add_missing):
        add()
        assert (queue.waiting, masses.property("refused")) == ((), "yes")
    assert plan.add_button.text() == "Correct Loads"
    masses.setText("1,5; 2")
    masses.setModified(True)
    plan.add_missing()
    assert {run.header.bench.mass for run in queue.waiting} == {1.5, 2.0}
