"""What holds for the tests of every room."""

import gc
from pathlib import Path

import pytest

CALM = Path(__file__).parent / "drivers"
"""Where `make test` looks for calm tests."""


def pytest_collection_modifyitems(items):
    """No calm test is left out because it stands where nobody looks."""
    lost = [item.nodeid for item in items if item.get_closest_marker("calm") and CALM not in item.path.parents]
    if lost:
        raise pytest.UsageError(f"calm tests belong into {CALM.name}: {', '.join(lost)}")


def pytest_collection_finish():
    """Exempt what was imported and collected from garbage collection: it stays to the end.

    Hundreds of thousands of objects would be looked through again after every window and while kernels compile.
    """
    gc.collect()
    gc.freeze()
