"""Limits in time: longer ones for busy machines, and none of those beside a real servo."""

import os
import subprocess
from dataclasses import fields

import pytest

from core.base.errors import InputError
from drivers import timing
from drivers.errors import BusError
from drivers.ethercat import nic
from drivers.serial_bus import packets
from drivers.timing import LONGEST_PATIENT, REAL, STANDS_STILL_FROM, UNHURRIED, TimeLimits


@pytest.mark.parametrize("factor", [10.0, STANDS_STILL_FROM, 100.0])
def test_every_limit_is_longer_by_the_factor_but_none_for_long(factor):
    longer = REAL.times(factor)
    assert {field.name for field in fields(TimeLimits)} > UNHURRIED
    for field in fields(TimeLimits):
        real, now = getattr(REAL, field.name), getattr(longer, field.name)
        assert type(now) is type(real), field.name
        if field.type != "bool":
            usual = real if field.name in UNHURRIED else min(factor * real, LONGEST_PATIENT)
            assert now == pytest.approx(usual), field.name
    assert longer.simulated_stands_still == (factor >= STANDS_STILL_FROM)
    assert longer.ethercat_release < longer.ethercat_wait < longer.answer == pytest.approx(factor * 0.035)


@pytest.mark.parametrize("factor", [0.99, 0.0, -1.0, float("nan"), float("inf")])
def test_no_limit_is_shortened(factor):
    with pytest.raises(ValueError, match="lengthened by a factor of 1 or more"):
        REAL.times(factor)


@pytest.mark.parametrize("text", ["0.5", "nan", "ten", ""])
def test_what_is_no_factor_is_one_line_of_a_command(monkeypatch, text):
    monkeypatch.setenv(timing.PATIENCE, text)
    with pytest.raises(InputError, match=f"SERVOBENCH_PATIENCE is a factor of 1 or more, not '{text}'; unset it"):
        timing.limits_by_environment()


@pytest.mark.own_network
@pytest.mark.parametrize("kind", ["dummy", "bridge", "macvlan", "vlan"])
def test_of_network_interfaces_only_an_emulators_cable_is_taken_with_longer_limits(kind):
    """A bridge or a VLAN has no device of its own, but a real drive may be behind it."""
    ip("add", "real0", "type", "dummy")
    below = ("link", "real0") if kind in ("macvlan", "vlan") else ()
    made = ip("add", *below, "name", "seen0", "type", kind, *(("id", "5") if kind == "vlan" else ()))
    ip("add", "cable0", "type", "veth", "peer", "name", "cable1")
    try:
        assert nic.is_virtual_cable("cable0")
        assert not nic.is_virtual_cable("real0")
        assert not nic.is_virtual_cable("nowhere0")
        if made:  # this kernel has the kind
            assert not nic.is_virtual_cable("seen0")
            with pytest.raises(BusError, match="seen0: SERVOBENCH_PATIENCE is for emulated servos only"):
                timing.require_real_limits("seen0", lambda: nic.is_virtual_cable("seen0"))
        timing.require_real_limits("cable0", lambda: nic.is_virtual_cable("cable0"))
    finally:
        for name in ("seen0", "real0", "cable0"):
            ip("delete", name)


def ip(*words):
    return subprocess.run(["ip", "link", *words], capture_output=True, check=False).returncode == 0


def test_a_port_that_may_have_a_real_servo_is_not_opened_with_longer_limits(monkeypatch):
    ours, theirs = os.openpty()
    path = os.ttyname(theirs)
    try:
        packets.Port(path, 1_000_000).closePort()  # an emulator's
        monkeypatch.setattr(packets, "PSEUDO_TERMINALS", ("/elsewhere",))
        with pytest.raises(BusError, match="for emulated servos only"):
            packets.Port(path, 1_000_000)
        monkeypatch.setattr(timing, "limits", REAL)
        packets.Port(path, 1_000_000).closePort()  # the lock of the refused one is gone
    finally:
        os.close(ours)
        os.close(theirs)
