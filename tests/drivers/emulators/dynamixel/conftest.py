import pytest

from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from tests.drivers.emulators.client import clients


@pytest.fixture
def connect(monkeypatch):
    """Make a bus of servos and return its client."""
    yield from clients(monkeypatch, DynamixelEmulation, EmulatedDynamixel)
