"""A servo that had an error before it was connected: the page says which, and a button clears it."""

import pytest

from bench_gui.shell.tasks import BENCH
from drivers.emulators.process import EmulatorProcess
from drivers.emulators.registry import emulator_source
from drivers.servo import ServoState

FIRST_SEEN = BENCH


@pytest.mark.parametrize(("fault", "named"), [("overload", "overload"), ("voltage", "input voltage out of range")])
def test_an_error_from_before_is_shown_and_cleared_on_the_servos_card(person, fault, named):
    with EmulatorProcess(emulator_source("dynamixel:xl330")) as emulator:
        emulator.say(f"fault {fault}")
        person.controller.connecting.connect_to(emulator.addresses[0])
        card = person.window.page(BENCH).card
        person.until(lambda: named in card.error.text())
        assert person.state is ServoState.FAULT
        emulator.say("fault clear")
        person.click(card.clear_button)
        person.until(lambda: person.state is ServoState.READY and card.error.isHidden())
        assert card.clear_button.isHidden()
        person.controller.servo.disconnect_servo()
        person.until(lambda: not person.controller.background.busy)
