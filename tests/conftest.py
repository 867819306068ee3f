"""What holds for the tests of every room."""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections import Counter
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

HERE = Path(__file__).parent
SLOW = HERE / "slow.txt"
"""Checked in: seconds of every test function, or whole file where what its tests share takes long, that `make quick`
leaves out. `make slow` writes it anew; seven that alone notice a fault of `tests/bench/faults.toml` are left quick."""
LONGEST_QUICK, LONGEST_SHARED = 0.1, 0.3
"""Longest times of a test, and of a set-up that the tests of a file share [s]."""


def pytest_addoption(parser):
    parser.addoption("--note-slow", action="store_true", help=f"write what takes long into {SLOW.name}")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(config))


def noted_slow():
    """Test function or file, as it is named from the tests' folder, to seconds."""
    lines = SLOW.read_text("utf-8").splitlines() if SLOW.exists() else []
    return {name: float(seconds) for seconds, name in (line.split() for line in lines)}


def pytest_ignore_collect(collection_path, config):
    """Files that are slow as a whole are not even imported for `make quick`."""
    if config.option.markexpr == "not slow" and collection_path.suffix == ".py":
        return str(collection_path.relative_to(HERE)) in noted_slow() or None
    return None


def pytest_collection_modifyitems(items):
    """Mark what is slow, and begin with the longest files: none is left to one process at the end."""
    noted, seconds = noted_slow(), Counter()
    for name, took in noted.items():
        seconds[name.partition("::")[0]] += took
    for item in items:
        file = str(item.path.relative_to(HERE))
        if file in noted or f"{file}::{function_of(item.nodeid)}" in noted:
            item.add_marker("slow")
    items.sort(key=lambda item: -seconds[str(item.path.relative_to(HERE))])


def function_of(nodeid):
    """The test's name without its file and parameters."""
    return nodeid.partition("::")[2].partition("[")[0]


class Durations:
    """Sees how long tests and what they share take, and says so where the checked-in file does not."""

    def __init__(self, config):
        self._config = config
        self._tests, self._shared, self._longest = Counter(), Counter(), Counter()

    def pytest_runtest_logreport(self, report):
        file = report.nodeid.partition("::")[0].removeprefix("tests/")
        test = f"{file}::{function_of(report.nodeid)}"
        self._tests[test] += report.duration
        kind = self._shared if report.when == "setup" else self._longest
        key = file if report.when == "setup" else test
        kind[key] = max(kind[key], report.duration)

    @property
    def slow(self):
        """Tests and files that belong into the file, name to seconds."""
        files = {file for file, took in self._shared.items() if took > LONGEST_SHARED}
        found = Counter()
        for test, took in self._tests.items():
            file = test.partition("::")[0]
            if file in files:
                found[file] += took
            elif self._longest[test] > LONGEST_QUICK:
                found[test] = took
        return found

    def pytest_terminal_summary(self, terminalreporter):
        slow = self.slow
        if self._config.option.note_slow:
            lines = (f"{took:.1f} {name}" for name, took in sorted(slow.items()))
            SLOW.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        elif self._config.option.markexpr == "not slow":
            for name, took in slow.most_common(10):
                terminalreporter.write_line(f"slow, but not in {SLOW.name}: {name} ({took:.1f} s)")


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
