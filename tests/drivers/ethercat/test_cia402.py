"""CiA 402: status words that were published of eRob drives, and control words on every way a drive can go."""

import pytest

from drivers.ethercat.cia402 import (
    DISABLE_VOLTAGE,
    ENABLE_OPERATION,
    FAULT_RESET,
    SHUTDOWN,
    SWITCH_ON,
    DriveState,
    PowerSwitch,
    drive_state,
    error_text,
)
from tests.drivers.ethercat.motor import Motor


def words(switch, motor, cycles, seen=None):
    told = []
    for _ in range(cycles):
        told.append(switch.control_word(seen))
        seen = motor.take(told[-1])
    return told


@pytest.mark.parametrize(
    ("word", "state"),
    [
        (0x1250, DriveState.SWITCH_ON_DISABLED),
        (0x12D0, DriveState.SWITCH_ON_DISABLED),
        (0x12B1, DriveState.READY),
        (0x12B3, DriveState.SWITCHED_ON),
        (0x1237, DriveState.OPERATION_ENABLED),
        (0x12B7, DriveState.OPERATION_ENABLED),
        (0x0217, DriveState.QUICK_STOP),
        (0x1288, DriveState.FAULT),
        (0x1208, DriveState.FAULT),
        (0x120F, DriveState.FAULT_REACTION),
        (0x0000, DriveState.NOT_READY),
        (0x0022, None),
    ],
)
def test_a_status_word_says_the_state_whatever_its_other_bits(word, state):
    assert drive_state(word) is state


def test_only_states_that_carry_torque_are_not_released():
    driven = {DriveState.OPERATION_ENABLED, DriveState.QUICK_STOP, DriveState.FAULT_REACTION}
    assert {state for state in DriveState if not state.released} == driven


@pytest.mark.parametrize("dwell", [1, 2, 4])
def test_a_drive_is_led_up_one_confirmed_step_after_another(dwell):
    motor, switch = Motor(), PowerSwitch(dwell)
    switch.switch_on()
    told = words(switch, motor, 3 * dwell + 10, DriveState.SWITCH_ON_DISABLED)
    assert motor.state is DriveState.OPERATION_ENABLED
    assert told == sorted(told)
    assert set(told) == {SHUTDOWN, SWITCH_ON, ENABLE_OPERATION}
    # The answer to a control word comes with the next one but one, then the state is seen for the dwell.
    assert told.count(SHUTDOWN) == told.count(SWITCH_ON) == dwell + 2


def test_a_drive_is_led_down_without_waiting_for_it_and_with_one_cycle_for_a_torque_of_zero():
    motor, switch = Motor(), PowerSwitch(1)
    switch.switch_on()
    words(switch, motor, 20, motor.state)
    switch.switch_off()
    told = words(switch, motor, 5, DriveState.OPERATION_ENABLED)
    assert told == [ENABLE_OPERATION, SWITCH_ON, SHUTDOWN, DISABLE_VOLTAGE, DISABLE_VOLTAGE]
    assert motor.state is DriveState.SWITCH_ON_DISABLED


@pytest.mark.parametrize("late", range(6))
def test_a_drive_that_is_still_on_its_way_down_is_led_up_again(late):
    motor, switch = Motor(), PowerSwitch(2)
    switch.switch_on()
    words(switch, motor, 20, motor.state)
    switch.switch_off()
    words(switch, motor, late, DriveState.OPERATION_ENABLED)
    switch.switch_on()
    words(switch, motor, 20, motor.state)
    assert motor.state is DriveState.OPERATION_ENABLED


@pytest.mark.parametrize("state", [None, DriveState.FAULT, DriveState.FAULT_REACTION])
def test_a_drive_in_an_unknown_state_or_a_fault_is_told_nothing_but_to_be_off(state):
    switch = PowerSwitch(1)
    switch.switch_on()
    assert [switch.control_word(state) for _ in range(5)] == [DISABLE_VOLTAGE] * 5


def test_a_fault_is_left_only_when_asked_for():
    motor, switch = Motor(DriveState.FAULT), PowerSwitch(1)
    words(switch, motor, 10, motor.state)
    assert motor.state is DriveState.FAULT
    switch.reset_fault()
    told = words(switch, motor, 10, motor.state)
    assert motor.state is DriveState.SWITCH_ON_DISABLED
    assert FAULT_RESET in told
    assert told[-1] == DISABLE_VOLTAGE


def test_resets_that_do_not_help_end_and_each_is_an_edge_of_its_bit():
    switch = PowerSwitch(1)
    switch.reset_fault(2)
    told = [switch.control_word(DriveState.FAULT) for _ in range(6)]
    assert told == [FAULT_RESET, DISABLE_VOLTAGE, FAULT_RESET, DISABLE_VOLTAGE, DISABLE_VOLTAGE, DISABLE_VOLTAGE]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0x2310, "0x2310 (overcurrent)"),
        (0x730F, "0x730F (encoder battery low)"),
        (0x2234, "0x2234 (current)"),
        (0xFF01, "0xFF01 (of the drive's own list)"),
    ],
)
def test_an_error_code_is_named(code, text):
    assert error_text(code) == text
