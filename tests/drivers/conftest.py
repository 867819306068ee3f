"""Everything here is about real time, and most of it waits: a few of these tests may run beside each other.

The fault table measures how soon a motor is off and runs alone; what the emulators answer does not depend on when.
"""

from pathlib import Path

import pytest

MARKS = {"faults": pytest.mark.alone, "emulators": None}


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            mark = MARKS.get(item.path.relative_to(here).parts[0], pytest.mark.calm)
            if mark is not None:
                item.add_marker(mark)
