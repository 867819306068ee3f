"""A day at the bench in the real window: recorded, looked at, noted, fitted, exported, stopped, connected anew.

The servo is a simulated one whose clock runs faster than the machine's, so that a day of the bench passes in minutes.
What protects people and machine (heartbeat, stall, emergency stop) stays in the machine's own seconds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.window import Bench, run_for, until
from tests.endurance.evidence import AskedRun, Ledger

TRAJECTORIES = ("sin_time_square", "sin_sin", "up_and_down", "lift_and_drop")
PATIENCE = 240.0
"""What a person asked for has to come within this time of the machine [s]."""
FEW_TRIALS = 48
SHORT_LOCK = 0.2
"""A person looks so long after an emergency stop [s]; five seconds of the machine would be most of the day."""


class Day:
    """A person with a routine; each `round` is everything a person does around a few runs."""

    def __init__(self, folder: Path, speed: float, rate: float = 100.0) -> None:
        """folder: takes the program's home, the session and everything written; rate [Hz] on the bench's clock."""
        self.bench = Bench(str(folder / "home"), f"simulated:mx106?speed={speed:g}")
        self.window, self.controller = self.bench.window, self.bench.controller
        self.controller.setup.rate = rate
        self.controller.servo.stop_lock = SHORT_LOCK
        self.folder = folder
        self.session = folder / "day"
        self.out = folder / "out"
        self.out.mkdir(exist_ok=True)
        self.ledger = Ledger(folder / "runs.csv")
        self.samples = self.skipped = 0
        self.incidents: Counter[str] = Counter()
        """What went wrong by itself, by what the window said."""
        self.done: Counter[str] = Counter()
        """What a person did, and how often."""
        self.doing = ""
        self._masses = itertools.cycle((0.5, 1.0, 0.75))
        self._expected = False
        self.controller.queue.ended.connect(self._note)
        self.controller.message.connect(self._hear)

    # The day.

    def arrive(self) -> None:
        """Make a session and connect."""
        self._do(self._create)
        self._do(self.connect)

    def begin(self) -> None:
        """Come in, and let the window make its pages."""
        self.arrive()
        for number in range(7):
            self.window.show_task(number)
            self.wait(0.05)

    def round(self, number: int) -> None:
        """One stretch of work; rare things come round now and then."""
        for every, act in self._routine():
            if number % every == every - 1:
                self._do(act)

    def everything(self) -> None:
        """All that a person ever does, once: what is loaded or kept at the first time is there afterwards."""
        for _, act in self._routine():
            self._do(act)

    def end(self) -> None:
        """Go home."""
        self.window.leave()

    # What a person does.

    def connect(self) -> None:
        """Connect and wait for the answer."""
        self.bench.connect()

    def record(self, trajectories: tuple[str, ...] = TRAJECTORIES) -> None:
        """Hang another load and record the paper's trajectories."""
        from core.motion.trajectories import make_trajectory

        self.window.show_task(1)
        self.controller.setup.edit_bench("load", mass=next(self._masses))
        self.controller.queue.record([make_trajectory(name) for name in trajectories])
        self.until(lambda: not self.controller.queue.active and not self.controller.servo.busy)
        self.settle()

    def look_at_runs(self) -> None:
        """Filter, sort, scroll and select runs."""
        from PySide6.QtCore import Qt

        panel = self.window.session
        for text in ("s", "si", "sin", "sin mass>0.6", "-excluded", ""):
            panel.head.filter.setText(text)
            self.wait(0.02)
        for order in (Qt.SortOrder.DescendingOrder, Qt.SortOrder.AscendingOrder):
            panel.view.sortByColumn(4, order)
            self.wait(0.02)
        panel.view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        panel.view.scrollToTop()
        self.wait(0.05)
        panel.view.scrollToBottom()
        panel.select_shown()
        self.select_last()

    def note(self) -> None:
        """Annotate, exclude, trim, undo and redo."""
        editing, undo = self.window.session.editing, self.controller.undo
        newest = self.controller.library.runs[-2:]
        runs = [run.id for run in newest]
        editing.set_note(runs[-1], "looks good")
        editing.set_tags(runs[-1], ("good", "monday"))
        editing.exclude(runs, "test run")
        editing.trim(runs[-1], 0.1 * newest[-1].duration, 0.8 * newest[-1].duration)
        for _ in range(3):
            undo.undo()
            self.wait(0.02)
        undo.redo()
        undo.undo()
        self.settle()

    def compare(self) -> None:
        """Look at the last runs over what models say."""
        self.window.show_task(4)
        self.select_last()
        self.wait(0.05)
        self.until(lambda: not self.controller.comparison.waiting)

    def ask_and_answer(self) -> None:
        """Open and close the dialogs and the command palette."""
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        questions = self.window.session.questions
        self.select_last(1)
        for ask in (questions.ask_trim, questions.ask_tags, questions.ask_reason):
            ask()
            self.settle()
            if questions.dialog is not None:
                questions.dialog.close()

        def close() -> None:
            modal = QApplication.activeModalWidget()
            if modal is not None:
                modal.close()

        QTimer.singleShot(50, close)
        self.window.show_palette()
        self.window.help.show()
        self.wait(0.05)
        if self.window.help.window is not None:
            self.window.help.window.close()
        self.select_last()

    def place(self) -> None:
        """Hold a torque, pull the pendulum out by hand, let it come to rest, release."""
        from bench_gui.place.placing import Stage

        placing = self.controller.placing
        self.window.show_task(2)
        placing.plan.set_torques([0.4])
        placing.hold()
        self.until(lambda: placing.stage in (Stage.MEASURING, Stage.IDLE))
        for goal in (0.15, -0.1):
            placing.hand.pull_to(goal)
            self.wait(0.1)
            placing.hand.let_go()
            self.wait(0.15)
            placing.capture()
        placing.release()
        self.until(lambda: placing.stage is Stage.IDLE and not self.controller.servo.busy)

    def identify(self) -> None:
        """Identify two models from the last runs with few trials."""
        from bench_gui.identify.fit.settings import FitSettings

        self.window.show_task(3)
        self.select_last()
        self.controller.identifying.identify(
            FitSettings(models=("m1", "m2"), command_path="off", trials=FEW_TRIALS, threads=1, validation="none")
        )
        self.until(lambda: not self.controller.fitting.active)

    def look_around(self) -> None:
        """Turn over every page, in the other theme and unit."""
        from core.base.units import DEGREES, RADIANS

        self.window.appearance.choose("dark")
        self.controller.set_angle_unit(DEGREES)
        for number in range(7):
            self.window.show_task(number)
            self.wait(0.05)
        self.window.show_log()
        self.controller.set_angle_unit(RADIANS)
        self.window.appearance.choose("light")
        self.settle()

    def export(self) -> None:
        """Write the bench's model for a simulator, and a plot as a picture."""
        from bench_gui.plots.export import gather

        current = self.controller.model_list.current
        assert current is not None
        exporting = self.controller.exporting
        self.window.show_task(5)
        exporting.set_folder(self.out / "mujoco")
        exporting.export(current.model, "mujoco", {})
        self.until(lambda: not exporting.active)
        contents = gather(self.window.record.plots.charts, "A run")
        if contents.panels:
            self.controller.save_plot(contents, self.out / "plot.png")
        self.settle()

    def report(self) -> None:
        """Write the report of the last identification."""
        if self.controller.fitting.result is not None:
            self.controller.write_report(self.out / "report.html")
            self.settle()

    def stop_in_a_run(self) -> None:
        """Press Esc in the middle of a run, acknowledge, go on."""
        from drivers.servo import ServoState

        self._expected = True
        self._begin_a_run()
        self.controller.recording.emergency_stop()
        self.until(lambda: self.controller.servo.view.state is ServoState.FAULT and not self.controller.servo.busy)
        self.mend()
        self._expected = False

    def abort_a_run(self) -> None:
        """End a run early and keep what there is."""
        self._expected = True
        self._begin_a_run()
        self.controller.queue.abort()
        self.until(lambda: not self.controller.queue.active and not self.controller.servo.busy)
        self.settle()
        self._expected = False

    def reconnect(self) -> None:
        """Disconnect and connect again."""
        self.controller.servo.disconnect_servo()
        self.settle()
        self.connect()

    def visit_another_session(self) -> None:
        """Open the example, look at it, come back."""
        library = self.controller.library
        library.open_example()
        self.until(lambda: not library.loading and library.path != self.session)
        self.window.show_task(4)
        self.wait(0.2)
        self.until(lambda: not self.controller.comparison.waiting)
        library.open(self.session)
        self.until(lambda: not library.loading and library.path == self.session)
        self.settle()

    def mend(self) -> None:
        """Acknowledge a fault and forget what waits."""
        from drivers.servo import ServoState

        servo = self.controller.servo
        self.until(lambda: not servo.busy)
        self.controller.queue.keep(())
        if servo.recorder is None:
            self.connect()
        elif servo.view.state is ServoState.FAULT:
            servo.acknowledge()
        self.until(lambda: servo.view.state is ServoState.READY and servo.locked_for == 0)
        self.settle()

    # How a person waits.

    @property
    def idle(self) -> bool:
        """Whether nothing is under way: connected, nothing driven, nothing computed."""
        controller = self.controller
        return not (
            controller.servo.busy
            or controller.servo.recorder is None
            or controller.fitting.active
            or controller.background.busy
            or controller.exporting.active
        )

    def select_last(self, count: int = 4) -> None:
        """Select the newest runs."""
        self.controller.library.select([run.id for run in self.controller.library.runs[-count:]])

    def wait(self, seconds: float) -> None:
        """Let the window work for a while of the machine's time [s]."""
        run_for(seconds)

    def settle(self) -> None:
        """Wait until nothing is asked of the background any more."""
        self.until(lambda: not self.controller.background.busy)

    def until(self, condition: Callable[[], Any]) -> None:
        """Run the window until something holds."""
        until(condition, PATIENCE)

    # Behind the scenes.

    def _routine(self) -> tuple[tuple[int, Callable[[], None]], ...]:
        """Every how many rounds a person does what."""
        return (
            (1, self.record),
            (1, self.look_at_runs),
            (1, self.note),
            (1, self.compare),
            (2, self.ask_and_answer),
            (3, self.place),
            (4, self.identify),
            (4, self.look_around),
            (5, self.export),
            (6, self.stop_in_a_run),
            (7, self.abort_a_run),
            (12, self.report),
            (15, self.reconnect),
            (25, self.visit_another_session),
        )

    def _do(self, act: Callable[[], None]) -> None:
        """Do it; what goes wrong is counted, put right, and the day goes on."""
        name = act.__name__
        self.doing = name
        try:
            act()
            self.done[name] += 1
        except TimeoutError:
            self.incidents[f"{name}: did not come to its end"] += 1
        self._expected = False
        if act != self._create and not self._fit_to_go_on():
            self.mend()

    def _fit_to_go_on(self) -> bool:
        from drivers.servo import ServoState

        return self.controller.servo.view.state is ServoState.READY and not self.controller.queue.waiting

    def _create(self) -> None:
        library = self.controller.library
        library.create(self.session)
        self.until(lambda: library.path == self.session and not library.loading)

    def _begin_a_run(self) -> None:
        from core.motion.trajectories import make_trajectory
        from drivers.recorder import Phase

        view = self.controller.servo
        self.controller.queue.record([make_trajectory("sin_sin", 20.0)])
        self.until(lambda: view.view.phase is Phase.RUN and view.view.done > 20)

    def _note(self, result: Any) -> None:
        queued = self.controller.queue.last
        assert queued is not None
        self.samples += result.samples
        self.skipped += result.skipped_cycles
        trajectory = queued.trajectory
        self.ledger.add(
            AskedRun(
                result.id,
                trajectory.name,
                trajectory.duration,
                queued.header.rate,
                result.exit_status,
                result.samples,
                result.skipped_cycles,
            )
        )

    def _hear(self, level: str, text: str) -> None:
        if level == "error" and not self._expected:
            self.incidents[_without_figures(text)] += 1


def _without_figures(text: str) -> str:
    """A message in which figures do not make a new kind of it."""
    return "".join("#" if character.isdigit() else character for character in text).replace("##", "#")[:120]
