"""Everything here is about real time, and most of it waits: a few of these tests may run beside each other.

What the Dynamixel emulator answers does not depend on when.
"""

from pathlib import Path

import pytest

TIMELESS = ("emulators", "dynamixel")
LONG = (
    "faults/test_dynamixel.py",
    "dynamixel/test_models.py",
    "faults/test_ethercat.py",
    "test_recorder.py",
    "dynamixel/test_hazards.py",
)
"""Where files are shared out among processes, these go first: none is left to one process at the end."""


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    order = {here / file: place for place, file in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
    for item in items:
        if here in item.path.parents and item.path.relative_to(here).parts[:2] != TIMELESS:
            item.add_marker(pytest.mark.calm)
