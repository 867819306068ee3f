import pytest

from tests.drivers.faults.rig import Emulators
from tests.drivers.own_network import pytest_configure, pytest_runtest_logreport, pytest_runtest_protocol

__all__ = ["pytest_configure", "pytest_runtest_logreport", "pytest_runtest_protocol"]


@pytest.fixture(scope="module")
def emulators(tmp_path_factory):
    """Emulated servos for all tests of a module."""
    made = Emulators(tmp_path_factory.mktemp("ports"))
    yield made
    made.close()


@pytest.fixture
def rig(emulators):
    """What opens a servo and a recorder for a test."""
    return emulators.rig
