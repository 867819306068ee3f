"""What several tests look at: a session recorded for all of them, and a window that they leave as they found it."""

from contextlib import contextmanager

import pytest

from bench_gui.app import make_window
from bench_gui.controller import Controller
from core.motion.recording import RunHeader
from core.servo.bench import Bench
from drivers.recorder import record_inline
from drivers.registry import open_servo
from sessions import Session
from tests.gui.conftest import dispose
from tests.waiting import LONGEST


@contextmanager
def shared_window(home, first_seen):
    """A window at a task, with its settings in a folder `home`: one of its own costs most tests more than they look
    at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERVOBENCH_HOME", str(home))
        patch.setattr("bench_gui.main_window.AFTER_PAINT", round(1e3 * LONGEST))
        controller = Controller("simulated:mx106")
        window = make_window(controller, "light", first_seen)
        window.show()
        yield window
        window.leave()
        dispose(window, controller)


def record_session(path, runs):
    """Record runs of a simulated servo, each a trajectory, a mass [kg] at 0.1 m and a gain kp."""
    session = Session.create(path, path.name)
    with open_servo("simulated:mx106?clock=virtual") as servo:
        servo.connect()
        for motion, mass, kp in runs:
            settings = servo.model.default_settings(kp)
            header = RunHeader(
                trajectory=motion.name, bench=Bench(mass=mass, length=0.1), settings=settings, rate=200.0
            )
            assert record_inline(servo, motion, header, session.sink()).exit_status == "success"
