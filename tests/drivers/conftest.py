"""Everything here is about real time, and most of it waits: a few of these tests may run beside each other.

What the Dynamixel emulator answers does not depend on when.
"""

from pathlib import Path

import pytest

TIMELESS = ("emulators", "dynamixel")


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.path.relative_to(here).parts[:2] != TIMELESS:
            item.add_marker(pytest.mark.calm)
