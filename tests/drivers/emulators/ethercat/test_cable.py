"""The cable: made, found, removed, and what is said when it cannot be."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from core.base.errors import InputError
from drivers.emulators.ethercat import EthercatEmulation, emulator, veth
from drivers.emulators.ethercat.datagrams import ETHERTYPE, FIRST_DATAGRAM, Command
from drivers.emulators.process import EmulatorProcess
from drivers.errors import BusError
from drivers.simulated.hand import SharedHand
from tests.drivers.emulators.ethercat.wire import Datagram, packed
from tests.waiting import LIMIT, wait_until

OTHER = EthercatEmulation(interface="left0", master_interface="right0")
own_network = pytest.mark.own_network


def interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(scope="module")
def segment():
    """Two drives, for all tests that need some."""
    with EmulatorProcess(EthercatEmulation(servos=("erob80_50", "erob80_100"), strict=False, sync_limit=0)) as process:
        yield process


@own_network
def test_a_terminated_emulator_removes_the_cable_it_made():
    with EmulatorProcess(OTHER) as process:
        assert process.addresses == ("ethercat:right0:1?servo=erob80_50",)
        assert interfaces() >= {"left0", "right0"}
        os.kill(process.pid, signal.SIGTERM)
        wait_until(lambda: not process.alive)
    assert not interfaces() & {"left0", "right0"}


@own_network
def test_a_cable_that_exists_is_used_and_left():
    subprocess.run(["ip", "link", "add", "right0", "type", "veth", "peer", "name", "left0"], check=True)
    OTHER.open(SharedHand()).close()
    assert interfaces() >= {"right0", "left0"}
    veth.remove("left0")
    assert not veth.exists("right0")


@own_network
def test_two_emulators_do_not_share_an_interface(segment):
    with pytest.raises(BusError, match="another emulator"):
        EthercatEmulation().open(SharedHand())


@own_network
@pytest.mark.parametrize("error", [BusError, KeyboardInterrupt])
@pytest.mark.parametrize("step", ["_claim", "veth.make", "veth._quieten", "veth._ip", "_open"])
def test_an_emulator_that_fails_half_way_leaves_nothing_open(step, error, monkeypatch):
    OTHER.open(SharedHand()).close()
    before = open_files(), interfaces()
    holder, _, name = f"drivers.emulators.ethercat.emulator.{step}".rpartition(".")

    def fail(*arguments):
        raise error("this step")

    with monkeypatch.context() as patch:
        patch.setattr(f"{holder}.{name}", fail)
        with pytest.raises(error, match="this step"):
            OTHER.open(SharedHand())
    assert (open_files(), interfaces()) == before
    OTHER.open(SharedHand()).close()


@own_network
def test_an_interface_that_goes_away_under_way_is_told(monkeypatch):
    before = open_files()
    monkeypatch.setattr(emulator.veth, "make", lambda interface, peer: False)
    with pytest.raises(BusError, match=r"cannot listen on 'left0'.*see `ip link`"):
        OTHER.open(SharedHand())
    assert open_files() == before


@own_network
def test_names_that_are_wrong_or_somebody_elses_are_told():
    for name in ("", "a b", "a/b", "sixteencharacters"):
        with pytest.raises(BusError, match="is not a valid name of a network interface"):
            veth.make(name, "right0")
    veth.make("one0", "two0")
    with pytest.raises(BusError, match="name another pair"):
        veth.make("three0", "two0")
    veth.remove("one0")


def test_missing_rights_are_told_from_wrong_names(monkeypatch):
    monkeypatch.setattr(veth, "may_administer", lambda: False)
    with pytest.raises(BusError, match=r"no network interface 'left0'.*unshare -Urn"):
        OTHER.open(SharedHand())
    with pytest.raises(BusError, match="is not a valid name"):
        EthercatEmulation(interface="no such name").open(SharedHand())


def test_rights_are_read_from_the_kernel():
    (effective,) = re.findall(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text("ascii"))
    assert veth.may_administer() == (int(effective, 16) >> 12 & 3 == 3)


@pytest.mark.parametrize("options", [{"servos": ()}, {"drift": 0.0011}, {"drift": -0.0011}])
def test_impossible_segments(options):
    with pytest.raises(InputError, match="EtherCAT emulation"):
        EthercatEmulation(**options)


@own_network
def test_an_emulator_that_stood_still_answers_the_last_frame_with_a_number(segment):
    def broadcast_read(register: int) -> bytes:
        frame = bytearray(packed([Datagram(Command.BRD, 0, register, bytes(2))]))
        frame[FIRST_DATAGRAM + 1] = 5
        return bytes(frame).ljust(60, b"\0")

    first, last = 0x0130, 0x0000
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE)) as wire:
        wire.bind(("ecm0", ETHERTYPE))
        wire.settimeout(LIMIT)
        os.kill(segment.pid, signal.SIGSTOP)
        for register in (first, last):
            wire.send(broadcast_read(register))
        os.kill(segment.pid, signal.SIGCONT)
        assert struct.unpack_from("<BBHH", wire.recv(2000), FIRST_DATAGRAM) == (Command.BRD, 5, 2, last)
        segment.say("help")  # it looks at its console when nothing is left to answer
        wire.setblocking(False)
        with pytest.raises(BlockingIOError):
            wire.recv(2000)
