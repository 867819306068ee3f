import pytest

from drivers.emulators.feetech import EmulatedFeetech, FeetechEmulation
from tests.drivers.emulators.client import clients


@pytest.fixture
def connect(monkeypatch):
    """Make a bus of servos and return its client."""
    yield from clients(monkeypatch, FeetechEmulation, EmulatedFeetech)
