"""What a servo lets be written: locks, ranges, limits, modes; what survives which kind of reset."""

from __future__ import annotations

import math

import pytest

from core.base.errors import InputError
from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.emulators.serial_bus.registers import Refusal, Registers
from drivers.serial_bus.table import load_table
from drivers.simulated.hand import SharedHand
from tests.drivers.emulators.client import instruction1, instruction2

RANGE, LENGTH, LIMIT, ACCESS = 4, 5, 6, 7
ANGLE_LIMIT1, RANGE1, INSTRUCTION1 = 0x02, 0x08, 0x40


def test_eeprom_is_locked_while_torque_is_on(connect):
    client = connect("xm430_w350", "xl320", "mx64")
    for id, locked in ((1, ACCESS), (2, ACCESS), (3, 0)):
        client.write_all(id, return_delay_time=10)
        client.write_all(id, torque_enable=1)
        assert client.write("return_delay_time", 0, id) == locked
        client.write_all(id, torque_enable=0)
        assert client.write("return_delay_time", 0, id) == 0


def test_lock_of_protocol_1_holds_until_power_is_off(connect):
    client = connect("mx64")
    client.write_all(lock=1)
    assert client.write("cw_angle_limit", 100) == RANGE1
    assert client.write("lock", 0) == RANGE1
    client.say("power-cycle")
    client.run(0.5)
    assert client.write("cw_angle_limit", 100) == 0


LIMITED = EmulatedDynamixel(servo="mx64", registers={"cw_angle_limit": 100, "ccw_angle_limit": 4000})


@pytest.mark.parametrize(
    ("servo", "name", "value", "error"),
    [
        ("xm430_w350", "present_position", 0, ACCESS),
        ("xm430_w350", "model_number", 1, ACCESS),
        ("xm430_w350", "torque_enable", 2, RANGE),
        ("xm430_w350", "operating_mode", 2, RANGE),
        ("xm430_w350", "baud_rate", 8, RANGE),
        ("xm430_w350", "id", 253, RANGE),
        ("xm430_w350", "position_p_gain", 16384, RANGE),
        ("xm430_w350", "bus_watchdog", -1, RANGE),
        ("xm430_w350", "drive_mode", 4, RANGE),
        ("xm430_w350", "protocol_type", 1, RANGE),
        ("xm430_w350", "goal_position", 4096, LIMIT),
        ("xm430_w350", "goal_velocity", 10_000, LIMIT),
        ("xm430_w350", "goal_current", 1194, LIMIT),
        ("xm430_w350", "current_limit", 1194, RANGE),
        (LIMITED, "goal_position", 99, ANGLE_LIMIT1),
        (LIMITED, "goal_position", 4001, ANGLE_LIMIT1),
        (LIMITED, "goal_position", 4096, RANGE1),
        (LIMITED, "torque_enable", 2, RANGE1),
        (LIMITED, "present_position", 1, RANGE1),
        (LIMITED, "p_gain", 255, RANGE1),
        (LIMITED, "moving_speed", -10, RANGE1),
        (LIMITED, "baud_rate", 253, RANGE1),
    ],
)
def test_refusals(connect, servo, name, value, error):
    client = connect(servo)
    before = client.read(name)
    assert client.write(name, value) == error
    assert client.read(name) == before


def test_parts_of_registers_and_what_is_not_there(connect):
    client = connect("xm430_w350")
    assert client.ask(instruction2(1, 3, 116, 0, 1, 2))[8] == LENGTH
    assert client.ask(instruction2(1, 3, 117, 0, 1, 2, 3))[8] == LENGTH
    assert client.ask(instruction2(1, 3, 66, 0, 1))[8] == ACCESS
    assert client.ask(instruction2(1, 2, 0x00, 0x04, 4, 0))[8] == ACCESS
    assert client.ask(instruction2(1, 3, 116, 0))[8] == LENGTH
    assert client.ask(instruction2(1, 0x77))[8] == 2
    assert client.ask(instruction2(1, 5))[8] == 2
    assert client.ask(instruction2(1, 0x55, 0)) == b"", "an answer is not answered"
    client = connect("mx106")
    assert client.ask(instruction1(1, 0x77))[4] == INSTRUCTION1
    assert client.ask(instruction1(1, 5))[4] == INSTRUCTION1
    assert client.ask(instruction1(1, 2, 250, 20))[4] == RANGE1


