import pytest

from tests.drivers.faults.rig import rig_with


@pytest.fixture
def rig(warm):
    """What opens a servo and a recorder for a test."""
    return rig_with
