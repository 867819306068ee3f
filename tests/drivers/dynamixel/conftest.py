import pytest

from tests.drivers.dynamixel.bench import connected, emulation
from tests.drivers.dynamixel.virtual import Bus, virtual_time


@pytest.fixture
def clock(monkeypatch):
    """The time in which everything emulated here lives."""
    return virtual_time(monkeypatch)


@pytest.fixture
def emulate(clock):
    """Makes emulated buses."""
    buses = []

    def make(source):
        buses.append(Bus(source, clock))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


@pytest.fixture
def x_series(emulate):
    """An emulated XM430."""
    return emulate(emulation("xm430_w350"))


@pytest.fixture
def old_mx(emulate):
    """An emulated MX-106 with protocol 1 firmware."""
    return emulate(emulation("mx106"))


@pytest.fixture
def xl320(emulate):
    """An emulated XL-320, protocol 2 with a table and no watchdog like the old ones."""
    return emulate(emulation("xl320"))


@pytest.fixture
def sts(emulate):
    """An emulated Feetech STS3215."""
    return emulate(emulation("sts3215"))


@pytest.fixture
def scs(emulate):
    """An emulated Feetech SCS0009, which cannot hold a torque."""
    return emulate(emulation("scs0009"))


@pytest.fixture(params=["x_series", "old_mx", "xl320", "sts", "scs"])
def emulator(request):
    """A servo of each series."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def servo(emulator):
    with connected(emulator) as servo:
        yield servo