def test_a_block_is_written_as_a_whole_or_not_at_all(connect):
    """Goal PWM 100 and goal current 30 000, which is too much; then both at 100."""
    client = connect("xm430_w350")
    assert client.ask(instruction2(1, 3, 100, 0, 100, 0, 0x30, 0x75))[8] == LIMIT
    assert client.read("goal_pwm") == 885
    assert client.ask(instruction2(1, 3, 100, 0, 100, 0, 100, 0))[8] == 0
    assert (client.read("goal_pwm"), client.read("goal_current")) == (100, 100)
    one = connect("mx64")
    assert client.ask(instruction2(1, 4, 116, 0, 0, 0x20, 0, 0))[8] == LIMIT, "checked when it is registered"
    assert one.ask(instruction1(1, 4, 30, 0, 0x20))[4] == RANGE1
    assert [bus.read("registered_instruction") for bus in (client, one)] == [0, 0]


def test_sign_magnitude_registers_have_eleven_bits():
    registers = Registers(load_table("mx1"))
    register = registers.table["goal_torque"]
    assert registers.parse(register.address, b"\x05\x04") == [(register, -5)]
    assert registers.parse(register.address, b"\x00\x08") is Refusal.RANGE


@pytest.mark.parametrize("servo", ["xl330", "mx64"])
def test_status_return_level(connect, servo):
    """Ping is always answered, reading from level 1 on, writing at level 2; either way it is done."""
    for level in (0, 1, 2):
        client = connect(EmulatedDynamixel(servo=servo, registers={"status_return_level": level}))
        packets = (instruction1(1, 1), instruction1(1, 2, 0, 2), instruction1(1, 3, 25, 1))
        if servo == "xl330":
            packets = (instruction2(1, 1), instruction2(1, 2, 0, 0, 2, 0), instruction2(1, 3, 65, 0, 1))
        assert [client.ask(packet) != b"" for packet in packets] == [True, level >= 1, level >= 2]
        assert client.say("get led") == "1"


def test_change_of_mode_resets_gains_profile_and_goals(connect):
    """Goal current ends at its limit: a driver that switches torque on without writing it gets the full current."""
    client = connect("xm430_w350")
    client.write_all(position_p_gain=100, position_d_gain=7, profile_velocity=20, goal_current=5, goal_pwm=9)
    client.write_all(operating_mode=0)
    expected = {"position_p_gain": 800, "position_d_gain": 0, "profile_velocity": 0}
    assert {name: client.read(name) for name in expected} == expected
    assert client.read("goal_current") == client.read("current_limit") == 1193
    assert client.read("goal_pwm") == client.read("pwm_limit") == 885


def test_reboot_keeps_the_eeprom_and_nothing_else(connect):
    client = connect("xm430_w350")
    client.write_all(return_delay_time=3, position_p_gain=55, torque_enable=1)
    assert client.ask(instruction2(1, 8)) != b""
    assert client.ask(instruction2(1, 1)) == b"", "it boots"
    client.run(0.5)
    assert (client.read("return_delay_time"), client.read("position_p_gain")) == (3, 800)
    assert client.read("torque_enable") == 0
    assert "driven=0" in client.say("state")


@pytest.mark.parametrize(("option", "id", "rate"), [(0xFF, 1, 57600), (0x01, 9, 57600), (0x02, 9, 1_000_000)])
def test_factory_reset_keeps_what_it_is_asked_to(connect, option, id, rate):
    client = connect(EmulatedDynamixel(servo="xm430_w350", id=9, registers={"return_delay_time": 3}))
    assert client.ask(instruction2(0xFE, 6, 0xFF)) == b"", "not all at once"
    assert client.ask(instruction2(9, 6, option)) != b""
    client.run(0.5)
    client.set_baud(rate)
    assert client.ask(instruction2(id, 1))[4] == id
    assert client.read("return_delay_time", id) == 250


def test_id_and_baud_rate_change_after_the_answer(connect):
    client = connect("xl330")
    assert client.write("id", 7) == 0
    assert client.ask(instruction2(1, 1)) == b""
    assert client.write("baud_rate", 1, 7) == 0
    assert client.ask(instruction2(7, 1)) == b""
    client.set_baud(57600)
    assert client.ask(instruction2(7, 1))[4] == 7


def test_turns_are_counted_and_cleared(connect):
    """A pendulum turned around twice by hand, seen by a servo in extended position mode."""
    client = connect(EmulatedDynamixel(servo="xl330", registers={"operating_mode": 4}))
    client.say("hand angle 720")
    client.run(12.0)
    assert client.read("present_position") == pytest.approx(2048 + 8192, abs=200)
    clear = instruction2(1, 0x10, 0x01, 0x44, 0x58, 0x4C, 0x22)
    client.say("hand angle 790")
    client.run(0.1)
    assert client.ask(clear)[8] == 1, "not while it moves"
    client.say("hand off")
    client.run(5.0)
    assert client.ask(clear)[8] == 0
    assert 0 <= client.read("present_position") < 4096
    assert client.ask(instruction2(1, 0x10, 0x01, 0x44, 0x58, 0x4C, 0x23))[8] == 1


