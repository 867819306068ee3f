"""One window for several tests that leave it as they found it: a window of its own costs most of them more than they
look at."""

from contextlib import contextmanager

import pytest

from bench_gui.app import make_window
from bench_gui.controller import Controller
from tests.gui.conftest import LONG, dispose


@contextmanager
def shared_window(home, first_seen):
    """A window at a task, with its settings in a folder `home`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERVOBENCH_HOME", str(home))
        patch.setattr("bench_gui.main_window.AFTER_PAINT", LONG)
        controller = Controller("simulated:mx106")
        window = make_window(controller, "light", first_seen)
        window.show()
        yield window
        window.leave()
        dispose(window, controller)
