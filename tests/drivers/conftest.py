"""Everything here is about real time, and most of it waits: a few of these tests may run beside each other.

What the fault table says about how soon a motor is off is measured alone; what the Dynamixel emulator answers does not
depend on when.
"""

from pathlib import Path

import pytest

MARKS = {("faults",): pytest.mark.alone, ("emulators", "dynamixel"): None}


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and not item.get_closest_marker("calm"):
            parts = item.path.relative_to(here).parts
            mark = next((mark for folder, mark in MARKS.items() if parts[: len(folder)] == folder), pytest.mark.calm)
            if mark is not None:
                item.add_marker(mark)
