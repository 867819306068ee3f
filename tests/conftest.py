"""What holds for the tests of every room."""

import atexit
import ctypes
import gc
import os
import shutil
import subprocess
import sys
import tempfile

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

os.environ["SERVOBENCH_SERVOS"] = tempfile.mkdtemp(prefix="servos-")
"""No test reads or changes a person's own servos; processes that tests start inherit it."""
atexit.register(shutil.rmtree, os.environ["SERVOBENCH_SERVOS"], ignore_errors=True)
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

os.environ.setdefault("SERVOBENCH_PATIENCE", "100")
"""No verdict is about a busy machine: see `drivers.timing`. The real limits are shown by `tests.bench.release`."""

from drivers import timing  # noqa: E402 - reads what is set above

# How long an example takes is the machine's affair.
hypothesis_settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("any machine")


CLONE_NEWNET = 0x40000000
OWN_NETWORK = pytest.StashKey[bool]()


def pytest_configure(config):
    config.addinivalue_line("markers", "exhaustive(reason): left to `make test-all`; the reason says what it adds")
    config.addinivalue_line("markers", "own_network: needs raw sockets and equal interface names without clashes")
    config.stash[OWN_NETWORK] = _enter_own_network()


def _enter_own_network() -> bool:
    """Give this process and those it starts a network of their own, with a loopback; False where it is not allowed."""
    if sys.platform != "linux" or shutil.which("ip") is None or ctypes.CDLL(None).unshare(CLONE_NEWNET):
        return False
    return subprocess.run(["ip", "link", "set", "lo", "up"], check=False).returncode == 0


def pytest_runtest_setup(item):
    if item.get_closest_marker("own_network") and not item.config.stash[OWN_NETWORK]:
        pytest.skip("needs a network of its own: run as root, or below `unshare -Urn`")


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
def real_limits(monkeypatch):
    """The product's own limits, in this process: for time that tests make pass."""
    monkeypatch.setattr(timing, "limits", timing.REAL)


@pytest.fixture
def impatient(monkeypatch):
    """Limits that pass within seconds, here and in processes started from here on: for tests of what comes then."""
    monkeypatch.setenv(timing.PATIENCE, "10")
    monkeypatch.setattr(timing, "limits", timing.REAL.times(10.0))
