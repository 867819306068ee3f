"""The packets of the ROBOTIS e-manual, "Protocol 1.0" and "Protocol 2.0", byte for byte; whatever else comes in."""

from __future__ import annotations

import pytest

from drivers.emulators.dynamixel import EmulatedDynamixel
from drivers.emulators.serial_bus import protocol1
from drivers.emulators.serial_bus.packet import Instruction
from tests.drivers.emulators.client import instruction1, instruction2, packet2

PING_1 = bytes.fromhex("FFFFFD00 01 0300 01 194E")
PONG_1 = bytes.fromhex("FFFFFD00 01 0700 55 00 060426 655D")
PONG_2 = bytes.fromhex("FFFFFD00 02 0700 55 00 060426 6F6D")
DONE_1 = bytes.fromhex("FFFFFD00 01 0400 55 00 A10C")


def xm430(id: int, **registers: int) -> EmulatedDynamixel:
    """The servo of the examples is an XM430-W210 with firmware 38."""
    changed = {"model_number": 1030, "firmware_version": 38, **registers}
    return EmulatedDynamixel(servo="xm430_w350", id=id, registers=changed)


@pytest.fixture
def two(connect):
    """Two servos at the positions of the examples: they hang at 2048 and are offset."""
    return connect(xm430(1, homing_offset=166 - 2048), xm430(2, homing_offset=2079 - 2048))


@pytest.mark.parametrize(
    ("instruction", "answer"),
    [
        pytest.param(PING_1, PONG_1, id="ping"),
        pytest.param(bytes.fromhex("FFFFFD00 FE 0300 01 3142"), PONG_1 + PONG_2, id="broadcast ping"),
        pytest.param(
            bytes.fromhex("FFFFFD00 01 0700 02 8400 0400 1D15"),
            bytes.fromhex("FFFFFD00 01 0800 55 00 A6000000 8CC0"),
            id="read",
        ),
        pytest.param(bytes.fromhex("FFFFFD00 01 0900 03 7400 00020000 CA89"), DONE_1, id="write"),
        pytest.param(bytes.fromhex("FFFFFD00 01 0900 04 6800 C8000000 AE8E"), DONE_1, id="reg write"),
        pytest.param(bytes.fromhex("FFFFFD00 01 0400 06 01 A1E6"), DONE_1, id="factory reset"),
        pytest.param(bytes.fromhex("FFFFFD00 01 0300 08 2F4E"), DONE_1, id="reboot"),
        pytest.param(bytes.fromhex("FFFFFD00 01 0800 10 0144584C22 B1DC"), DONE_1, id="clear"),
        pytest.param(
            bytes.fromhex("FFFFFD00 FE 0900 82 8400 0400 01 02 CEFA"),
            bytes.fromhex("FFFFFD00 01 0800 55 00 A6000000 8CC0 FFFFFD00 02 0800 55 00 1F080000 BABE"),
            id="sync read",
        ),
        pytest.param(
            bytes.fromhex("FFFFFD00 FE 0D00 92 01 9000 0200 02 9200 0100 1A05"),
            bytes.fromhex("FFFFFD00 01 0600 55 00 7700 C369 FFFFFD00 02 0500 55 00 24 8BA9"),
            id="bulk read",
        ),
    ],
)
def test_protocol_2_is_answered_as_in_the_manual(two, instruction, answer):
    two.say("supply 11.9")
    two.say("temperature 36 id=2")
    assert two.ask(instruction).hex() == answer.hex()


def test_protocol_2_writes_of_the_manual_arrive(two):
    """Sync write of goal positions 150 and 170; bulk write of a voltage limit and a temperature limit."""
    for id in (1, 2):
        two.write_all(id, homing_offset=0, max_voltage_limit=150, temperature_limit=70)
    sync = bytes.fromhex("FFFFFD00 FE 1100 83 7400 0400 01 96000000 02 AA000000 8287")
    bulk = bytes.fromhex("FFFFFD00 FE 1000 93 01 2000 0200 A000 02 1F00 0100 50 B768")
    assert two.ask(sync) == b""
    assert two.ask(bulk) == b""
    assert [two.read("goal_position", id) for id in (1, 2)] == [150, 170]
    assert two.read("max_voltage_limit") == 160
    assert two.read("temperature_limit", 2) == 80


def test_reg_write_and_action_of_the_manual(two):
    two.ask(bytes.fromhex("FFFFFD00 01 0900 04 6800 C8000000 AE8E"))
    assert (two.read("registered_instruction"), two.read("goal_velocity")) == (1, 0)
    assert two.ask(bytes.fromhex("FFFFFD00 01 0300 05 02CE")) == DONE_1
    assert (two.read("registered_instruction"), two.read("goal_velocity")) == (0, 200)


def test_fast_reads_of_the_manual(connect):
    """Fast sync read of three positions: one packet that three servos build together, CRC after CRC.

    The manual prints the CRC of the sync read below the bulk read as well; the bulk read's is computed here.
    """
    servos = (xm430(3, homing_offset=166 - 2048), xm430(7, homing_offset=31), xm430(4, homing_offset=1023 - 2048))
    client = connect(*servos)
    sync = bytes.fromhex("FFFFFD00 FE 0A00 8A 8400 0400 03 07 04 20F2")
    answer = "FFFFFD00 FE 1900 55 00 03 A6000000 8408 00 07 1F080000 16CA 00 04 FF030000 D19E"
    assert client.ask(sync) == bytes.fromhex(answer)
    bulk = instruction2(0xFE, 0x9A, 3, 0x84, 0, 4, 0, 7, 0x90, 0, 2, 0, 4, 0x92, 0, 1, 0)
    body = client.ask(bulk)[8:]
    assert [body[1], body[9], body[15]] == [3, 7, 4]
    assert [len(body), body[2:6], body[16]] == [19, b"\xa6\0\0\0", 25]


