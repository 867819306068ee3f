import sys

import pytest


@pytest.fixture
def warm(monkeypatch):
    """Recorders, guardians and emulators that a test starts do so in milliseconds, where the system knows how."""
    if sys.platform == "linux":
        from tests.warm import keep_warm

        keep_warm(monkeypatch)
