"""Every fault the console knows has an effect a master sees."""

from __future__ import annotations

import math
import os
import re
import signal
import socket
import struct

import pytest

from drivers.emulators.ethercat.datagrams import ETHERTYPE, FIRST_DATAGRAM, Command
from drivers.errors import CommandError
from tests.drivers.emulators.ethercat.conftest import LOST, SHORT, open_bench
from tests.waiting import LIMIT, wait_until

pytestmark = pytest.mark.own_network


def test_help_names_every_fault(bench):
    named = set(re.findall(r"^[a-z-]+", bench.say("help"), re.MULTILINE))
    assert named >= {
        *("drop", "delay", "corrupt", "truncate", "duplicate", "mute", "unplug", "power-cycle", "fault", "alert"),
        *("warning", "al-error", "emergency", "esc", "heal", "state", "load", "hand", "temperature", "supply", "stuck"),
    }


def test_dropped_frames(running):
    running.say("drop 2")
    assert running.loses()
    assert running.loses()
    assert running.exchange() == 3


def test_a_dropped_frame_did_reach_the_slave(running):
    running.enable()
    running.say("drop")
    running.command(0x00)
    assert running.loses()
    assert running.truth()["driven"] == 0


def test_delayed_frames(running):
    def late() -> bool:
        running.say("delay 200 1")
        return running.loses()

    # A busy machine may look only when it has come.
    wait_until(late)
    # What comes too late is not taken for the answer to the next frame.
    wait_until(lambda: running.exchange(SHORT) == 3)


def test_corrupt_frames(running):
    running.say("corrupt")
    assert running.exchange() not in (LOST, 3)
    assert running.exchange() == 3


def test_truncated_frames(running):
    """pysoem may take the rest of the frame before for the missing half: the inputs are old whatever the counter."""
    running.enable()
    running.cycle_until(lambda: running.inputs()[2] > 100_000, 0x0F, 1000)
    before = running.inputs()
    running.say("truncate 1")
    running.exchange()
    assert running.inputs() == before
    running.cycle_until(lambda: running.inputs()[1] > before[1], 0x0F, 1000)


def test_duplicate_frames(running):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88A4)) as ear:
        ear.bind(("ecm0", 0x88A4))
        ear.settimeout(LIMIT)
        running.say("duplicate 1")
        assert running.exchange() == 3
        assert ear.recv(2000) == ear.recv(2000)
        assert running.exchange() == 3


def test_an_emulator_that_stood_still_answers_the_last_frame_with_a_number(running):
    first, last = 0x0130, 0x0000
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88A4)) as wire:
        wire.bind(("ecm0", 0x88A4))
        wire.settimeout(LIMIT)
        os.kill(running.emulator.pid, signal.SIGSTOP)
        for register in (first, last):
            wire.send(broadcast_read(register))
        os.kill(running.emulator.pid, signal.SIGCONT)
        assert struct.unpack_from("<BBHH", wire.recv(2000), FIRST_DATAGRAM) == (Command.BRD, 5, 1, last)
        running.say("help")  # it looks at its console when nothing is left to answer
        wire.setblocking(False)
        with pytest.raises(BlockingIOError):
            wire.recv(2000)


def broadcast_read(register: int) -> bytes:
    """A frame with the number 5 that reads two bytes of every slave."""
    datagram = struct.pack("<BBHHHH2sH", Command.BRD, 5, 0, register, 2, 0, bytes(2), 0)
    frame = bytes(12) + struct.pack(">H", ETHERTYPE) + struct.pack("<H", 0x1000 | len(datagram)) + datagram
    return frame.ljust(60, b"\0")


def test_a_muted_slave(running):
    running.say("mute on")
    assert running.exchange() == 0
    running.say("mute off")
    assert running.exchange() == 3


def test_one_of_two_is_muted():
    with open_bench(servos=("erob80_50", "erob80_100")) as bench:
        bench.find(2)
        bench.configure()
        bench.operate()
        bench.say("mute on slave=2")
        assert bench.exchange() == 3
        bench.say("mute off slave=2")
        assert bench.exchange() == 6
        with pytest.raises(CommandError, match="1 to 2"):
            bench.say("mute on slave=3")
        bench.say("alert on slave=1")
        bench.exchange()
        first, second = (slave.input[0] & 0x80 for slave in bench.master.slaves)
        assert (first, second) == (0x80, 0)
        assert len(bench.say("esc").splitlines()) == 2
        assert bench.say("state slave=2") != bench.say("help")


