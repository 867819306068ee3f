import pytest

from tests.drivers.faults.rig import rig_with
from tests.drivers.own_network import pytest_configure, pytest_runtest_logreport, pytest_runtest_protocol

__all__ = ["pytest_configure", "pytest_runtest_logreport", "pytest_runtest_protocol"]


@pytest.fixture
def rig(warm):
    """What opens a servo and a recorder for a test."""
    return rig_with
