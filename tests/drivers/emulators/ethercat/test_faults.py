"""Every fault of the console, as a master sees it."""

from __future__ import annotations

import re
import struct

import pytest

from drivers.emulators.console import Console
from drivers.emulators.ethercat.commands import add_commands
from drivers.emulators.ethercat.datagrams import Command
from drivers.emulators.ethercat.faults import WireFaults
from drivers.errors import CommandError
from tests.drivers.emulators.ethercat.wire import Datagram, Wire, packed, unpacked

SENT = bytearray(packed([Datagram(Command.BRD, 0, 0, b"\x01\x02"), Datagram(Command.LRW, 7, 0, b"\x03", 3)]))


@pytest.fixture
def faults():
    return WireFaults()


@pytest.fixture
def wire(faults):
    """Two slaves, the first in OP, and their console."""
    made = Wire(2)
    made.operate()
    console = Console()
    add_commands(console, made.slaves, faults)
    made.say = console.execute
    return made


def test_frames_are_lost_damaged_doubled_and_delayed_as_often_as_told(wire, faults):
    whole = (0.0, [bytes(SENT)])
    for line, damaged in (
        ("drop 2", (0.0, [])),
        ("truncate 2", (0.0, [bytes(SENT[: len(SENT) // 2])])),
        ("duplicate 2", (0.0, [bytes(SENT)] * 2)),
        ("delay 30 2", (0.03, [bytes(SENT)])),
    ):
        wire.say(line)
        assert [faults.apply(SENT) for _ in range(3)] == [damaged, damaged, whole], line
        wire.say(line)
        wire.say("heal")
        assert faults.apply(SENT) == whole


def test_a_garbled_frame_keeps_its_headers_alone(wire, faults):
    wire.say("corrupt")
    (garbled,) = faults.apply(SENT)[1]
    for sent, came in zip(unpacked(bytes(SENT)), unpacked(garbled), strict=True):
        assert sent[:3] == came[:3]
        assert not set(sent.data) & set(came.data)
        assert sent.counter != came.counter
    assert faults.apply(SENT)[1] == [bytes(SENT)]


def test_unplugged_and_muted(wire, faults):
    for line, unplugged, muted in (
        ("unplug on", True, [False, False]),
        ("unplug off", False, [False, False]),
        ("mute on slave=2", False, [False, True]),
        ("mute on", False, [True, True]),
        ("mute off slave=1", False, [False, True]),
        ("heal", False, [False, False]),
    ):
        wire.say(line)
        assert (faults.unplugged, [slave.muted for slave in wire.slaves]) == (unplugged, muted), line


def test_faults_of_the_drive(wire):
    """The line, the status word, the error code, the state and its code, of an enabled drive."""
    for line, status, error, state in (
        ("alert on slave=1", 0x12B7, 0, (8, 0)),
        ("warning on slave=1", 0x12B7, 0, (8, 0)),
        ("fault 0x7305 slave=1", 0x1208, 0x7305, (8, 0)),
        ("al-error 0x1A slave=1", 0x1208, 0xA000, (0x14, 0x1A)),
        ("temperature 95 slave=1", 0x1208, 0x4310, (8, 0)),
        ("supply 20", 0x1208, 0x3220, (8, 0)),
        ("supply 60", 0x1208, 0x3210, (8, 0)),
        ("power-cycle slave=1", 0x1250, 0, (1, 0)),
    ):
        wire.operate()
        for word in (0x00, 0x80, 0x06, 0x07, 0x0F):
            wire.control(word)
        slave, other = wire.slaves
        assert slave.drive.statusword == 0x1237, line
        wire.say(line)
        wire.wait(0)
        esc = dict(word.split("=") for word in wire.say("esc slave=1").split())
        assert int(esc["statusword"], 16) == slave.drive.statusword == status, line
        assert slave.dictionary[0x603F, 0].number == error, line
        assert slave.mechanism.driven == (status == 0x12B7), line
        assert (int(esc["code"], 16), esc["error"] == "1") == (state[1], state[1] > 0), line
        if line.startswith(("supply", "temperature")):
            for word in (0x00, 0x80):
                wire.control(word)
            assert slave.drive.statusword == 0x1208, "as long as its cause lasts it cannot be reset"
            wire.say(f"{line.split()[0]} off")
        assert other.drive.statusword == 0x1250
        wire.say("heal")
        wire.say("power-cycle")
    assert len(wire.say("esc").splitlines()) == 2


def test_an_emergency_goes_to_the_mailbox_of_the_one_that_was_named(wire):
    wire.say("emergency 0x8130 slave=1")
    assert wire.fetch() == (3, struct.pack("<HHB5x", 1 << 12, 0x8130, 1))


def test_commands_of_the_mechanism_are_told_which_slave(wire):
    wire.say("hand torque 15 slave=2")
    wire.say("supply 40 slave=2")
    assert [slave.mechanism.hand.torque for slave in wire.slaves] == [0.0, 15.0]
    assert [round(slave.dictionary[0x6079, 0].number, -3) for slave in wire.slaves] == [48_000, 40_000]
    assert "driven=0" in wire.say("state slave=2")


def test_help_names_every_fault_and_nonsense_is_refused(wire):
    named = set(re.findall(r"^[a-z-]+", wire.say("help"), re.MULTILINE))
    assert named == {
        *("drop", "delay", "corrupt", "truncate", "duplicate", "mute", "unplug", "power-cycle", "fault", "alert"),
        *("warning", "al-error", "emergency", "esc", "heal", "state", "load", "hand", "temperature", "supply", "stuck"),
        "help",
    }
    for line in (
        "drop many",
        "drop -1",
        "mute",
        "fault",
        "fault 0x12345",
        "delay",
        "unplug perhaps",
        "mute on slave=3",
    ):
        with pytest.raises(CommandError, match="usage"):
            wire.say(line)
