"""Emulated servos from the window: started, connected to as to hardware, recorded, moved by hand, made to fail."""

import math

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from bench_gui.shell.tasks import BENCH, PLACE, RECORD
from drivers.recorder import Phase
from drivers.servo import ServoState

FIRST_SEEN = BENCH


def choose(person, box, data):
    place = box.findData(data)
    assert place >= 0
    box.setCurrentIndex(place)
    box.activated.emit(place)


def emulate(person, bus, **fields):
    """Return the dialog in which an emulated servo of a bus runs."""
    person.window.show_task(BENCH)
    person.click(person.window.bench.connection.emulate_button)
    dialog = person.window.bench.emulation_dialog
    choose(person, dialog.bus, bus)
    for name, value in fields.items():
        choose(person, dialog.fields[name], value)
    person.click(dialog.start_button)
    person.until(lambda: dialog.use_button.isEnabled())
    return dialog


@pytest.fixture
def emulated(person):
    """An emulated MX-106, connected to."""
    dialog, view = emulate(person, "dynamixel", servo="mx106_2"), person.window.bench
    assert [made.property("kind") for made in (dialog.use_button, dialog.start_button)] == ["primary", ""]
    person.click(dialog.use_button)
    person.until(lambda: view.emulation_dialog is None)
    assert person.window.status_bar.servo.text() == "EMULATED Dynamixel", "without the path of its port"
    address = person.controller.servo.address
    assert address == person.controller.connecting.emulation.addresses[0]
    assert view.connection.address() == address
    person.controller.servo.stop_lock = 0.2
    person.click(view.connect_button)
    person.until(lambda: person.state is ServoState.READY)
    person.click(view.connection.emulate_button)
    return view.emulation_dialog


def say(person, dialog, line):
    """Type a line at the console and return what is answered."""
    before = dialog.log.toPlainText()
    dialog.line.setText(line)
    dialog.line.returnPressed.emit()
    person.until(lambda: len(dialog.log.toPlainText()) > len(before) + len(line) + 4)
    return dialog.log.toPlainText()[len(before) :].split("\n", 2)[-1]


def test_an_emulated_servo_carries_the_load_records_over_the_wire_and_overheats(person, emulated):
    controller, window = person.controller, person.window
    controller.setup.set_bench(mass=0.7, length=0.12)
    hand = controller.servo.hand
    assert hand is not None
    hand.torque = 0.5 * 0.7 * 9.80665 * 0.12
    # Half of the gravity torque lifts it to 30°, less what friction bears.
    person.until(lambda: controller.servo.view.position > math.radians(15))
    hand.torque = 0.0

    window.show_task(RECORD)
    person.record(1.0)
    person.until(lambda: len(controller.library.runs) == 1 and not controller.queue.active)
    run = controller.library.runs[0]
    assert (run.servo, run.exit_status, run.mass) == ("mx106_2", "success", 0.7)

    assert "overheating" in say(person, emulated, "help")
    assert not [made.text() for made in emulated.findChildren(QPushButton) if made.isDefault()], "Enter is the line's"
    person.record(600.0)
    person.until(lambda: controller.servo.view.phase is Phase.RUN)
    say(person, emulated, "fault overheating")
    person.until(lambda: person.state is ServoState.FAULT)
    # The state is in shared memory, its reason comes a moment later.
    person.until(lambda: "heat" in controller.servo.view.fault)
    assert "driven=0" in say(person, emulated, "state")
    person.until(lambda: not controller.servo.busy)
    say(person, emulated, "temperature off")
    person.click(window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)
    # An emulator may be told to lie about its motor: Esc is always a full stop there.
    person.qtbot.keyClick(window.windowHandle(), Qt.Key.Key_Escape)
    person.until(lambda: controller.servo.view.word == "STOPPED")


def test_an_emulated_potentiometer_records_and_offers_neither_centre_nor_torque(person):
    """A Feetech SCS0009."""
    controller, window = person.controller, person.window
    window.show_task(BENCH)
    view = window.bench
    person.click(view.connection.emulate_button)
    choose(person, view.emulation_dialog.bus, "feetech")
    choose(person, view.emulation_dialog.fields["servo"], "scs0009")
    person.click(view.emulation_dialog.start_button)
    person.until(lambda: view.emulation_dialog.use_button.isEnabled())
    person.click(view.emulation_dialog.use_button)
    person.click(view.connect_button)
    person.until(lambda: person.state is ServoState.READY)
    assert not view.card.centre_button.isVisible()
    assert "cannot hold a torque" in view.card.warnings.text()
    controller.setup.set_bench(mass=0.04, length=0.1)
    person.record(1.0)
    person.until(lambda: len(controller.library.runs) == 1 and not controller.queue.active)
    run = controller.library.runs[0]
    assert (run.servo, run.exit_status, run.mass) == ("scs0009", "success", 0.04)
    window.show_task(PLACE)
    person.until(lambda: "Nothing can be placed: Feetech SCS0009 cannot hold" in window.place.instruction.text())
    assert not window.place.go_button.isEnabled()
    assert person.state is ServoState.READY


def test_an_emulator_that_ends_is_a_plug_that_is_pulled_and_comes_back_at_its_port(person, emulated):
    person.click(next(button for button in emulated.faults if button.text() == "Unplugged"))
    person.until(lambda: person.state is ServoState.FAULT)
    emulation, address = person.controller.connecting.emulation, person.controller.servo.address
    person.click(emulated.start_button)
    person.until(lambda: not emulation.running and not person.controller.servo.busy)
    assert emulated.start_button.text() == "Start"
    person.click(emulated.start_button)
    person.until(lambda: emulated.use_button.isEnabled())
    assert emulation.addresses[0] == address
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)


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