@pytest.mark.parametrize(
    ("instruction", "answer"),
    [
        pytest.param("FFFF 01 02 01 FB", "FFFF 01 02 00 FC", id="ping"),
        pytest.param("FFFF 01 04 02 2B 01 CC", "FFFF 01 03 00 20 DB", id="read temperature 32"),
        pytest.param("FFFF FE 04 03 03 01 F6", "", id="broadcast write"),
        pytest.param("FFFF 01 05 04 1E F401 E2", "FFFF 01 02 00 FC", id="reg write"),
        pytest.param("FFFF FE 02 05 FA", "", id="broadcast action"),
    ],
)
def test_protocol_1_is_answered_as_in_the_manual(connect, instruction, answer):
    client = connect("mx106")
    client.say("temperature 32")
    assert client.ask(bytes.fromhex(instruction)) == bytes.fromhex(answer)


def test_protocol_1_errors_and_factory_reset_of_the_manual(connect):
    """0x24 is overload and overheating; a reset leaves ID 1 and 57142 bit/s."""
    client = connect(EmulatedDynamixel(servo="mx64", id=0))
    client.say("fault overload")
    client.say("fault overheating")
    assert client.ask(bytes.fromhex("FFFF 00 02 01 FC")) == bytes.fromhex("FFFF 00 02 24 D9")
    client.say("fault clear")
    assert client.ask(bytes.fromhex("FFFF 00 02 06 F7")) == bytes.fromhex("FFFF 00 02 00 FD")
    client.run(0.5)
    client.set_baud(57600)
    assert client.ask(instruction1(1, 1)) == protocol1.status(1, 0)


def test_protocol_1_sync_write_and_bulk_read_of_the_manual(connect):
    client = connect(EmulatedDynamixel(servo="mx64", id=0), EmulatedDynamixel(servo="mx106", id=1))
    sync = bytes.fromhex("FFFF FE 0E 83 1E 04 00 1000 5001 01 2002 6003 67")
    assert client.ask(sync) == b""
    assert [client.read("goal_position", id) for id in (0, 1)] == [0x010, 0x220]
    assert [client.read("moving_speed", id) for id in (0, 1)] == [0x150, 0x360]
    # Goal position of 1, then present position of a servo 2 that is not there: the answers end after the first.
    bulk = bytes.fromhex("FFFF FE 09 92 00 02 01 1E 02 02 24 1D")
    assert client.ask(bulk) == protocol1.status(1, 0, b"\x20\x02")
    assert len(client.ask(instruction1(0xFE, 0x92, 0, 2, 0, 36, 2, 1, 36))) == 16


def test_unstuffed_packets_are_dropped_and_stuffed_ones_taken_and_sent(connect):
    """Goal −131073 is FF FF FD FF: the payload the SDK's broken stuffing sends as it is."""
    client = connect("xm430_w350")
    client.write_all(operating_mode=4)
    body = bytes((3, 116, 0)) + (-131073).to_bytes(4, "little", signed=True)
    assert b"\xff\xff\xfd" in body
    assert client.ask(packet2(1, body)) == b""
    assert "broken=1" in client.say("bus")
    assert client.read("goal_position") == 2048
    assert client.ask(instruction2(1, *body)) == DONE_1
    assert client.ask(instruction2(1, 2, 116, 0, 4, 0)) == packet2(1, bytes.fromhex("55 00 FFFFFDFDFF"))


def test_no_instruction_stops_a_servo(connect):
    """Whatever a packet with a right check sum asks for, with too few parameters or too many."""
    client = connect(EmulatedDynamixel(servo="xl330", id=0x51), EmulatedDynamixel(servo="mx64", id=0x52))
    for instruction in Instruction:
        for parameters in ((), (0,), (0, 0, 0), (0, 0, 0, 64, 0, 0, 0, 0)):
            for id in (0x51, 0x52, 0xFE):
                client.send(instruction2(id, instruction, *parameters))
                client.send(instruction1(id, instruction, *parameters))
        client.run(0.02)
        for device, (own, rate) in zip(client.devices, ((0x51, 3), (0x52, 1)), strict=True):
            device.put("id", own)
            device.put("baud_rate", rate)
        client.run(0.35)
        client.received()
        assert client.ask(instruction2(0x51, 1))[4:5] == b"\x51", instruction
        assert client.ask(instruction1(0x52, 1))[2:3] == b"\x52", instruction


def test_noise_in_front_of_a_packet_is_skipped(connect):
    client = connect("xl330", "mx64")
    for noise in (b"\xff", b"\xff\xff", b"\xff\xff\xfd\xfd", b"\x00\x55\xaa", b"\xff\xff\xfd\x00\xff\xff"):
        assert client.ask(noise + instruction2(1, 1))[4:5] == b"\x01", noise.hex()
    for noise in (b"\xff", b"\x00\x55\xaa", b"\xff\xff\xff"):
        assert client.ask(noise + instruction1(2, 1))[2:3] == b"\x02", noise.hex()


def test_wrong_check_sums_and_packets_in_pieces(connect):
    """Protocol 1 answers with the check sum error; protocol 2 cannot know who was meant, nor wait for ever."""
    client = connect("xl330", "mx64")
    assert client.ask(instruction1(2, 1)[:-1] + b"\x00") == protocol1.status(2, protocol1.Error.CHECKSUM)
    assert client.ask(PING_1[:-1] + b"\x00") == b""
    for piece in (PING_1[:3], PING_1[3:6]):
        client.send(piece)
        client.run(0.01)
    assert client.ask(PING_1[6:]) != b""
    client.send(PING_1[:6])
    client.run(0.05)
    assert client.ask(PING_1[6:]) == b""
