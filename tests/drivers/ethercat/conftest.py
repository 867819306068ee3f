"""A drive on an emulated segment, in a network of its own, and the servo that is made of it."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from core.servo.bench import Bench
from drivers import timing
from drivers.emulators.ethercat import EthercatEmulation
from drivers.emulators.process import EmulatorProcess
from drivers.registry import open_servo
from tests.drivers.machine import set_limits
from tests.waiting import wait_until

ADDRESS = "ethercat:ecm0:1?servo=erob80_50"
BENCH = Bench(mass=8.0, length=0.25)
WATCHDOG = f"{50.0 * timing.limits.emulated_watchdogs:g}"
"""What the emulated drive makes of the 50 ms it is told [ms]."""


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

    def until_off(self) -> None:
        """Wait until the first drive is not driven any more."""
        wait_until(lambda: not self.truth()["driven"], told=lambda: self.say("esc"))


def _words(line):
    return (word.split("=", 1) for word in line.split())


def drive(servo, goal, seconds):
    """Make cycles as the recorder does; returns the readings."""
    period = 0.002
    due = servo.clock.now()
    readings = []
    for _ in range(round(seconds / period)):
        due = max(due + period, servo.clock.now() - period)
        servo.clock.wait_until(due, lambda: False)
        servo.command(goal)
        readings.append(servo.read())
    return readings


def drive_until(servo, goal, true):
    """Make cycles until a reading is what `true` says; returns it."""

    def come():
        reading = drive(servo, goal, 0.01)[-1]
        return reading if true(reading) else None

    return wait_until(come)


def near(position, within=0.05):
    """Whether a reading is at rest at about this position [rad]."""
    return lambda reading: abs(reading.position - position) < within and abs(reading.velocity) < 0.05


@contextmanager
def real_limits(*names):
    """These limits of the driver as they really are, all without names: wanted to pass here, or in virtual time."""
    with pytest.MonkeyPatch.context() as patch:
        if names:
            set_limits(patch, **{name: getattr(timing.REAL, name) for name in names})
        else:
            patch.setattr(timing, "limits", timing.REAL)
        yield


@pytest.fixture(scope="module")
def emulator():
    """One drive, for all tests of a module."""
    with EmulatorProcess(EthercatEmulation(bench=BENCH)) as process:
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
        yield opened
