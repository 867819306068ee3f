"""Each value of a servo at its place on the wire: bytes of the e-manuals against what the driver makes of them.

Every value has a number of its own, so that none can stand for another. What the emulator has in its memory is put
there by address, past the control table that it shares with the driver.
"""

import math
from dataclasses import replace

import pytest

from drivers.serial_bus.preparation import hardware_errors
from drivers.serial_bus.registers import Registers
from drivers.serial_bus.table import load_table
from drivers.servo import PositionGoal, TorqueGoal
from tests.drivers.dynamixel.bench import connected, settings

RPM = 2.0 * math.pi / 60.0
# Of each series: field of a reading, address and bytes, value. Speed and load of the older ones have their sign in bit
# 10; current of an MX with protocol 1 is 4.5 mA around 2048.
READINGS = {
    "x_series": {
        "duty_cycle": (124, (-177).to_bytes(2, "little", signed=True), -0.2),
        "current": (126, (100).to_bytes(2, "little"), 0.269),
        "velocity": (128, (-50).to_bytes(4, "little", signed=True), -50 * 0.229 * RPM),
        "position": (132, (3072).to_bytes(4, "little"), math.pi / 2),
        "supply_voltage": (144, (113).to_bytes(2, "little"), 11.3),
        "temperature": (146, bytes([47]), 47.0),
    },
    "old_mx": {
        "position": (36, (1024).to_bytes(2, "little"), -math.pi / 2),
        "velocity": (38, (1024 + 50).to_bytes(2, "little"), -50 * 0.114 * RPM),
        "duty_cycle": (40, (1024 + 341).to_bytes(2, "little"), -1 / 3),
        "supply_voltage": (42, bytes([113]), 11.3),
        "temperature": (43, bytes([47]), 47.0),
        "current": (68, (2148).to_bytes(2, "little"), 0.45),
    },
    "xl320": {
        "position": (37, (812).to_bytes(2, "little"), math.radians(300.0) * 300 / 1024),
        "velocity": (39, (1024 + 50).to_bytes(2, "little"), -50 * 0.111 * RPM),
        "duty_cycle": (41, (1024 + 341).to_bytes(2, "little"), -1 / 3),
        "supply_voltage": (45, bytes([74]), 7.4),
        "temperature": (46, bytes([47]), 47.0),
    },
}
TICK = {"x_series": 120, "old_mx": 50}
# Of each series: what the driver keeps of a servo as it found it, to address and size.
FOUND = {
    "x_series": {
        "homing_offset": (20, 4),
        "temperature_limit": (31, 1),
        "max_voltage_limit": (32, 2),
        "min_voltage_limit": (34, 2),
        "pwm_limit [counts]": (36, 2),
        "current_limit [counts]": (38, 2),
        "velocity_limit": (44, 4),
        "shutdown": (63, 1),
    },
    "old_mx": {
        "temperature_limit": (11, 1),
        "min_voltage_limit": (12, 1),
        "max_voltage_limit": (13, 1),
        "max_torque [counts]": (14, 2),
        "shutdown": (18, 1),
        "multi_turn_offset": (20, 2),
        "punch": (48, 2),
    },
    "xl320": {
        "temperature_limit": (12, 1),
        "min_voltage_limit": (13, 1),
        "max_voltage_limit": (14, 1),
        "max_torque [counts]": (15, 2),
        "shutdown": (18, 1),
        "punch": (51, 2),
    },
}
FIRMWARE = {"x_series": 6, "old_mx": 2, "xl320": 2}
# Of each series: addresses of the torque switch, the gains kp, ki, kd, the goal position and the goal of a torque.
WRITTEN = {
    "x_series": (64, 84, 82, 80, 116, 102),
    "old_mx": (24, 28, 27, 26, 30, 71),
    "xl320": (24, 29, 28, 27, 30, 32),
}
ERRORS = {
    "x": {0: "input voltage out of range", 2: "overheating", 3: "motor encoder failure", 4: "electrical shock"},
    "mx1": {0: "input voltage out of range", 2: "overheating"},
    "xl320": {0: "overload", 1: "overheating", 2: "input voltage out of range"},
}
OVERLOAD = {"x": 5, "mx1": 5, "xl320": 0}


@pytest.fixture(params=READINGS)
def series(request):
    """Name of a series and an emulator of it, whose memory nothing changes but instructions."""
    emulator = request.getfixturevalue(request.param)
    emulator.emulator.devices[0].refresh = lambda: None
    return request.param, emulator


def memory(emulator):
    return emulator.emulator.devices[0].registers._memory


def put(emulator, address, data):
    memory(emulator)[address : address + len(data)] = data


def test_each_field_of_a_reading_is_read_at_its_address_in_its_unit(series):
    name, emulator = series
    with connected(emulator) as servo:
        if name in TICK:
            put(emulator, TICK[name], bytes(2))
        for address, data, _ in READINGS[name].values():
            put(emulator, address, data)
        reading = servo.read()
        for field, (_, _, value) in READINGS[name].items():
            assert getattr(reading, field) == pytest.approx(value, rel=1e-6), field
        assert math.isnan(reading.current) == ("current" not in READINGS[name])


def test_each_fact_is_read_at_its_address(series):
    name, emulator = series
    for number, (address, size) in enumerate(FOUND[name].values(), 60):
        put(emulator, address, number.to_bytes(size, "little"))
    put(emulator, FIRMWARE[name], bytes([43]))
    with connected(emulator) as servo:
        identity = servo.identity
    found = {fact: identity.facts[fact] for fact in FOUND[name]}
    assert found == dict(zip(FOUND[name], range(60, 60 + len(found)), strict=True))
    assert identity.firmware == "43"


def test_each_gain_and_goal_is_written_at_its_address(series):
    name, emulator = series
    switch, kp, ki, kd, position, torque = WRITTEN[name]
    with connected(emulator) as servo:
        wanted = replace(settings(servo.spec.name), kp=11.0, ki=12.0, kd=13.0)
        servo.configure(wanted)
        held = memory(emulator)
        assert [held[address] for address in (kp, ki, kd)] == [11, 12, 13]
        assert servo.settings() == wanted
        assert held[switch] == 0
        for address, data, _ in READINGS[name].values():
            put(emulator, address, data)
        servo.command(PositionGoal(0.5))
        emulator.clock.sleep(0.005)
        turn = servo.profile.position_counts
        centre = 512 if name == "xl320" else 2048
        assert int.from_bytes(held[position : position + 2], "little") == round(centre + 0.5 * turn / math.tau)
        assert held[switch] == 1
        servo.command(TorqueGoal(0.05))
        emulator.clock.sleep(0.005)
        facts = servo.identity.facts
        current = 0.05 / facts["kt [N·m/A]"]
        counts = {"x_series": current / 0.00269, "old_mx": current / 0.0045}
        wheel = 1023 * current * facts["R [Ω]"] / 7.4
        written = int.from_bytes(held[torque : torque + 2], "little")
        assert written == pytest.approx(counts.get(name, wheel), abs=1.0)
        assert written > 1


@pytest.mark.parametrize("name", ERRORS)
def test_each_bit_of_an_error_is_said_by_its_name(name):
    table = load_table(name)
    named = ERRORS[name] | {OVERLOAD[name]: "overload"}
    for bit in range(8):
        registers = Registers(None, 1, table)
        registers.read_one = lambda *asked, bits=1 << bit: bits
        error = 0x80 if table.protocol == 2 else 1 << bit
        unnamed = [named[bit]] if bit in named else []
        assert hardware_errors(registers, error) == unnamed
    assert hardware_errors(registers, 0) == []
