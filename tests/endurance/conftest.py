"""The window of the GUI's tests, and what a bench records, for what must not grow, leak or lose."""

import pytest

from tests.endurance.long import make_session
from tests.gui.conftest import person, qapp, qtbot

__all__ = ["person", "qapp", "qtbot"]

MANY = 80
"""Runs enough for every kind to come several times."""


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """A session of many short runs, made as the benchmark of long sessions makes its 10,000."""
    path = tmp_path_factory.mktemp("many") / "many"
    make_session(path, MANY, 0.5).runs()
    return path
