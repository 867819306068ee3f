"""Each fault of the console, as it looks at the client's end of the line."""

from __future__ import annotations

import pytest

from drivers.emulators.dynamixel import EmulatedDynamixel
from drivers.errors import CommandError

from .conftest import instruction1, instruction2

PING = instruction2(1, 1)
PACKETS = pytest.mark.parametrize("packet", [PING, instruction1(2, 1)], ids=["protocol 2", "protocol 1"])


@pytest.fixture
def client(connect):
    client = connect("xl330", "mx64")
    client.pong = client.ask(PING)
    client.pong1 = client.ask(instruction1(2, 1))
    return client


def test_drop_loses_as_many_answers_as_told_to_instructions_that_were_executed(client):
    client.say("drop 2")
    assert client.ask(instruction2(1, 3, 65, 0, 1)) == b""
    assert [client.ask(PING) for _ in range(2)] == [b"", client.pong]
    assert client.read("led") == 1
    client.say("drop")
    assert [client.ask(PING) for _ in range(2)] == [b"", client.pong]


def test_faults_of_one_servo_spare_the_other(client):
    client.say("drop 1 id=2")
    assert client.ask(PING) == client.pong
    assert client.ask(instruction1(2, 1)) == b""
    client.say("drop 0")
    assert client.ask(PING) == client.pong


def test_delay_holds_back_without_blocking(client):
    client.say("delay 200 1")
    assert client.ask(PING, patience=0.1) == b""
    assert client.ask(instruction1(2, 1)) == client.pong1
    assert client.ask(b"", patience=0.2) == client.pong


def test_late_answers_keep_their_old_data(client):
    """The answer that comes after the client gave up answers another question: nothing in it tells."""
    client.say("delay 50 1")
    client.ask(instruction2(1, 2, 144, 0, 2, 0))
    late = client.ask(instruction2(1, 2, 132, 0, 4, 0))
    assert late.count(b"\xff\xff\xfd") == 2


@PACKETS
def test_packets_are_damaged_as_told(client, packet):
    good = client.pong if packet is PING else client.pong1
    client.say("corrupt")
    bad = client.ask(packet)
    assert (len(bad), bad[:-1]) == (len(good), good[:-1])
    assert bad != good
    client.say("truncate")
    assert client.ask(packet) == good[: len(good) // 2]
    client.say("duplicate")
    assert client.ask(packet) == good * 2
    client.say("split")
    assert client.ask(packet, patience=0.006) == good[: len(good) // 2]
    assert client.ask(b"", patience=0.01) == good[len(good) // 2 :]
    assert client.ask(packet) == good
    client.say("corrupt 2")
    client.say("duplicate 1")
    assert client.ask(packet) == bad * 2, "faults combine"


@PACKETS
def test_garbage_and_false_headers_come_first(client, packet):
    good = client.pong if packet is PING else client.pong1
    client.say("garbage 1")
    noisy = client.ask(packet)
    assert noisy.endswith(good)
    assert 0 < len(noisy) - len(good) <= 8
    client.say("fake-header")
    misled = client.ask(packet)
    assert misled.endswith(good)
    false = misled[: -len(good)]
    length = false[5] | false[6] << 8 if packet is PING else false[3]
    assert false.startswith(b"\xff\xff")
    assert length > len(good)


def test_a_stale_answer_repeats_the_one_before_and_a_deaf_servo_writes_nothing(client):
    stale = client.ask(instruction2(1, 2, 65, 0, 1, 0))
    client.say("deaf")
    assert client.ask(instruction2(1, 3, 65, 0, 1)) == b""
    assert client.read("led") == 0
    client.write_all(led=1)
    client.say("stale")
    assert client.ask(instruction2(1, 2, 65, 0, 1, 0)) == stale
    assert client.read("led") == 1


def test_echo_returns_what_was_sent(client):
    client.say("echo on")
    assert client.ask(PING) == PING + client.pong
    assert client.ask(b"\x01\x02") == b"\x01\x02"
    client.say("echo off")
    assert client.ask(PING) == client.pong


def test_mute_servos_obey(client):
    client.say("mute on id=1")
    assert client.ask(instruction2(1, 3, 65, 0, 1)) == b""
    assert client.ask(instruction1(2, 1)) == client.pong1
    client.say("mute off")
    assert client.read("led") == 1


def test_registers_can_be_read_and_set_past_the_checks(client):
    assert client.say("get operating_mode") == "3"
    assert client.say("set operating_mode 16") == "ok"
    assert client.read("operating_mode") == 16
    client.say("set torque_enable 1 id=2")
    assert "driven=1" in client.say("state id=2")
    assert client.say("get p_gain id=2") == "32"


def test_commands_of_the_mechanism_are_told_which_servo(client):
    client.say("temperature 60 id=2")
    assert (client.read("present_temperature"), client.read("present_temperature", 2)) == (25, 60)
    client.say("hand angle 40 id=2")
    client.run(2.0)
    assert client.read("present_position", 2) > 2200
    assert client.read("present_position") == 2048
    client.say("stuck on id=2")
    stuck = client.read("present_position", 2)
    client.say("hand off id=2")
    client.run(2.0)
    assert client.read("present_position", 2) == stuck
    client.say("stuck off id=2")
    assert client.read("present_position", 2) < stuck


def test_the_first_servos_hand_is_the_shared_one(client):
    client.devices[0].mechanism.hand.torque = 0.05
    client.run(1.0)
    assert client.position > 0.05
    assert client.devices[0].mechanism.hand is not client.devices[1].mechanism.hand


@pytest.mark.parametrize(
    "line",
    [
        "drop many", "drop 1 2", "drop id=x", "delay", "echo", "mute maybe", "power", "get", "get speed",
        "set led", "set led x", "state id=9", "alert", "drop id=1 id=2", "power on id=9", "fault encoder id=2",
        "fault rust", "fault",
    ],
)  # fmt: skip
def test_lines_that_cannot_be_understood(client, line):
    with pytest.raises(CommandError, match="console"):
        client.say(line)


def test_help_lists_every_command(client):
    listed = {line.split()[0] for line in client.say("help").splitlines()}
    assert listed == {command.name for command in client.emulator.console.commands}
    assert {"drop", "fault", "unplug", "hand", "temperature", "bus", "state"} <= listed


def test_statistics(connect):
    client = connect(EmulatedDynamixel(servo="xl330"))
    client.ask(PING)
    client.ask(PING[:-1] + b"\x00")
    assert client.say("bus") == "packets=1 answers=1 broken=1 unheard_bytes=0 watchdog_trips=0 baud=1e+06"
