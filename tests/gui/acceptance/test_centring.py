"""Centring of an emulated Feetech servo from the window: shown, confirmed, written with the motor off, read back."""

import math

import pytest
from PySide6.QtWidgets import QMessageBox

from bench_gui.shell.tasks import BENCH, RECORD
from drivers.recorder import Phase
from drivers.servo import ServoState
from tests.gui.acceptance.test_emulation import emulate, say

FIRST_SEEN = BENCH


@pytest.fixture
def console(person):
    """The dialog of an emulated STS3215 whose load hangs near the end of its turn; it is connected."""
    person.click(emulate(person, "feetech").use_button)
    view = person.window.bench
    person.click(view.connection.emulate_button)
    dialog = view.emulation_dialog
    say(person, dialog, "set homing_offset 1700")
    person.click(view.connect_button)
    person.until(lambda: person.state is ServoState.READY)
    return dialog


def register(person, console, name):
    return int(say(person, console, f"get {name}").split()[0])


def asked(person):
    """Return the question that *Centre…* asks."""
    centring = person.controller.connecting.centring
    person.click(person.window.bench.card.centre_button)
    person.until(lambda: centring.dialog is not None)
    assert person.controller.servo.view.state is ServoState.DISCONNECTED, "the recorder has given the bus back"
    return centring.dialog


def button(dialog, text):
    return next(made for made in dialog.buttons() if made.text().replace("&", "") == text)


def test_what_is_confirmed_is_written_and_the_servo_is_connected_again(person, console):
    card, servo = person.window.bench.card, person.controller.servo
    assert "Centre… under Bench" in card.warnings.text()
    person.until(lambda: servo.view.position == pytest.approx(-1700 * 2.0 * math.pi / 4096, abs=0.01))
    dialog = asked(person)
    shown = dialog.informativeText()
    assert "homing_offset: 1700 → 0\npresent_position: 348 → 2048" in shown
    person.click(button(dialog, "Centre"))
    person.until(lambda: person.state is ServoState.READY)
    person.until(lambda: abs(servo.view.position) < 0.01)
    assert register(person, console, "homing_offset") == 0
    assert "Centre…" not in card.warnings.text()
    assert "driven=0" in say(person, console, "state")


def test_what_is_declined_is_not_written_and_nothing_else_connects_meanwhile(person, console):
    dialog = asked(person)
    assert dialog.defaultButton() is button(dialog, "Cancel")
    person.controller.servo.connect_servo()
    assert person.controller.servo.recorder is None
    assert "being centred" in person.message
    person.click(button(dialog, "Cancel"))
    person.until(lambda: person.state is ServoState.READY)
    assert register(person, console, "homing_offset") == 1700


def test_what_was_refused_meanwhile_is_not_recorded_afterwards(person, console):
    dialog, recording = asked(person), person.controller.recording
    recording.record_paper_set()
    assert "being centred" in person.message
    person.click(button(dialog, "Cancel"))
    person.until(lambda: person.state is not ServoState.DISCONNECTED and not person.controller.servo.busy)
    assert person.state is ServoState.READY
    assert not recording.queue.active
    assert "driven=0" in say(person, console, "state")


def test_a_load_that_moved_since_it_was_shown_is_not_centred(person, console):
    dialog = asked(person)
    say(person, console, "set homing_offset 1500")
    person.click(button(dialog, "Centre"))
    person.until(lambda: "the load moved to position" in person.message)
    assert register(person, console, "homing_offset") == 1500
    person.click(person.window.bench.connect_button)
    person.until(lambda: person.state is ServoState.READY)


def test_a_driven_servo_is_not_centred(person, console):
    say(person, console, "set homing_offset 0")
    card = person.window.bench.card
    person.window.show_task(RECORD)
    person.record(600.0)
    person.until(lambda: person.controller.servo.view.phase is Phase.RUN)
    person.window.show_task(BENCH)
    person.until(lambda: "moving" in card.centre_button.toolTip())
    person.controller.connecting.centring.begin(person.window)
    assert person.controller.servo.recorder is not None
    assert person.state is ServoState.ENABLED
    assert not card.centre_button.isEnabled()
    person.controller.servo.abort()


def test_only_a_servo_that_can_be_centred_offers_it(person):
    person.window.show_task(BENCH)
    person.click(person.window.bench.connect_button)
    person.until(lambda: person.state is ServoState.READY)
    assert not person.window.bench.card.centre_button.isVisible()
    assert person.window.findChildren(QMessageBox) == []
