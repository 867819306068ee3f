"""Limits in time: longer ones for busy machines, and none of those beside a real servo."""

import os
from dataclasses import fields

import pytest

from drivers import timing
from drivers.dynamixel import packets
from drivers.errors import BusError
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
    with pytest.raises(ValueError, match="SERVOBENCH_PATIENCE is a factor of 1 or more"):
        REAL.times(factor)


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
