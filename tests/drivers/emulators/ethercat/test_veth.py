"""The cable: made, found, removed, and what is said when it cannot be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from core.errors import InputError
from drivers.emulators.ethercat import EthercatEmulation, veth
from drivers.emulators.process import EmulatorProcess
from drivers.errors import BusError
from drivers.simulated.hand import SharedHand
from tests.waiting import wait_until


def interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


@pytest.mark.own_network
def test_the_emulator_makes_its_cable_and_removes_it():
    with EmulatorProcess(EthercatEmulation(interface="left0", master_interface="right0")) as emulator:
        assert emulator.addresses == ("ethercat:right0:1?servo=erob80_50",)
        assert interfaces() >= {"left0", "right0"}
    assert not interfaces() & {"left0", "right0"}


@pytest.mark.own_network
def test_a_terminated_emulator_removes_its_cable():
    with EmulatorProcess(EthercatEmulation(interface="left0", master_interface="right0")) as emulator:
        assert emulator.pid is not None
        os.kill(emulator.pid, signal.SIGTERM)
        wait_until(lambda: not emulator.alive)
        assert not interfaces() & {"left0", "right0"}


@pytest.mark.own_network
def test_a_cable_that_exists_is_used_and_left():
    subprocess.run(["ip", "link", "add", "ecm0", "type", "veth", "peer", "name", "ecs0"], check=True)
    with EmulatorProcess(EthercatEmulation()):
        pass
    assert interfaces() >= {"ecm0", "ecs0"}
    veth.remove("ecs0")
    assert not veth.exists("ecm0")


@pytest.mark.own_network
def test_two_emulators_do_not_share_an_interface():
    with EmulatorProcess(EthercatEmulation()), pytest.raises(BusError, match="another emulator"):
        EmulatorProcess(EthercatEmulation()).start()


@pytest.mark.own_network
@pytest.mark.parametrize("name", ["", "a b", "a/b", "sixteencharacters"])
def test_wrong_names(name):
    with pytest.raises(BusError, match="is not a valid name of a network interface"):
        veth.make(name, "ecm0")


@pytest.mark.own_network
def test_half_a_cable_is_somebody_elses():
    veth.make("one0", "two0")
    with pytest.raises(BusError, match="name another pair"):
        veth.make("three0", "two0")
    veth.remove("one0")


def test_missing_rights_are_told_from_wrong_names(monkeypatch):
    monkeypatch.setattr(veth, "may_administer", lambda: False)
    with pytest.raises(BusError, match=r"no network interface 'ecs7'.*unshare -Urn"):
        EthercatEmulation(interface="ecs7", master_interface="ecm7").open(SharedHand())
    with pytest.raises(BusError, match="is not a valid name"):
        EthercatEmulation(interface="no such name").open(SharedHand())


def test_a_missing_program_is_named(monkeypatch):
    monkeypatch.setattr(veth.shutil, "which", lambda *words, **options: None)
    monkeypatch.setattr(veth, "may_administer", lambda: True)
    with pytest.raises(BusError, match="iproute2"):
        veth.make("ecs9", "ecm9")


def test_rights_are_read_from_the_kernel():
    effective = next(
        line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith("CapEff")
    )
    assert veth.may_administer() == (int(effective.split()[1], 16) >> 12 & 3 == 3)


@pytest.mark.parametrize("options", [{"servos": ()}, {"drift": 0.1}])
def test_impossible_segments(options):
    with pytest.raises(InputError, match="EtherCAT emulation"):
        EthercatEmulation(**options)