@pytest.mark.parametrize(
    ("mode", "goals"),
    [
        (0, {"goal_current": 150}),
        (1, {"goal_velocity": 60}),
        (3, {"profile_velocity": 20, "goal_position": 2600}),
        (16, {"goal_pwm": 300}),
    ],
)
def test_reverse_mode_turns_every_register_and_the_motor_around(connect, mode, goals):
    names = ("position", "velocity", "current", "pwm")
    seen, turned = [], []
    for reverse in (0, 1):
        registers = {"operating_mode": mode, "drive_mode": reverse}
        registers |= {"goal_current": 0 if mode == 0 else 1193, "goal_pwm": 0 if mode == 16 else 885}
        client = connect(EmulatedDynamixel(servo="xm430_w350", registers=registers))
        client.write_all(torque_enable=1, **goals)
        client.run(0.1)
        counts = [client.read(f"present_{name}") for name in names]
        seen.append([*counts, client.read("position_trajectory"), client.read("velocity_trajectory")])
        turned.append(client.position)
    assert seen[1] == pytest.approx(seen[0], abs=2)
    assert (seen[0][0] > 2060, seen[0][1] > 5, seen[0][2] > 5, seen[0][3] > 5) == (True,) * 4
    assert turned[1] == pytest.approx(-turned[0], abs=0.01)
    assert (seen[0][5] > 0) == (mode == 3)


TURN = 2.0 * math.pi
UNITS = {
    "xm430_w350": {
        "present_position": lambda m: 2048 + 4096 * m.position / TURN,
        "present_velocity": lambda m: 60 * m.velocity / TURN / 0.229,
        "present_current": lambda m: m.electrics[0] / 2.69e-3,
        "present_pwm": lambda m: 885 * m.electrics[1],
        "present_input_voltage": lambda m: m.electrics[2] / 0.1,
    },
    "mx64": {
        "present_position": lambda m: 2048 + 4096 * m.position / TURN,
        "present_speed": lambda m: 60 * m.velocity / TURN / 0.114,
        "current": lambda m: 2048 + m.electrics[0] / 4.5e-3,
        "present_load": lambda m: 1023 * m.electrics[1],
        "present_voltage": lambda m: m.electrics[2] / 0.1,
    },
    "xl320": {
        "present_position": lambda m: 512 + 1023 * m.position / math.radians(300),
        "present_speed": lambda m: 60 * m.velocity / TURN / 0.111,
        "present_load": lambda m: 1023 * m.electrics[1],
        "present_voltage": lambda m: m.electrics[2] / 0.1,
    },
}
"""Measurements in the units of the e-manuals."""


@pytest.mark.parametrize("servo", UNITS)
@pytest.mark.parametrize("way", [90, -90])
def test_measurements_are_what_the_mechanism_does_in_the_manuals_units(connect, servo, way):
    client = connect(servo)
    mechanism = client.devices[0].mechanism
    client.say("supply 7.1" if servo == "xl320" else "supply 11.3")
    client.say("temperature 41")
    client.write_all(torque_enable=1)
    assert client.say("get moving") == "0"
    client.write_all(goal_position=512 + way if servo == "xl320" else 2048 + 2 * way)
    client.run(0.02)
    for name, counts in UNITS[servo].items():
        assert int(client.say(f"get {name}")) == pytest.approx(counts(mechanism), abs=1.0), name
    assert (client.say("get present_temperature"), client.say("get moving")) == ("41", "1")
    assert abs(mechanism.velocity) > 0.3


def test_descriptions_that_cannot_be():
    hand = SharedHand()
    with pytest.raises(InputError, match="at least one"):
        DynamixelEmulation(servos=())
    with pytest.raises(InputError, match="38400"):
        DynamixelEmulation(baud=38400).open(hand)
    with pytest.raises(InputError, match="differ"):
        DynamixelEmulation(servos=(EmulatedDynamixel(), EmulatedDynamixel(servo="xl320"))).open(hand)
    with pytest.raises(InputError, match="no register 'turbo'"):
        DynamixelEmulation(servos=(EmulatedDynamixel(registers={"turbo": 1}),)).open(hand)
    with pytest.raises(InputError, match="cannot hold"):
        DynamixelEmulation(servos=(EmulatedDynamixel(registers={"led": 300}),)).open(hand)
