"""A drive on an emulated segment, in a network of its own, and the servo that is made of it."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import pytest

from core.bench import Bench
from drivers.emulators.ethercat import EthercatEmulation
from drivers.emulators.process import EmulatorProcess
from drivers.recorder.process import FIFO_PRIORITY
from drivers.registry import open_servo
from tests.drivers.own_network import pytest_configure, pytest_runtest_logreport, pytest_runtest_protocol

__all__ = ["pytest_configure", "pytest_runtest_logreport", "pytest_runtest_protocol"]

ADDRESS = "ethercat:ecm0:1?servo=erob80_50"
BENCH = Bench(mass=8.0, length=0.25)
BEHIND = 5
"""Priority of a test: before all that is not in real time, but in nobody's way who has a frame to answer."""


class Segment:
    """What a test asks the truth."""

    def __init__(self, emulator: EmulatorProcess) -> None:
        self.emulator = emulator
        self.say = emulator.say

    def truth(self, slave: str = "") -> dict[str, float]:
        """Where a pendulum really is and whether it is driven."""
        return {name: float(value) for name, value in _words(self.say(f"state {slave}".strip()))}

    def esc(self, slave: str = "") -> dict[str, str]:
        """States and statistics of a slave."""
        return dict(_words(self.say(f"esc {slave}".strip())))

    def seconds_driven(self, patience: float = 10.0) -> float:
        """How long the first drive goes on being driven [s]."""
        begin = time.perf_counter()
        while self.truth()["driven"]:
            assert time.perf_counter() - begin < patience, self.say("esc")
            time.sleep(0.002)
        return time.perf_counter() - begin


def _words(line):
    return (word.split("=", 1) for word in line.split())


def drive(servo, goal, seconds, times=None):
    """Make cycles as the recorder does; returns the readings, and in `times` when they were made."""
    period = 0.002
    due = servo.clock.now()
    readings = []
    for _ in range(round(seconds / period)):
        due = max(due + period, servo.clock.now() - period)
        servo.clock.wait_until(due, lambda: False)
        servo.command(goal)
        readings.append(servo.read())
        if times is not None:
            times.append(servo.clock.now())
    return readings


def prefer(pid, priority):
    """Schedule a process (0: this one) in real time, 0 for as usual, where that is allowed.

    What is tested here is not the scheduler: a drive answers at once however busy the machine is.
    """
    policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
    with suppress(OSError):
        os.sched_setscheduler(pid, policy, os.sched_param(priority))


@pytest.fixture(scope="module")
def emulator():
    """One drive, for all tests of a module."""
    with EmulatorProcess(EthercatEmulation(bench=BENCH)) as process:
        prefer(process.pid, FIFO_PRIORITY)
        yield process


@pytest.fixture
def segment(emulator):
    """That drive as after power-on, nothing broken."""
    made = Segment(emulator)
    for line in ("heal", "stuck off", "supply off", "temperature off", "hand off", "power-cycle"):
        made.say(line)
    return made


@pytest.fixture
def servo(segment):
    """Connected and released, used as the recorder's process does."""
    with open_servo(ADDRESS) as opened:
        opened.connect()
        prefer(0, BEHIND)
        yield opened
        prefer(0, 0)
