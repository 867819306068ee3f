"""Memory that is free goes back to the system, and never while a servo is driven."""

import platform
import subprocess
import sys

import pytest

import bench_gui.controller
from bench_gui.shell.tasks import BENCH
from core.trajectories import make_trajectory

FIRST_SEEN = BENCH

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


def test_the_window_gives_memory_back_when_no_servo_is_driven(person, session, monkeypatch):
    times = []
    monkeypatch.setattr(bench_gui.controller, "return_free_memory", lambda: times.append(1))
    controller = person.controller
    assert controller._tidying.isActive()
    controller._tidying.stop()

    def gives():
        times.clear()
        controller._tidying.timeout.emit()
        return len(times) == 1

    assert gives()
    person.open(session)
    person.connect()
    controller.queue.record([make_trajectory("sin_sin", 1.0)])
    person.until(lambda: controller.servo.busy)
    assert not gives()
    person.until(lambda: not controller.queue.active and not controller.servo.busy)
    assert gives()
