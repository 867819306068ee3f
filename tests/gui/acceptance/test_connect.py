"""Acceptance of connecting and setting up: each function is named after its row of the window's acceptance table."""

import math

import pytest
from PySide6.QtCore import Qt

from bench_gui.shell.tasks import BENCH
from bench_gui.widgets.fields import AngleBox
from core.base.units import DEGREES
from core.motion.trajectories import make_trajectory
from drivers.registry import FAMILIES
from drivers.servo import ServoState
from tests.drivers.silent_family import IDS
from tests.gui.test_columns import row_of
from tests.waiting import FAST

XL330 = "simulated:xl330"
QUICK = 0.01
"""How long the silent family waits for an answer [s]."""


@pytest.fixture
def silent(monkeypatch):
    """A second family of servos, of which none answers; there before the window is."""
    monkeypatch.setitem(FAMILIES, "silent", "tests.drivers.silent_family")


def choose(person, box, data):
    """Take an entry of a list as a person does."""
    place = box.findData(data)
    assert place >= 0
    person.until(lambda: box.isVisible() and box.isEnabled())
    box.setCurrentIndex(place)
    box.activated.emit(place)


def describe_silent_servo(person):
    person.window.show_task(BENCH)
    form = person.window.bench.connection
    choose(person, form.family, "silent")
    choose(person, form.fields["baud"], "1000000")
    form.fields["id"].setValue(7)
    form.fields["patience"].setValue(QUICK)
    return form


def test_connect(silent, person):
    """Bar: connected only after an answer; the failure names step and remedy."""
    form = describe_silent_servo(person)
    seen = []
    person.controller.servo.changed.connect(lambda view: seen.append((view.state, view.word)))
    button = person.window.bench.connect_button
    person.click(button)
    person.until(lambda: form.failure.isVisible())
    reason = form.failure.text()
    assert reason.startswith("Connecting the servo failed")
    assert "No answer to the ping of ID 7 on QUIET0 at 1000000 baud" in reason
    assert "check the power supply, the cable" in reason
    assert "No answer" in person.message
    assert {state for state, _ in seen} == {ServoState.DISCONNECTED}
    assert {word for _, word in seen} == {"CONNECTING", "OFF"}
    assert person.controller.servo.identity is None
    # The form is as it was typed, and can be mended at once.
    assert form.address() == "silent:QUIET0?baud=1000000&id=7&patience=0.01"
    person.until(lambda: button.text() == "Connect")
    assert form.fields["id"].isEnabled()
    choose(person, form.family, "simulated")
    assert not form.failure.isVisible()
    person.click(button)
    person.until(lambda: person.state is ServoState.READY)


def test_scan(silent, person):
    """Bar: shows what was tried; Cancel within 0.3 s; what is found is taken."""
    form = describe_silent_servo(person)
    view, scanning = person.window.bench, person.controller.connecting.scanning
    form.fields["patience"].setValue(60.0)
    person.click(form.scan_button)
    assert not view.scan_dialog.use_button.isEnabled()
    person.until(lambda: person.controller.background.busy)
    person.click(view.scan_dialog.cancel_button)
    assert view.scan_dialog is None
    assert not scanning.active
    # Its thread ends within one look at the cancellation, not after the minute it would wait for an answer.
    person.until(lambda: not person.controller.background.busy)

    form.fields["patience"].setValue(QUICK)
    person.click(form.scan_button)
    person.until(lambda: not scanning.active)
    tried = view.scan_dialog.tried_model
    assert tried.rowCount() == 2 * len(IDS)
    assert tried.item(4, 0).text() == f"QUIET0, 57600 baud, ID {IDS[4]}"
    assert tried.item(4, 1).text() == "no answer"
    assert view.scan_dialog.found_model.rowCount() == 0
    assert "Nothing answered (40 tried). Check power" in view.scan_dialog.state.text()
    person.click(view.scan_dialog.cancel_button)

    choose(person, form.family, "simulated")
    person.click(form.scan_button)
    person.until(lambda: not scanning.active)
    found = view.scan_dialog.found_model
    view.scan_dialog.found.selectRow([row_of(found, row)["Address"] for row in range(found.rowCount())].index(XL330))
    person.click(view.scan_dialog.use_button)
    assert view.scan_dialog is None
    assert form.address() == XL330 == person.controller.servo.address

    # A scan that would take minutes does not keep the window from closing.
    choose(person, form.family, "silent")
    form.fields["patience"].setValue(60.0)
    person.click(form.scan_button)
    person.until(lambda: person.controller.background.busy)
    person.controller.close()
    assert not scanning.active


