"""Everything here is about real time, but for the emulators: what they answer does not depend on when."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and here / "emulators" not in item.path.parents:
            item.add_marker(pytest.mark.alone)