def test_unplugged(running):
    running.say("unplug on")
    assert running.loses()
    assert running.states() == [(0, 0)]
    running.say("unplug off")
    assert running.exchange() == 3


def test_power_cycle_and_recovery(running):
    running.enable()
    running.say("power-cycle")
    assert running.truth()["driven"] == 0
    assert running.exchange() == 0
    assert running.esc()["al"] == "INIT"
    running.find()
    running.configure()
    running.operate()
    running.enable()


def test_recovery_by_pysoem_forgets_sync0(running):
    """recover() and reconfig() bring the slave back to SAFEOP without SYNC0: config_func has to ask for it."""
    running.slave.config_func = lambda position: running.map_torque()
    running.say("power-cycle")
    assert running.exchange() == 0
    running.slave.recover(500)
    running.slave.reconfig(500)
    running.request(4)
    running.reach(4)
    assert running.slave.sdo_read(0x1C32, 1) == b"\x01\x00"


def test_a_fault_of_the_drive(running):
    running.enable()
    emergencies = running.collect_emergencies()
    running.say("fault 0x7305")
    running.exchange()
    assert running.inputs()[0] == 0x1208
    assert running.truth()["driven"] == 0
    assert running.slave.sdo_read(0x603F, 0) == b"\x05\x73"
    assert running.slave.sdo_read(0x1001, 0) == b"\x01"
    assert [emergency.error_code for emergency in emergencies] == [0x7305]


@pytest.mark.parametrize("name", ["alert", "warning"])
def test_warnings(running, name):
    running.enable()
    running.say(f"{name} on")
    running.exchange()
    assert running.inputs()[0] == 0x12B7
    running.say(f"{name} off")
    running.exchange()
    assert running.inputs()[0] == 0x1237


def test_an_al_error(running):
    running.enable()
    running.say("al-error 0x1A")
    assert running.states() == [(0x14, 0x1A)]
    assert running.exchange() == 3
    assert running.inputs()[0] == 0x1208
    assert running.truth()["driven"] == 0


@pytest.mark.parametrize(
    ("line", "code", "end"),
    [
        ("temperature 95", 0x4310, "temperature off"),
        ("supply 20", 0x3220, "supply off"),
        ("supply 60", 0x3210, "supply off"),
    ],
)
def test_what_the_drive_protects_itself_from(running, line, code, end):
    running.enable()
    running.collect_emergencies()
    running.say(line)
    running.exchange()
    assert running.inputs()[0] & 0x4F == 0x08
    assert running.slave.sdo_read(0x603F, 0) == struct.pack("<H", code)
    # As long as its cause lasts the fault cannot be reset.
    for controlword in (0x00, 0x80):
        running.command(controlword)
        running.exchange()
    running.exchange()
    assert running.inputs()[0] & 0x4F == 0x08
    running.say(end)
    for controlword in (0x00, 0x80):
        running.command(controlword)
        running.exchange()
    running.cycle_until(running.status_is(0x40), 0x00)


def test_a_stuck_encoder(running):
    running.say("stuck on")
    assert running.exchange() == 3
    stuck = running.inputs()[1]
    running.say("hand torque 15")
    angle = 2 * math.pi * stuck / 524288
    running.cycle_until(lambda: abs(running.truth()["position"] - angle) > 0.2, 0x00)
    assert running.inputs()[1:3] == (stuck, 0)
    running.say("stuck off")
    running.say("hand off")
    assert running.exchange() == 3
    assert abs(running.inputs()[1] - stuck) > 1000


def test_nonsense_is_refused(bench):
    for line in (
        "drop many",
        "drop -1",
        "mute",
        "fault",
        "fault 0x12345",
        "delay",
        "unplug perhaps",
        "mute on slave=0",
    ):
        with pytest.raises(CommandError, match="usage"):
            bench.say(line)
