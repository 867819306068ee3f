"""How smooth the window is and how fast it starts: `python -m tests.bench.window`, or as part of `make bench`.

Figures of a shared machine scatter; every ratio is taken within one run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.printing import line

TICK = 16
"""Period of the tick that is watched [ms]."""
RUNS, RUN_LENGTH = 25, 6.0
"""Of the session that is opened under watch; lengths in s."""
DRAGS = 60
"""Frames of a plot that is panned."""
RATE = 1000.0
"""Of the simulated stream [Hz]."""
STARTS = 7
BARE = """
import time; begin = time.perf_counter()
import sys
from PySide6.QtWidgets import QApplication, QMainWindow
import pyqtgraph as pg
app = QApplication([]); window = QMainWindow(); plot = pg.PlotWidget(); window.setCentralWidget(plot)
plot.plot([0, 1], [0, 1]); window.show(); app.processEvents(); window.grab()
print(time.perf_counter() - begin)
"""
OURS = """
import time; begin = time.perf_counter()
from bench_gui.app import make_application, make_window
from bench_gui.controller import Controller
app = make_application(); controller = Controller(); window = make_window(controller, "light")
window.show(); app.processEvents(); window.grab()
print(time.perf_counter() - begin)
window.leave()
"""


def cold_start() -> None:
    """Time from the interpreter's first line to a painted window, against a bare window with one plot."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SERVOBENCH_HOME": folder, "QT_QPA_PLATFORM": "offscreen"}
        # Every start but a person's first finds the program's bytecode.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def start(program: str) -> float:
            done = subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
            )
            return float(done.stdout.split()[-1])

        start(OURS)
        pairs = [(start(OURS), start(BARE)) for _ in range(STARTS)]
    ours, bare = (sorted(column)[STARTS // 2] for column in zip(*pairs, strict=True))
    line("window painted after", f"{ours:.2f} s", "≤ 2.5 s")
    line("against a bare PySide6 + pyqtgraph window", f"{ours / bare:.2f} ×", "≤ 2.5 ×")


class Ticks:
    """Intervals between the events of a timer that should come every TICK."""

    def __init__(self) -> None:
        from PySide6.QtCore import Qt, QTimer

        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK)
        self._timer.timeout.connect(self._tick)
        self._last = self._last_busy = 0.0
        self.intervals: list[float] = []
        self.busy: list[float] = []
        """Of each interval, what this thread itself computed [s]: on a shared machine the rest is the others'."""

    def start(self) -> None:
        """Begin anew."""
        self.intervals, self.busy = [], []
        self._last, self._last_busy = time.perf_counter(), time.thread_time()
        self._timer.start()

    def stop(self) -> np.ndarray:
        """Return the intervals [ms]."""
        self._timer.stop()
        return 1e3 * np.array(self.intervals)

    def _tick(self) -> None:
        now, busy = time.perf_counter(), time.thread_time()
        self.intervals.append(now - self._last)
        self.busy.append(busy - self._last_busy)
        self._last, self._last_busy = now, busy

    def say(self, what: str) -> None:
        """Stop, and print the longest interval."""
        longest = self.stop().max()
        line(f"longest gap: {what}", f"{longest:.0f} ms", f"≤ 300 ms; {1e3 * max(self.busy):.0f} ms of its own")


def until(condition: Callable[[], Any], limit: float = 180.0) -> None:
    """Run the event loop until a condition holds."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop, end = QEventLoop(), time.monotonic() + limit
    timer = QTimer()
    held = False

    def look() -> None:
        # What holds now may not any more once the loop has ended: others go on meanwhile.
        nonlocal held
        held = held or bool(condition())
        if held or time.monotonic() > end:
            loop.quit()

    timer.timeout.connect(look)
    timer.start(20)
    loop.exec()
    timer.stop()
    if not held:
        raise TimeoutError("the window did not get there")


def run_for(seconds: float) -> None:
    """Run the event loop for a while."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, seconds + 60)


class Bench:
    """A window in this process, connected to a simulated servo that streams at RATE."""

    def __init__(self, folder: str, address: str = "simulated:mx106") -> None:
        os.environ["SERVOBENCH_HOME"] = folder
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        from bench_gui.app import make_application, make_window
        from bench_gui.controller import Controller
        from bench_gui.shell.tasks import RECORD

        self.app: Any = make_application()
        self.controller = Controller(address)
        self.window = make_window(self.controller, "light")
        self.window.resize(1280, 720)
        self.window.show()
        self.window.show_task(RECORD)
        self.controller.setup.rate = RATE

    def connect(self) -> None:
        """Connect and wait for the answer."""
        from drivers.servo import ServoState

        self.controller.servo.connect_servo()
        until(lambda: self.controller.servo.view.state is ServoState.READY)

    def record(self, seconds: float) -> None:
        """Begin one long run."""
        from core.motion.trajectories import make_trajectory

        self.controller.queue.record([make_trajectory("sin_sin", seconds)])
        until(lambda: self.controller.servo.view.done > 10)

    def fit(self) -> None:
        """Identify on both cores until stopped."""
        from bench_gui.identify.fit.settings import FitSettings

        self.controller.identifying.identify(
            FitSettings(models=("m6",), command_path="on", trials=50_000_000, validation="none")
        )
        until(lambda: self.controller.fitting.latest is not None)


def smoothness(seconds: float = 60.0) -> None:
    """The window's tick while it streams at 1 kHz and an identification uses every core."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        ticks = Ticks()
        bench.connect()
        bench.record(4.0)
        until(lambda: not bench.controller.queue.active and len(bench.controller.library.runs) == 1)
        for name, recording, fitting in (("idle", 0, 0), ("1 kHz stream", 1, 0), ("1 kHz stream and a fit", 1, 1)):
            length = seconds if fitting else 10.0
            if fitting:
                bench.fit()
            if recording:
                bench.record(length + 20.0)
            run_for(2.0)
            ticks.start()
            run_for(length)
            found = ticks.stop()
            skipped = bench.controller.servo.view.skipped
            line(
                f"{TICK} ms tick, {name}: p50 / p95 / max",
                f"{np.percentile(found, 50):.1f} / {np.percentile(found, 95):.1f} / {found.max():.0f} ms",
                f"p95 ≤ 20, max ≤ 300; {skipped} cycles skipped" if recording else "",
            )
            if recording:
                bench.controller.queue.abort()
                until(lambda: not bench.controller.servo.busy)
        bench.window.leave()


def gaps() -> None:
    """The longest time the window's thread is away, phase by phase, in the program as a person starts it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SERVOBENCH_HOME"] = folder
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        session = _session_of(Path(folder), RUNS)
        from PySide6.QtCore import QTimer

        from bench_gui.app import make_application, run_window

        make_application()
        ticks = Ticks()

        def begin() -> None:
            ticks.start()
            _use(session, ticks)

        QTimer.singleShot(0, begin)
        run_window(None)


def _session_of(folder: Path, runs: int) -> Path:
    """A session recorded at the simulated servo, without a window."""
    from core.motion.recording import RunHeader
    from core.motion.trajectories import make_trajectory
    from core.servo.bench import Bench as Pendulum
    from drivers.recorder import record_inline
    from drivers.registry import open_servo
    from sessions import Session

    session = Session.create(folder / "gaps", "gaps")
    with open_servo("simulated:mx106?clock=virtual") as servo:
        servo.connect()
        settings = servo.model.default_settings()
        for number in range(runs):
            name = ("sin_time_square", "sin_sin", "up_and_down", "lift_and_drop", "chirp")[number % 5]
            header = RunHeader(trajectory=name, bench=Pendulum(mass=1.0, length=0.1), settings=settings, rate=200.0)
            record_inline(servo, make_trajectory(name, RUN_LENGTH), header, session.sink())
    return session.path


def _use(session: Path, ticks: Ticks) -> None:
    """Go through the window and print the longest gap of each phase."""
    from PySide6.QtWidgets import QApplication

    from bench_gui.main_window import MainWindow
    from bench_gui.shell.tasks import COMPARE, TASKS

    app: Any = QApplication.instance()
    window = next(widget for widget in app.topLevelWidgets() if isinstance(widget, MainWindow))
    if window.tour is not None:
        window.tour.end()

    def phase(name: str, act: Callable[[], object], seconds: float, ready: Callable[[], object] = lambda: True) -> None:
        ticks.start()
        act()
        run_for(seconds)
        until(ready)
        ticks.say(name)

    def show(number: int) -> None:
        phase(f"{TASKS[number][0]} shown", lambda: window.show_task(number), 1.0)

    run_for(5.0)
    ticks.say("first 5 s")
    for number in range(len(TASKS)):
        show(number)
    window.show_task(COMPARE)
    library, comparison = window.controller.library, window.controller.comparison

    def drawn() -> bool:
        return len(library.runs) == RUNS and not comparison.waiting and comparison.picture.overlays is not None

    phase(f"{RUNS} runs opened on Compare", lambda: library.open(session), 1.0, drawn)
    for theme in ("dark", "light"):
        phase(f"{theme} theme", lambda theme=theme: window.appearance.choose(theme), 1.0)
    for number in range(len(TASKS)):
        show(number)
    window.resize(1920, 1080)
    window.show_task(COMPARE)
    library.select([run.id for run in library.runs[:5]])
    run_for(1.0)
    until(lambda: len(comparison.picture.recordings) == 5 and not comparison.waiting)
    run_for(1.0)
    frames = _dragged(app, window.compare.plots.charts[0])
    line(f"frame while 5 runs are panned at {window.width()} × {window.height()}: p50 / p95",
         f"{np.percentile(frames, 50):.0f} / {np.percentile(frames, 95):.0f} ms", "≤ 33 ms")  # fmt: skip
    window.leave()


def _dragged(app: Any, chart: Any) -> np.ndarray:
    """Drag a chart to and fro; time of each frame, from the mouse's event to its picture [ms]."""
    from PySide6.QtCore import QEvent, QPointF, Qt
    from PySide6.QtGui import QMouseEvent

    view, middle = chart.viewport(), QPointF(chart.width() / 2, chart.height() / 2)
    none, left = Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton

    def send(kind: QEvent.Type, button: Qt.MouseButton, buttons: Qt.MouseButton, shift: float) -> float:
        time.sleep(0.012)  # the plot ignores events that come faster
        begin, place = time.perf_counter(), middle + QPointF(shift, 0.0)
        where = view.mapToGlobal(place.toPoint()).toPointF()
        app.sendEvent(view, QMouseEvent(kind, place, where, button, buttons, Qt.KeyboardModifier.NoModifier))
        app.processEvents()
        return 1e3 * (time.perf_counter() - begin)

    send(QEvent.Type.MouseButtonPress, left, left, 0.0)
    shifts = 120.0 * np.sin(np.linspace(0.0, 2.0 * np.pi, DRAGS))
    frames = [send(QEvent.Type.MouseMove, none, left, float(shift)) for shift in shifts]
    send(QEvent.Type.MouseButtonRelease, left, none, 0.0)
    return np.array(frames[3:])


def stops() -> None:
    """From Esc to the servo's confirmed release, in every state a person can press it in."""
    from PySide6.QtCore import QEvent, Qt
    from PySide6.QtGui import QKeyEvent

    from bench_gui.place.placing import Stage
    from core.motion.trajectories import make_trajectory
    from drivers.recorder import Phase
    from drivers.servo import ServoState

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        controller = bench.controller
        servo = controller.servo
        servo.stop_lock = 0.2
        bench.connect()
        found: dict[str, float] = {}
        states = {"ready": None, "approach": Phase.APPROACH, "run": Phase.RUN, "return": Phase.RETURN, "hold": None}
        for name, phase in states.items():
            if name == "hold":
                run_for(3.0)  # until the pendulum hangs still
                controller.placing.hold()
                until(lambda: controller.placing.stage is Stage.MEASURING)
            elif phase is not None:
                controller.queue.record([make_trajectory("sin_sin", 0.8 if name == "return" else 20.0)])
                until(lambda phase=phase: servo.view.phase is phase and servo.view.kind == "moving")
            key = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
            bench.app.sendEvent(bench.window, key)
            until(lambda: servo.view.state is ServoState.FAULT and servo.stop_latency is not None)
            found[name] = 1e3 * float(servo.stop_latency)
            until(lambda: not servo.busy)
            servo.acknowledge()
            until(lambda: servo.view.state is ServoState.READY and servo.locked_for == 0)
        bench.window.leave()
    each = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
    line("Esc to confirmed release, slowest state", f"{max(found.values()):.1f} ms", f"≤ 50; {each}")


def main() -> None:
    """Print the figures; arguments name those wanted."""
    wanted = sys.argv[1:] or ["start", "gaps", "smooth", "stops"]
    if "start" in wanted:
        cold_start()
    if "gaps" in wanted:
        gaps()
    if "smooth" in wanted:
        smoothness()
    if "quick" in wanted:
        smoothness(10.0)
    if "stops" in wanted:
        stops()


if __name__ == "__main__":
    main()
