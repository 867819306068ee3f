"""Feetech's packets byte for byte, and what is not answered.

The examples are those of Feetech's protocol manual, with the numbers of an STS servo; all checksums are computed.
"""

from __future__ import annotations

import pytest

from drivers.emulators.feetech import EmulatedFeetech
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.table import load_table
from tests.drivers.emulators.client import instruction1 as instruction

DONE = "FFFF 01 02 00 FC"
BROADCAST = 0xFE
PING, READ, WRITE, REG_WRITE, ACTION, RESET, SYNC_READ, SYNC_WRITE = 1, 2, 3, 4, 5, 6, 0x82, 0x83
GOLDEN = {
    "ping": ("FFFF 01 02 01 FB", DONE),
    "read position 1304": ("FFFF 01 04 02 38 02 BE", "FFFF 01 04 00 18 05 DD"),
    "write position, time, speed": ("FFFF 01 09 03 2A 0008 0000 E803 D5", DONE),
    "write acceleration, position, time, speed": ("FFFF 01 0A 03 29 32 E803 0000 E803 C0", DONE),
    "reg write": ("FFFF 01 09 04 2A 0008 0000 E803 D4", DONE),
    "action": ("FFFF FE 02 05 FA", ""),
    "unlock all": ("FFFF FE 04 03 37 00 C3", ""),
    "id 1 to 2": ("FFFF 01 04 03 05 02 F0", DONE),
    "centre": ("FFFF 01 04 03 28 80 4F", DONE),
}


def at_1304(id: int = 1, **registers: int) -> EmulatedFeetech:
    """The servo of the examples. It hangs at 2048 less its offset."""
    return EmulatedFeetech(id=id, registers={"homing_offset": 2048 - 1304, **registers})


@pytest.mark.parametrize(("request_", "answer"), GOLDEN.values(), ids=GOLDEN)
def test_requests_are_answered_as_in_the_manual(connect, request_, answer):
    assert connect(at_1304()).ask(bytes.fromhex(request_)) == bytes.fromhex(answer)


@pytest.mark.parametrize(
    ("name", "transact"),
    [
        ("read position 1304", lambda bus: bus.read(1, 56, 2)),
        ("write position, time, speed", lambda bus: bus.write(1, 42, bytes.fromhex("0008 0000 E803"))),
        (
            "write acceleration, position, time, speed",
            lambda bus: bus.write(1, 41, bytes.fromhex("32 E803 0000 E803")),
        ),
        ("unlock all", lambda bus: bus.send_to_all(55, b"\0")),
        ("id 1 to 2", lambda bus: bus.write(1, 5, b"\2")),
        ("centre", lambda bus: bus.write(1, 40, b"\x80")),
    ],
)
def test_the_driver_sends_the_requests_of_the_manual(connect, monkeypatch, name, transact):
    client = connect(at_1304())
    sent = bytearray()
    receive = client.line.receive

    def overheard() -> bytes:
        data = receive()
        sent.extend(data)
        return data

    monkeypatch.setattr(client.line, "receive", overheard)
    with Bus(client.line.path, "scs", 1_000_000) as bus:
        bus.open()
        transact(bus)
    assert sent == bytes.fromhex(GOLDEN[name][0])


def test_a_write_covers_adjacent_registers(connect):
    client = connect(at_1304())
    client.ask(bytes.fromhex(GOLDEN["write acceleration, position, time, speed"][0]))
    names = ("goal_acceleration", "goal_position", "goal_time", "moving_speed")
    assert [client.read(name) for name in names] == [0x32, 1000, 0, 1000]


def test_a_registered_write_waits_for_its_action(connect):
    client = connect(at_1304(1), at_1304(2))
    client.ask(bytes.fromhex(GOLDEN["reg write"][0]))
    assert [client.read("registered_instruction", id) for id in (1, 2)] == [1, 0]
    assert (client.read("goal_position"), client.read("torque_enable")) == (1304, 0)
    client.ask(bytes.fromhex(GOLDEN["action"][0]))
    assert (client.read("registered_instruction"), client.read("torque_enable")) == (0, 1)
    assert [client.read("goal_position", id) for id in (1, 2)] == [2048, 1304]
    assert client.read("moving_speed") == 1000


def test_a_reset_is_that_of_the_manual_and_clears_all_but_the_id_for_good(connect):
    client = connect(at_1304(0, p_gain=16))
    assert client.read("present_position", 0) == 1304
    assert client.ask(bytes.fromhex("FFFF 00 02 06 F7")) == bytes.fromhex("FFFF 00 02 00 FD")
    for _ in range(2):
        client.run(0.5)
        assert [client.read(name, 0) for name in ("id", "homing_offset", "p_gain")] == [0, 0, 32]
        assert client.read("present_position", 0) == 2048
        client.say("power-cycle")


