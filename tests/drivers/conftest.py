"""Everything here is about real time, and most of it waits: a few of these tests may run beside each other.

What the Dynamixel emulator answers does not depend on when.
"""

from pathlib import Path

import pytest

TIMELESS = ("emulators", "dynamixel")
LONG = (
    "drivers/faults/test_dynamixel.py",
    "drivers/dynamixel/test_models.py",
    "drivers/faults/test_ethercat.py",
    "cookbook/test_recipes.py",
    "drivers/test_recorder.py",
    "drivers/dynamixel/test_hazards.py",
    "drivers/dynamixel/test_recording.py",
    "drivers/ethercat/test_faults.py",
    "drivers/ethercat/test_servo.py",
    "drivers/ethercat/test_recording.py",
)
"""Where files are shared out among processes, these go first: none is left to one process at the end."""


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    order = {here.parent / file: place for place, file in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
    for item in items:
        if here in item.path.parents and item.path.relative_to(here).parts[:2] != TIMELESS:
            item.add_marker(pytest.mark.calm)
