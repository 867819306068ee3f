"""What holds for the tests of every room."""

import gc
import os
import tempfile
from pathlib import Path

import pytest

os.environ["SERVOBENCH_SERVOS"] = tempfile.mkdtemp(prefix="servos-")
"""No test reads or changes a person's own servos; processes that tests start inherit it."""

ROOMS = {"calm": ("drivers", "cookbook"), "alone": ("cli", "gui")}
"""Where `make test` looks for tests that are not run beside all others."""


def pytest_collection_modifyitems(items):
    """No such test is left out because it stands where nobody looks."""
    here = Path(__file__).parent
    for mark, rooms in ROOMS.items():
        places = {here / room for room in rooms}
        marked = (item for item in items if item.get_closest_marker(mark))
        lost = [item.nodeid for item in marked if places.isdisjoint(item.path.parents)]
        if lost:
            raise pytest.UsageError(f"{mark} tests belong into {' or '.join(rooms)}: {', '.join(lost)}")


def pytest_collection_finish():
    """Exempt what was imported and collected from garbage collection: it stays to the end.

    Hundreds of thousands of objects would be looked through again after every window and while kernels compile.
    """
    gc.collect()
    gc.freeze()
