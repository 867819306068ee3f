"""Faults of the console as they look at the client's end of the line; what the driver makes of them is its own test."""

from __future__ import annotations

import pytest

from drivers.errors import CommandError
from tests.drivers.emulators.client import instruction1, instruction2

PING = instruction2(1, 1)
LED_ON = instruction2(1, 3, 65, 0, 1)


@pytest.fixture
def client(connect):
    client = connect("xl330", "mx64")
    client.pong = client.ask(PING)
    client.pong1 = client.ask(instruction1(2, 1))
    return client


@pytest.mark.parametrize("packet", [PING, instruction1(2, 1)], ids=["protocol 2", "protocol 1"])
def test_answers_are_damaged_as_told(client, packet):
    good = client.pong if packet is PING else client.pong1
    half = len(good) // 2
    bad = good[:-1] + bytes((good[-1] ^ 0x10,))
    for line, answer in (("corrupt", bad), ("truncate", good[:half]), ("duplicate", good * 2)):
        client.say(line)
        assert [client.ask(packet) for _ in range(2)] == [answer, good], line
    client.say("corrupt 2")
    client.say("duplicate 1")
    assert [client.ask(packet) for _ in range(3)] == [bad * 2, bad, good]
    client.say("split")
    assert client.ask(packet, patience=0.006) == good[:half]
    assert client.ask(b"", patience=0.01) == good[half:]
    client.say("delay 200")
    assert (client.ask(packet, patience=0.1), client.ask(b"", patience=0.2)) == (b"", good)
    client.say("garbage 1")
    noisy = client.ask(packet)
    assert noisy.endswith(good)
    assert 0 < len(noisy) - len(good) <= 8
    client.say("fake-header")
    misled = client.ask(packet)
    assert misled.endswith(good)
    false = misled[: -len(good)]
    assert false.startswith(b"\xff\xff")
    assert (false[5] | false[6] << 8 if packet is PING else false[3]) > len(good)


def test_lost_answers_are_those_of_one_servo_to_instructions_that_were_executed(client):
    client.say("drop 2 id=1")
    assert client.ask(LED_ON) == b""
    assert client.ask(instruction1(2, 1)) == client.pong1
    assert [client.ask(PING) for _ in range(2)] == [b"", client.pong]
    assert client.read("led") == 1
    client.say("drop 0")
    assert client.ask(PING) == client.pong
    client.say("mute on id=1")
    assert client.ask(instruction2(1, 3, 65, 0, 0)) == b""
    assert client.ask(instruction1(2, 1)) == client.pong1
    client.say("mute off")
    assert client.read("led") == 0


def test_a_stale_answer_repeats_the_one_before_and_a_deaf_servo_writes_nothing(client):
    stale = client.ask(instruction2(1, 2, 65, 0, 1, 0))
    client.say("deaf")
    assert client.ask(LED_ON) == b""
    assert client.read("led") == 0
    client.write_all(led=1)
    client.say("stale")
    assert client.ask(instruction2(1, 2, 65, 0, 1, 0)) == stale
    assert client.read("led") == 1


def test_commands_of_the_mechanism_are_told_which_servo(client):
    client.say("temperature 60 id=2")
    assert (client.read("present_temperature"), client.read("present_temperature", 2)) == (25, 60)
    client.say("hand angle 40 id=2")
    client.run(2.0)
    assert client.read("present_position", 2) > 2200
    assert client.read("present_position") == 2048


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


def test_help_and_statistics(client):
    listed = {line.split()[0] for line in client.say("help").splitlines()}
    assert listed == {command.name for command in client.emulator.console.commands}
    client.ask(PING[:-1] + b"\x00")
    assert client.say("bus") == "packets=2 answers=2 broken=1 unheard_bytes=0 watchdog_trips=0 baud=1e+06"
