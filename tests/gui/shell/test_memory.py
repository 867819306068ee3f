"""Memory that is free goes back to the system, and never while a servo is driven."""

import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest

import bench_gui.controller
from bench_gui.controller import Controller

HOLES = """
from bench_gui.work.memory import return_free_memory, return_memory_early
from tests.endurance.vitals import vitals

return_memory_early()
blocks = [bytes(3000) for _ in range(20_000)]
held = vitals().own
del blocks[:-1]  # The last keeps the heap from shrinking by itself.
left = vitals().own
given = return_free_memory()
print(held - left, held - vitals().own, given)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives holes back")
def test_pages_of_holes_are_given_back():
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True)
    by_itself, asked, given = done.stdout.split()
    assert float(by_itself) < 10.0, "without holes this shows nothing [MB]"
    assert float(asked) > 50.0
    assert given == "True"


def test_the_window_gives_memory_back_when_no_servo_is_driven(qapp, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    times = []
    monkeypatch.setattr(bench_gui.controller, "return_free_memory", lambda: times.append(1))
    controller = Controller()
    assert controller._tidying.isActive()
    driven = SimpleNamespace(busy=True, holding=False, close=lambda: None)
    for recorder, given in ((None, 1), (driven, 1), (SimpleNamespace(**{**vars(driven), "busy": False}), 2)):
        controller.servo._recorder = recorder
        controller._tidying.timeout.emit()
        assert len(times) == given
    controller.close()
    assert not controller._tidying.isActive()