def test_all_servos_answer_a_broadcast_ping_and_nothing_else_that_is_broadcast(connect):
    client = connect(at_1304(7), at_1304(2), at_1304(253))
    answers = b"".join(instruction(id, 0) for id in (2, 7, 253))
    assert client.ask(instruction(BROADCAST, PING), 0.5) == answers
    for number, parameters in ((READ, (56, 2)), (WRITE, (21, 16)), (REG_WRITE, (21, 16)), (ACTION, ()), (RESET, ())):
        assert client.ask(instruction(BROADCAST, number, *parameters)) == b""


def test_listed_servos_answer_a_sync_read_in_the_order_of_the_list(connect):
    client = connect(at_1304(1), EmulatedFeetech(id=2), EmulatedFeetech(id=3))
    answer = client.ask(instruction(BROADCAST, SYNC_READ, 56, 2, 2, 9, 1))
    assert answer == instruction(2, 0, 0x00, 0x08) + instruction(1, 0, 0x18, 0x05)


def test_a_sync_write_gives_each_servo_its_part_and_is_not_answered(connect):
    client = connect(at_1304(1), at_1304(2), at_1304(3))
    packet = instruction(BROADCAST, SYNC_WRITE, 42, 2, 1, 0xE8, 0x03, 2, 0xD0, 0x07)
    # LEN is (L + 1)·N + 4 for L bytes to each of N servos.
    assert packet[3] == 3 * 2 + 4
    assert client.ask(packet) == b""
    assert [client.read("goal_position", id) for id in (1, 2, 3)] == [1000, 2000, 1304]


def test_status_level_0_leaves_answers_to_reads_and_pings(connect):
    client = connect(at_1304(status_return_level=0))
    for number, parameters in ((WRITE, (41, 1)), (REG_WRITE, (41, 2)), (ACTION, ()), (RESET, ())):
        assert client.ask(instruction(1, number, *parameters)) == b""
        if number == WRITE:
            assert client.read("goal_acceleration") == 1
    client.run(0.5)
    assert client.ask(instruction(1, PING)) == bytes.fromhex(DONE)


def test_the_wrong_baud_rate_is_silence(connect):
    client = connect(at_1304())
    for rate in (500_000, 115_200, 38_400):
        client.set_baud(rate)
        assert client.ask(instruction(1, PING)) == b""
    client.set_baud(1_000_000)
    assert client.ask(instruction(1, WRITE, 6, 4)) == bytes.fromhex(DONE)
    assert client.ask(instruction(1, PING)) == b""
    client.set_baud(115_200)
    assert client.ask(instruction(1, PING)) == bytes.fromhex(DONE)


@pytest.mark.parametrize("number", [PING, READ, WRITE, SYNC_READ])
def test_a_wrong_checksum_is_silence_and_has_no_effect(connect, number):
    client = connect(at_1304())
    packet = instruction(BROADCAST if number == SYNC_READ else 1, number, 41, 1, 1)
    assert client.ask(packet[:-1] + bytes((packet[-1] ^ 1,))) == b""
    assert client.read("goal_acceleration") == 0


def test_an_adapter_may_echo_the_request(connect):
    client = connect(at_1304())
    client.say("echo on")
    assert client.ask(instruction(1, PING)) == instruction(1, PING) + bytes.fromhex(DONE)


@pytest.mark.parametrize(
    ("number", "parameters"),
    [(PING, ()), (READ, (56, 2)), (WRITE, (41, 0)), (SYNC_READ, (56, 2, 1))],
    ids=["ping", "read", "write", "sync read"],
)
def test_two_servos_with_one_id_garble_about_four_answers_in_ten(connect, number, parameters):
    """Within 4 standard deviations of a share of 0.4 in 200; the other answers are those of one servo."""
    client = connect(EmulatedFeetech(), at_1304(), wire_time=False)
    to = BROADCAST if number == SYNC_READ else 1
    answers = [client.ask(instruction(to, number, *parameters), 0.001) for _ in range(200)]
    assert len({len(answer) for answer in answers}) == 1
    intact = [answer for answer in answers if sum(answer[2:]) & 0xFF == 0xFF]
    assert len(set(intact)) == 1
    assert len(answers) - len(intact) == pytest.approx(80, abs=4 * (200 * 0.4 * 0.6) ** 0.5)


def test_every_answer_carries_the_errors_as_bits(connect):
    """Bits 0 voltage, 1 encoder, 2 temperature, 3 current, 4 angle, 5 overload, as in register 65."""
    client = connect(at_1304())
    bits = load_table("sts").hardware_errors
    assert list(bits.values()) == [0, 1, 2, 3, 4, 5]
    for fault, bit in (("voltage", 0), ("encoder", 1), ("overheating", 2), ("overload", 5)):
        client.say(f"fault {fault}")
        assert client.ask(instruction(1, PING)) == instruction(1, 1 << bit)
        assert client.ask(instruction(1, READ, 65, 1)) == instruction(1, 1 << bit, 1 << bit)
        client.say("fault clear")
