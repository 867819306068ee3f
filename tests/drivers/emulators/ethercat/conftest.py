"""Tests here that need network interfaces get a network of their own."""

import pytest

from tests.drivers.emulators.ethercat.wire import Wire


@pytest.fixture(autouse=True)
def limits_as_they_are(request):
    """Frames by hand take no time."""
    if request.node.get_closest_marker("own_network") is None:
        request.getfixturevalue("real_limits")


@pytest.fixture
def wire():
    """One slave in INIT with the station 0x1001."""
    made = Wire()
    made.address_slaves()
    return made
