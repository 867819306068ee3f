import pytest

from drivers.dynamixel import preparation
from drivers.emulators.process import EmulatorProcess
from tests.drivers.dynamixel.bench import connected, emulation

ENDED = (
    *(f"{fault} 0" for fault in ("drop", "corrupt", "truncate", "split", "duplicate", "garbage", "fake-header")),
    "delay 0 0",
    "echo off",
    "mute off",
    "fault clear",
    "temperature off",
    "hand off",
    "power-cycle",
)
"""What ends every fault a test may have left behind."""


@pytest.fixture(autouse=True)
def patient_watchdog(monkeypatch):
    """Tests share their machine; those about the watchdog set it back."""
    monkeypatch.setattr(preparation, "WATCHDOG", 2.0)


@pytest.fixture(scope="module")
def x_series(tmp_path_factory):
    """An emulated XM430, whose port keeps its path when it is unplugged."""
    link = str(tmp_path_factory.mktemp("bus") / "port")
    with EmulatorProcess(emulation("xm430_w350", link=link)) as emulator:
        # The first look compiles the simulation.
        emulator.say("state")
        yield emulator


@pytest.fixture(scope="module")
def old_mx():
    """An emulated MX-106 with protocol 1 firmware."""
    with EmulatorProcess(emulation("mx106")) as emulator:
        # The first look compiles the simulation.
        emulator.say("state")
        yield emulator


@pytest.fixture(scope="module")
def xl320():
    """An emulated XL-320, protocol 2 with a table and no watchdog like the old ones."""
    with EmulatorProcess(emulation("xl320")) as emulator:
        # The first look compiles the simulation.
        emulator.say("state")
        yield emulator


@pytest.fixture(params=["x_series", "old_mx", "xl320"])
def emulator(request):
    """A servo of each series, freshly powered, without faults and held by a hand that lets go."""
    emulator = request.getfixturevalue(request.param)
    yield emulator
    for line in ENDED:
        emulator.say(line)


@pytest.fixture
def servo(emulator):
    with connected(emulator) as servo:
        yield servo