def test_dirty_state(person):
    """Bar: unapplied edits marked, a diff before the write, refused in motion."""
    person.window.show_task(BENCH)
    person.click(person.window.bench.connect_button)
    person.until(lambda: person.state is ServoState.READY)
    card = person.window.bench.card
    controller = person.controller
    assert not card.write_button.isEnabled()
    had = controller.servo.limits

    card.fields["kp"].setValue(8)
    card.fields["highest_position"].setValue(1.5)
    assert card.state.text() == "● 2 unwritten changes"
    assert controller.servo.limits == had
    assert controller.setup.kp == 16
    controller.undo.undo()
    assert card.state.text() == "● 1 unwritten change"
    controller.undo.redo()

    # In motion nothing can be written, and the reason is said; a question that is open cannot be answered with yes.
    person.click(card.write_button)
    controller.queue.record([make_trajectory("sin_sin", 600.0)])
    person.until(lambda: person.state is ServoState.ENABLED)
    person.until(lambda: not card.write_button.isEnabled())
    assert "moving" in card.write_button.toolTip()
    assert "moving" in card.state.text()
    person.until(lambda: not card.dialog.write_button.isEnabled())
    assert "moving" in card.dialog.reason.text()
    controller.queue.abort()
    person.until(lambda: card.dialog.write_button.isEnabled())
    person.click(card.dialog.cancel_button)
    assert controller.servo.limits == had

    person.click(card.write_button)
    with person.qtbot.waitSignal(controller.servo.configured):
        person.click(card.dialog.write_button)
    assert controller.servo.written.kp == 8
    assert controller.servo.limits.highest_position == 1.5
    assert controller.setup.kp == 8
    assert card.state.text() == ""

    # Every angle of the page is shown in the unit a person chose, and no value changes by it.
    card.fields["torque"].setValue(1.0)
    view, now, edits = person.window.bench, controller.setup.now, dict(card.draft.edits)
    controller.set_angle_unit(DEGREES)
    boxes = [box for box in view.findChildren(AngleBox) if box.window() is person.window]
    boxes += view.inspector.findChildren(AngleBox)
    assert len(boxes) >= 5
    assert all("°" in box.suffix() for box in boxes)
    assert card.fields["highest_position"].value() == pytest.approx(math.degrees(1.5), abs=0.01)
    assert (controller.setup.now, card.draft.edits) == (now, edits)

    person.click(card.discard_button)
    assert card.state.text() == ""
    assert card.fields["torque"].value() == pytest.approx(had.torque)


def test_zeroing(person):
    """Bar: sweep first, zero after; an unmoved joint is refused at once. The truth: mounted 0.1 rad off."""
    person.controller.connecting.choose_servo(FAST)
    person.window.show_task(BENCH)
    person.click(person.window.bench.connect_button)
    person.until(lambda: person.state is ServoState.READY)
    mount(person, angle_offset=0.1)
    bench, panel = person.controller.setup, person.window.bench.zero

    person.click(person.window.bench.zero_button)
    person.until(lambda: math.isfinite(panel.zeroing.position))
    assert "Confirmed by the servo" in panel.motor.text()
    # What is left of the run's motion is no sweep.
    person.until(lambda: panel.zeroing.steadiness == 1.0)
    person.click(panel.again_button)
    person.until(lambda: math.isfinite(panel.zeroing.position))
    person.click(panel.sweep_button)
    assert panel.error.isVisible()
    assert "has not moved" in panel.error.text()
    assert panel.sweep_button.isEnabled()
    assert not panel.apply_button.isEnabled()

    for button in panel.push_buttons:
        push(person, button, 0.5)
    person.click(panel.sweep_button)
    assert panel.error.text() == ""
    assert not panel.sweep_button.isEnabled()
    for _ in range(2):
        for button in panel.push_buttons:
            rests = len(panel.zeroing.rests)
            push(person, button, 0.4)
            person.until(lambda rests=rests: len(panel.zeroing.rests) > rests)
    person.until(panel.apply_button.isEnabled)
    zero = panel.zero
    assert abs(zero.angle + 0.1) <= zero.uncertainty + 0.01
    assert zero.band > 0.02
    person.click(panel.apply_button)
    assert bench.bench.angle_offset == pytest.approx(-zero.angle)
    assert person.window.bench.form.offset.radians == pytest.approx(-zero.angle)
    assert person.window.bench.card.isVisible()
    person.controller.undo.undo()
    assert bench.bench.angle_offset == 0.0


def mount(person, **values):
    """Hang the simulated pendulum on its servo like this, which a run does, and forget how."""
    controller = person.controller
    before = {name: getattr(controller.setup.bench, name) for name in values}
    controller.setup.set_bench(**values)
    person.window.record.form.field("duration").setValue(0.3)
    ended = []
    controller.queue.ended.connect(ended.append)
    controller.queue.record([person.window.record.form.trajectory()])
    person.until(lambda: bool(ended) and person.state is ServoState.READY and not controller.servo.busy)
    controller.setup.set_bench(**before)


def push(person, button, angle):
    """Hold a push button until the pendulum has come this far to its side [rad], then let go."""
    way = -1 if "left" in button.text() else 1
    person.until(button.isEnabled)
    person.qtbot.mousePress(button, Qt.MouseButton.LeftButton)
    person.until(lambda: way * person.controller.servo.view.position > angle)
    person.qtbot.mouseRelease(button, Qt.MouseButton.LeftButton)
