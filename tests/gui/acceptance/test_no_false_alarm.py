"""Ordinary use is no fault: record, stop by Esc, mistype, place by hand, identify; the fault counter stays at 0."""

import pytest
from PySide6.QtCore import Qt

from bench_gui.app import make_window
from bench_gui.controller import Controller
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.place.placing import Stage
from bench_gui.shell.tasks import RECORD
from bench_gui.widgets.fields import refusals
from core.trajectories import make_trajectory
from drivers.servo import ServoState
from tests.gui.conftest import Person, dispose
from tests.waiting import FAST

RECORDED, STOPPED, REFUSED, PLACED, IDENTIFIED = 3, 2, 5, 1, 1
"""How often each is done."""


@pytest.fixture
def person(qtbot, tmp_path, monkeypatch):
    """At a simulated servo eight times as fast as a real one."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    controller = Controller(FAST)
    controller.servo.stop_lock = 0.0
    window = make_window(controller, "light", RECORD)
    window.show()
    yield Person(qtbot, window)
    window.leave()
    dispose(window, controller)


def idle(person):
    return person.state is ServoState.READY and not person.controller.servo.busy and not person.controller.queue.active


def stop(person):
    """Press Esc while a run is on, then go on."""
    person.controller.queue.record([make_trajectory("sin_sin", 600.0)])
    # The plot shows the run before until this one moves the servo.
    person.until(lambda: person.controller.servo.view.word == "MOVING" and person.window.record.live.count > 10)
    person.qtbot.keyClick(person.window.windowHandle(), Qt.Key.Key_Escape)
    person.until(lambda: person.controller.servo.view.word == "STOPPED" and not person.controller.servo.busy)
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: idle(person))


def mistype(person, text):
    """Type a number that the form does not take."""
    form = person.window.record.form
    field = form.field("duration")
    field.setFocus()
    field.selectAll()
    person.qtbot.keyClicks(field, text)
    person.qtbot.keyClick(field, Qt.Key.Key_Return)
    assert len(refusals(form)) == 1
    field.setValue(6.0)
    assert refusals(form) == []


def place(person):
    """Hold a torque, let the pendulum rest, keep where it rests, let go."""
    placing = person.controller.placing
    placing.hold()
    person.until(lambda: placing.stage is Stage.MEASURING and placing.level >= 1.0)
    placing.capture()
    placing.release()
    person.until(lambda: placing.stage is Stage.IDLE and idle(person))


def test_an_hour_of_ordinary_use_counts_no_fault(person):
    controller, window = person.controller, person.window
    fitting = controller.fitting
    person.connect()
    for _ in range(RECORDED):
        controller.queue.record([make_trajectory("sin_time_square", 2.0)])
        person.until(lambda: idle(person))
    for _ in range(STOPPED):
        stop(person)
    for number in range(REFUSED):
        mistype(person, str(1000 + number))
    person.qtbot.keyClick(window.windowHandle(), Qt.Key.Key_Escape)  # as one leaves a menu
    for _ in range(PLACED):
        place(person)
    for _ in range(IDENTIFIED):
        with person.qtbot.waitSignal(fitting.finished):
            controller.identifying.identify(FitSettings(models=("m1",), trials=96))
    assert len(controller.library.runs) == RECORDED + STOPPED
    assert controller.journal.unseen == 0
    assert not window.status_line.badge.isVisible()
    assert [entry.text for entry in controller.journal.entries if entry.level in ("fault", "error")] == []
