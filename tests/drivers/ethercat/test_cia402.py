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


TABLE = {
    "x0xx0000": DriveState.NOT_READY,
    "x1xx0000": DriveState.SWITCH_ON_DISABLED,
    "x01x0001": DriveState.READY,
    "x01x0011": DriveState.SWITCHED_ON,
    "x01x0111": DriveState.OPERATION_ENABLED,
    "x00x0111": DriveState.QUICK_STOP,
    "x0xx1111": DriveState.FAULT_REACTION,
    "x0xx1000": DriveState.FAULT,
}
"""States by the low byte of the status word, as CiA 402 prints them; x is either."""


def test_a_status_word_says_the_state_whatever_its_other_bits():
    for low in range(0x100):
        bits = f"{low:08b}"
        known = [state for mask, state in TABLE.items() if all(m in ("x", bits[n]) for n, m in enumerate(mask))]
        for high in (0x0000, 0x0200, 0x1200, 0xFF00):
            assert drive_state(high | low) is (known[0] if known else None), hex(high | low)


def test_only_states_that_carry_torque_are_not_released():
    driven = {DriveState.OPERATION_ENABLED, DriveState.QUICK_STOP, DriveState.FAULT_REACTION}
    assert {state for state in DriveState if not state.released} == driven
    assert {state for state in DriveState if state.faulty} == {DriveState.FAULT, DriveState.FAULT_REACTION}


def test_a_switch_that_is_off_sends_nothing_but_off_in_every_state():
    for state in (None, *DriveState):
        assert [PowerSwitch(1).control_word(state) for _ in range(3)] == [DISABLE_VOLTAGE] * 3


@pytest.mark.parametrize("state", [None, *DriveState])
def test_the_first_step_up_waits_for_its_state_and_no_other(state):
    """A drive with a fault, or in a state nobody knows, is told nothing but to be off."""
    switch = PowerSwitch(1)
    switch.switch_on()
    if state in (None, DriveState.FAULT, DriveState.FAULT_REACTION):
        expected = [DISABLE_VOLTAGE] * 3
    else:
        expected = [SHUTDOWN, *[SWITCH_ON if state is DriveState.READY else SHUTDOWN] * 2]
    assert [switch.control_word(state) for _ in range(3)] == expected
    switch.switch_off()
    first = ENABLE_OPERATION if state is DriveState.OPERATION_ENABLED else SWITCH_ON
    told = [switch.control_word(state) for _ in range(4)]
    assert told == [first, SWITCH_ON, SHUTDOWN, DISABLE_VOLTAGE]


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


@pytest.mark.parametrize("late", [0, 1, 2, 3, 5])
def test_a_drive_that_is_still_on_its_way_down_is_led_up_again(late):
    motor, switch = Motor(), PowerSwitch(2)
    switch.switch_on()
    words(switch, motor, 20, motor.state)
    switch.switch_off()
    words(switch, motor, late, DriveState.OPERATION_ENABLED)
    switch.switch_on()
    words(switch, motor, 20, motor.state)
    assert motor.state is DriveState.OPERATION_ENABLED


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


def test_an_error_code_is_named_or_at_least_its_group():
    names = {
        0x2310: "overcurrent",
        0x3210: "overvoltage",
        0x3220: "undervoltage",
        0x4210: "drive too hot",
        0x4310: "drive too hot",
        0x7305: "encoder",
        0x730F: "encoder battery low",
        0x8611: "following error",
        0xA000: "master offline: frames came too irregularly",
        0x2FFF: "current",
        0x3FFF: "voltage",
        0x4FFF: "temperature",
        0x5FFF: "hardware of the drive",
        0x6FFF: "software of the drive",
        0x7FFF: "encoder, brake or another part",
        0x8FFF: "communication or supervision",
        0xAFFF: "master offline",
        0xFF01: "of the drive's own list",
        0x0022: "of the drive's own list",
    }
    for code, name in names.items():
        assert error_text(code) == f"0x{code:04X} ({name})"
