"""What holds for the tests of every room."""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

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

# How long an example takes is the machine's affair.
hypothesis_settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("any machine")


def pytest_configure(config):
    config.addinivalue_line("markers", "exhaustive(reason): left to `make test-all`; the reason says what it adds")


def pytest_collection_modifyitems(items):
    """Refuse a test that is left out of `make test` without a reason."""
    silent = {item.nodeid for item in items for mark in item.iter_markers("exhaustive") if not mark.args}
    if silent:
        raise pytest.UsageError(f"exhaustive without a reason: {', '.join(sorted(silent))}")


def pytest_collection_finish():
    """Exempt what was imported and collected from garbage collection: it stays to the end.

    Hundreds of thousands of objects would be looked through again after every window and while kernels compile.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def impatient(monkeypatch):
    """Limits of processes started from here on, and of recorders, pass after seconds: for tests of what comes then."""
    monkeypatch.setenv("SERVOBENCH_TEST_PATIENCE", str(sitecustomize.IMPATIENT))
    from drivers.recorder import Recorder

    limits = Recorder.__init__.__kwdefaults__
    shorter = limits["heartbeat_limit"] * sitecustomize.IMPATIENT / sitecustomize.FACTOR
    monkeypatch.setitem(limits, "heartbeat_limit", shorter)
    window = sys.modules.get("bench_gui.state.heartbeat")
    if window is not None:
        monkeypatch.setattr(window, "WINDOW_LIMIT", window.WINDOW_LIMIT / sitecustomize.FACTOR)
