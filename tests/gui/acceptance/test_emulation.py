"""Emulated servos from the window: started, connected to as to hardware, recorded, moved by hand, made to fail."""

import math

import pytest
from PySide6.QtCore import Qt

from bench_gui.shell.tasks import BENCH
from drivers.recorder import Phase
from drivers.servo import ServoState

FIRST_SEEN = BENCH


def choose(person, box, data):
    place = box.findData(data)
    assert place >= 0
    box.setCurrentIndex(place)
    box.activated.emit(place)


@pytest.fixture
def emulated(person):
    """An emulated MX-106, connected to."""
    person.window.show_task(BENCH)
    view = person.window.bench
    person.click(view.connection.emulate_button)
    dialog = view.emulation_dialog
    choose(person, dialog.bus, "dynamixel")
    choose(person, dialog.fields["servo"], "mx106_2")
    person.click(dialog.start_button)
    person.until(lambda: dialog.use_button.isEnabled())
    person.click(dialog.use_button)
    address = person.controller.servo.address
    assert address == person.controller.connecting.emulation.addresses[0]
    assert view.connection.address() == address
    person.controller.servo.stop_lock = 0.2
    person.click(view.connect_button)
    person.until(lambda: person.state is ServoState.READY)
    return dialog


def say(person, dialog, line):
    """Type a line at the console and return what is answered."""
    before = dialog.log.toPlainText()
    dialog.line.setText(line)
    dialog.line.returnPressed.emit()
    person.until(lambda: len(dialog.log.toPlainText()) > len(before) + len(line) + 4)
    return dialog.log.toPlainText()[len(before) :].split("\n", 2)[-1]


def test_the_load_on_the_bench_hangs_on_the_emulated_servo(person, emulated):
    person.controller.setup.set_bench(mass=0.7, length=0.12)
    hand = person.controller.servo.hand
    assert hand is not None
    hand.torque = 0.5 * 0.7 * 9.80665 * 0.12
    # Half of the gravity torque lifts it to 30°, less what friction bears.
    person.until(lambda: person.controller.servo.view.position > math.radians(15))
    hand.torque = 0.0


def test_a_run_is_recorded_over_the_wire(person, emulated):
    person.window.show_task(1)
    person.record(1.0)
    person.until(lambda: len(person.controller.library.runs) == 1 and not person.controller.queue.active)
    run = person.controller.library.runs[0]
    assert (run.servo, run.exit_status) == ("mx106_2", "success")


def test_a_fault_planted_at_the_console_is_seen_and_can_be_mended(person, emulated):
    assert "overheating" in say(person, emulated, "help")
    person.window.show_task(1)
    person.record(600.0)
    person.until(lambda: person.controller.servo.view.phase is Phase.RUN)
    say(person, emulated, "fault overheating")
    person.until(lambda: person.state is ServoState.FAULT)
    # The state is in shared memory, its reason comes a moment later.
    person.until(lambda: "heat" in person.controller.servo.view.fault)
    assert "driven=0" in say(person, emulated, "state")
    person.until(lambda: not person.controller.servo.busy)
    say(person, emulated, "temperature off")
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)
    # An emulator may be told to lie about its motor: Esc is always a full stop there.
    person.qtbot.keyClick(person.window.windowHandle(), Qt.Key.Key_Escape)
    person.until(lambda: person.controller.servo.view.word == "STOPPED")


def test_stopping_the_emulator_is_pulling_the_plug(person, emulated):
    person.click(emulated.start_button)
    person.until(lambda: not person.controller.connecting.emulation.running)
    person.until(lambda: person.state is ServoState.FAULT)
    assert emulated.start_button.text() == "Start"


def test_what_cannot_be_emulated_is_said(person):
    person.window.show_task(BENCH)
    view = person.window.bench
    person.click(view.connection.emulate_button)
    dialog = view.emulation_dialog
    choose(person, dialog.bus, "ethercat")
    dialog.fields["interface"].setText("a name that is much too long")
    person.click(dialog.start_button)
    person.until(lambda: not person.controller.connecting.emulation.running)
    assert "could not be started" in dialog.state.text()
    assert dialog.start_button.isEnabled()


def test_the_emulator_comes_back_at_the_same_port(person, emulated):
    address = person.controller.servo.address
    person.click(emulated.start_button)
    person.until(lambda: person.state is ServoState.FAULT)
    person.until(lambda: not person.controller.servo.busy and emulated.start_button.text() == "Start")
    person.click(emulated.start_button)
    person.until(lambda: emulated.use_button.isEnabled())
    assert person.controller.connecting.emulation.addresses[0] == address
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)


def test_common_faults_have_buttons_that_begin_and_end_them(person, emulated):
    hot = next(button for button in emulated.faults if button.text() == "Hot")
    person.click(hot)
    person.until(lambda: "temperature=95.0" in say(person, emulated, "state"))
    person.click(hot)
    person.until(lambda: "temperature=95.0" not in say(person, emulated, "state"))
    unplugged = next(button for button in emulated.faults if button.text() == "Unplugged")
    person.click(unplugged)
    person.until(lambda: person.state is ServoState.FAULT)
    assert "> unplug" in emulated.log.toPlainText().splitlines()
