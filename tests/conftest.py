"""What holds for the tests of every room."""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

os.environ["SERVOBENCH_SERVOS"] = tempfile.mkdtemp(prefix="servos-")
"""No test reads or changes a person's own servos; processes that tests start inherit it."""
atexit.register(shutil.rmtree, os.environ["SERVOBENCH_SERVOS"], ignore_errors=True)
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

PATIENCE = str(Path(__file__).parent / "patience")
if PATIENCE not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    # Every Python process that a test starts, or what it starts, runs the file below first; this one does it now.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (PATIENCE, os.environ.get("PYTHONPATH"))))
    sys.modules.pop("sitecustomize", None)
    sys.path.insert(0, PATIENCE)
import sitecustomize  # noqa: E402

for module in sitecustomize.IN_VIRTUAL_TIME:
    sitecustomize.LIMITS.pop(module, None)

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


@pytest.fixture
def impatient(monkeypatch):
    """Limits of processes started from here on, and of recorders, pass after seconds: for tests of what comes then."""
    factor = 10.0
    monkeypatch.setenv("SERVOBENCH_TEST_PATIENCE", str(factor))
    from drivers.recorder import Recorder

    limits = Recorder.__init__.__kwdefaults__
    monkeypatch.setitem(limits, "heartbeat_limit", limits["heartbeat_limit"] * factor / sitecustomize.FACTOR)
