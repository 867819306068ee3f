"""The window without a screen: Qt's offscreen platform, sessions under the test's own folder, nothing left running."""

import gc
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from functools import partialmethod
from types import SimpleNamespace

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QObject, Qt
from pytestqt.qtbot import QtBot
from shiboken6 import delete, isValid

from bench_gui.app import make_application, make_window
from bench_gui.controller import Controller
from bench_gui.shell.tasks import RECORD
from bench_gui.theme import load_theme, themes
from core.identification.identify import IdentificationRequest, identify
from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from drivers.recorder import record_inline
from drivers.registry import open_servo
from drivers.servo import ServoState
from sessions import Session
from sessions.results.folder import new_result_folder
from sessions.results.identification import save_identification
from tests.waiting import LIMIT, LONGEST, wait_until


class PatientBot(QtBot):
    """Waits for what happens as all tests do, see `tests.waiting`, not for the five seconds of pytest-qt."""

    waitActive = partialmethod(QtBot.waitActive, timeout=round(1e3 * LIMIT))
    waitExposed = partialmethod(QtBot.waitExposed, timeout=round(1e3 * LIMIT))

    def waitUntil(self, condition, told=""):
        """Let the window live until a condition returns True, or None without an AssertionError."""

        def met():
            with suppress(AssertionError):
                return condition() in (None, True)

        wait_until(met, lambda: self.wait(2), told)

    @contextmanager
    def waitSignal(self, signal, check_params_cb=lambda *_: True):
        """Wait after the block until a signal has come; gives the arguments of the first one, in `args`."""
        heard = SimpleNamespace(args=None)

        def hear(*values):
            if heard.args is None and check_params_cb(*values):
                heard.args = [*values]

        signal.connect(hear)
        try:
            yield heard
            self.waitUntil(lambda: heard.args is not None, f"{signal} did not come")
        finally:
            signal.disconnect(hear)


@pytest.fixture
def qtbot(qapp, request):
    return PatientBot(request)


class Person:
    """What a person at the window can do: look, click, wait."""

    def __init__(self, qtbot, window):
        self.qtbot, self.window, self.controller = qtbot, window, window.controller

    def click(self, widget):
        assert widget.isVisible(), widget.accessibleName()
        assert widget.isEnabled(), f"{widget.accessibleName()}: {widget.toolTip()}"
        self.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    def until(self, condition):
        self.qtbot.waitUntil(condition, lambda: f"the window says: {self.message!r}, {self.queue_reason!r}")

    def connect(self):
        self.click(self.window.status_bar.connect_button)
        self.until(lambda: self.state is ServoState.READY)

    def record(self, duration=0.6):
        """Begin a short run and wait until samples come."""
        self.window.show_task(RECORD)
        self.window.record.form.field("duration").setValue(duration)
        self.click(self.window.record.run_button)

    def hang(self):
        """Once a run is on, let nothing run in the window's thread until the servo has been taken away."""
        recorder = self.controller.servo.recorder
        # A machine that is busy enough has taken it away already.
        self.until(lambda: self.window.record.live.count > 10 or self.state is ServoState.FAULT)
        wait_until(lambda: recorder.state is not ServoState.ENABLED, told="the servo was left to a window that hangs")

    def open(self, session):
        with self.qtbot.waitSignal(self.controller.library.opened):
            self.controller.library.open(session)

    @property
    def state(self):
        return self.controller.servo.view.state

    @property
    def message(self):
        """Every notice that can be read now."""
        return "\n".join(self.window.messages.texts)

    @property
    def queue_reason(self):
        """Why the queue holds."""
        return self.window.record.start.reason.text()


@pytest.fixture(scope="session")
def qapp():
    return make_application()


def dispose(window, controller):
    """Let go of a closed window and of everything behind it.

    Qt's connections keep Python objects alive that Python's collector cannot see; hundreds of windows in one process
    would make every later test slower.
    """
    delete(window)
    for part in [*vars(controller).values(), controller]:
        if isinstance(part, QObject) and isValid(part):
            delete(part)


@pytest.fixture(autouse=True)
def warm(monkeypatch):
    """A process of the window starts in milliseconds, where the system knows how."""
    if sys.platform == "linux":
        from tests.warm import keep_warm

        keep_warm(monkeypatch)


@pytest.fixture(autouse=True)
def light():
    """Every test begins in the light theme, as the application does."""
    if themes.current.name != "light":
        themes.use(load_theme("light"))


@pytest.fixture
def person(request, qtbot, tmp_path, monkeypatch):
    """At the task that the module calls FIRST_SEEN: a page that no test looks at costs more than the rest."""
    gc.collect()  # the windows before, which nobody holds any more
    gc.freeze()  # as in tests/conftest.py: what is left stays
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    # Most tests look at one page or two; that the others are made in time is tested in test_window.
    monkeypatch.setattr("bench_gui.main_window.AFTER_PAINT", round(1e3 * LONGEST))
    controller = Controller("simulated:mx106")
    window = make_window(controller, "light", getattr(request.module, "FIRST_SEEN", RECORD))
    window.show()
    yield Person(qtbot, window)
    # A test that ends while something is under way is no person who could be asked about it.
    window.leave()
    busy, fitting = controller.servo.busy, controller.fitting.active
    dispose(window, controller)
    assert not busy
    assert not fitting


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A session of three short runs, recorded without the window."""
    session = Session.create(tmp_path_factory.mktemp("sessions") / "recorded", "recorded")
    bench = Bench(mass=1.0, length=0.1)
    servo = open_servo("simulated:mx106?clock=virtual")
    with servo:
        servo.connect()
        settings = servo.model.default_settings()
        for name in ("sin_time_square", "sin_sin", "lift_and_drop"):
            trajectory = make_trajectory(name, 2.5)
            header = RunHeader(trajectory=name, bench=bench, settings=settings, rate=200.0)
            assert record_inline(servo, trajectory, header, session.sink()).exit_status == "success"
    return session.path


@pytest.fixture
def session(recorded, tmp_path):
    """A private copy of the recorded session."""
    return shutil.copytree(recorded, tmp_path / "recorded")


@pytest.fixture(scope="session")
def identified(recorded, tmp_path_factory):
    """The recorded session with M1 and M2 identified, without the window."""
    path = shutil.copytree(recorded, tmp_path_factory.mktemp("identified") / "identified")
    recordings = Session.open(path).load_all()
    request = IdentificationRequest(servo="mx106", models=("m1", "m2"), trials=96)
    save_identification(identify(request, recordings), new_result_folder(path))
    return path
