"""Controller of the window: owns servo, session, computing processes and heartbeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QUndoStack

from bench_gui import file_dialogs
from bench_gui.compare.comparison import Comparison
from bench_gui.connect.bench.presets import Preset
from bench_gui.connect.connecting import DEFAULT_SERVO, Connecting
from bench_gui.export.exporting import Exporting
from bench_gui.identify.identifying import Identifying
from bench_gui.place.placing import Placing
from bench_gui.record.queue import QueuedRun
from bench_gui.record.recording import Recording
from bench_gui.record.waiting import waiting_from_json, waiting_to_json
from bench_gui.render.paper import save_plot
from bench_gui.settings import Settings, remember, texts
from bench_gui.state.journal import SERVO, FileWarnings, Journal
from bench_gui.state.library import Library
from bench_gui.state.models import ModelList
from bench_gui.state.servo_link import ServoView
from bench_gui.work import simulations
from bench_gui.work.activity import Activities
from bench_gui.work.background import Background
from bench_gui.work.computation import Computations
from bench_gui.work.compute_process import ComputeProcess
from bench_gui.work.memory import return_free_memory
from bench_gui.work.report import Reporting, ReportJob
from core.base.units import ANGLE_UNITS, RADIANS, AngleUnit
from core.document.plot import Plot
from core.servo.catalogue import load_servo

TICK = 33
"""Period of the heartbeat and of live displays [ms]."""
MOST_UNDONE = 200
"""Most undo steps; each may hold the annotations of thousands of runs."""
TIDY = 10_000
"""Period of returning freed memory while no servo is driven [ms]."""


class Controller(QObject):
    """Commands of the user, by task; each error is emitted once by `message`."""

    message = Signal(str, str)
    """Emitted with a level (info, warning, error) and a text."""
    angle_unit_changed = Signal()
    computing = Signal()
    """Emitted when `compute` does something else."""
    reported = Signal(Path)
    """Emitted after a report was written."""

    def __init__(self, servo: str | None = None) -> None:
        """Create the controller; servo: address, None for the last one. Raises ServoBenchError for an unknown servo."""
        super().__init__()
        self.background = background = Background(self._fail)
        self.settings = Settings(lambda save: background.submit("settings", save))
        self.journal = Journal()
        self.angle_unit: AngleUnit = next((u for u in ANGLE_UNITS if u.name == self.settings.angle_unit), RADIANS)
        self.undo = undo = QUndoStack(self)
        """Edits of the user; see bench_gui.undo."""
        undo.setUndoLimit(MOST_UNDONE)
        self.compute = ComputeProcess()
        self.activities = Activities()
        """List of running work."""
        self.computations = Computations(self.activities)
        """Computing processes; all end with the window."""
        self.library = library = Library(background, self.settings.open_session)
        self.model_list = model_list = ModelList()
        self.connecting = Connecting(servo or DEFAULT_SERVO, undo, background, self.activities, self.journal)
        self.servo, self.setup = self.connecting.servo, self.connecting.setup
        self.recording = Recording(
            self.servo,
            self.setup,
            library,
            model_list,
            undo,
            background,
            self.compute,
            self.journal,
        )
        self.queue, self.plan, self.twin = self.recording.queue, self.recording.plan, self.recording.twin
        self.queue.countdown.set_hazardous(self.settings.countdown)
        self.comparison = Comparison(library, model_list, background, self.compute)
        self.exporting = Exporting(background, self.compute, self.computations)
        self.placing = Placing(self.servo, self.setup, library, model_list, undo)
        self.identifying = Identifying(
            self.computations, background, library, model_list, lambda: self.placing.points, self.journal
        )
        self.fitting = self.identifying.fitting
        self.reporting = Reporting(self.computations)
        self._remember(with_servo=servo is None)
        self._connect()
        self._closed = False
        self._looked, self._doing = ServoView(), ""
        self._timer = self._every(TICK, self._tick)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._tidying = self._every(TIDY, self._tidy)
        self._offer_models()

    def _connect(self) -> None:
        """Connect signals between tasks."""
        self.journal.covered = self.library.covers
        for problem, task in (
            (self.library.problem, ""),
            (self.model_list.problem, ""),
            (self.comparison.problem, "Compare"),
            (self.exporting.problem, "Export"),
            (self.placing.problem, "Place"),
            (self.reporting.failed, "Identify"),
        ):
            problem.connect(lambda text, task=task: self.journal.say("error", text, task=task))
        self.reporting.finished.connect(self._tell_report)
        self.message.connect(self.journal.say)
        self._warnings = FileWarnings()
        self._warnings.logged.connect(lambda text: self.journal.add("warning", text))
        self.library.notice.connect(lambda text: self.message.emit("info", text))
        self.library.opened.connect(self._remember_session)
        file_dialogs.PRESENT.driven = lambda: not self.servo.released
        for other_models in (self.library.runs_changed, self.library.fit_changed, self.connecting.servo_chosen):
            other_models.connect(self._offer_models)
        self.fitting.finished.connect(lambda _: self.comparison.choose_sensibly())
        self.identifying.robot.identified.connect(self.comparison.choose_sensibly)
        self.servo.changed.connect(lambda _: self.computations.set_courteous(self.servo.busy))
        self.servo.changed.connect(self._settle)
        self.servo.acknowledged.connect(lambda: self.journal.settle(SERVO))

    def _remember(self, with_servo: bool) -> None:
        """Restore the last state; with_servo: False if the servo was chosen at the start."""
        connecting, setup, plan, queue, hold = self.connecting, self.setup, self.plan, self.queue, self.placing.plan
        library, comparison, keep = self.library, self.comparison, self.settings.keep
        if not with_servo:
            self.settings.forget("model", "servo")
        # Gains depend on the servo and a plan on the load, hence this order.
        keep("model", lambda: setup.spec.name, lambda name: setup.suit(load_servo(name)), setup.changed)
        keep("servo", lambda: connecting.lasting_address, connecting.choose_servo, connecting.servo_chosen)
        keep(
            "bench",
            lambda: Preset.of("", setup).to_json(),
            lambda data: setup.take(Preset.from_json(data).applied(setup.now, setup.spec.name)),
            setup.changed,
        )
        keep("rate", lambda: setup.rate, setup.set_rate, setup.changed)
        keep("plan", lambda: plan.plan.to_json(), plan.restore, plan.changed)
        keep(
            "queue",
            lambda: waiting_to_json((run.trajectory, run.header, run.cell) for run in queue.waiting),
            lambda data: queue.again([QueuedRun(0, *run) for run in waiting_from_json(data)]),
            queue.changed,
        )
        keep("hold", hold.state, hold.restore, hold.changed)
        keep(
            "current model",
            lambda: self.model_list.picked,
            self.model_list.set_current,
            self.model_list.current_changed,
        )
        keep(
            "selected runs",
            lambda: library.lasting_selection,
            lambda ids: library.select_again(texts(ids)),
            library.selection_changed,
        )
        keep(
            "compared models",
            lambda: comparison.chosen,
            lambda keys: comparison.choose_again(texts(keys)),
            comparison.choice_changed,
        )
        self.undo.clear()  # the load of the restored servo is no edit of the user

    def _every(self, period: int, act: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(period)
        timer.timeout.connect(act)
        timer.start()
        return timer

    # Commands that concern several parts.

    def escape(self) -> None:
        """Stop, unless the motor is certainly off and nothing is about to switch it on."""
        if not self.servo.released or self.queue.active or self.placing.active:
            self.recording.emergency_stop()
        elif self.servo.recorder is not None:
            self.journal.say("info", "Stop: the motor is already off", cause=SERVO)

    def prepare(self) -> None:
        """Load what the first comparison needs; called once the window is visible."""
        self.exporting.learn_targets()
        self.background.submit(
            "compute", self.compute.call, simulations.warm_up, self.setup.spec.name, failed=lambda _: None
        )

    def save_plot(self, contents: Plot, path: Path) -> None:
        """Write a plot as a figure or as numbers."""

        def done(written: Path) -> None:
            self.journal.say("info", f"Plot written to {written}", path=written)

        self.background.submit("compute", self.compute.call, save_plot, contents, path, done=done)

    def write_report(self, path: Path) -> None:
        """Write the report of the displayed result as one HTML file."""
        session, result = self.library.path, self.fitting.result
        if session is None or result is None or result.folder is None:
            self._fail("there is no identification to report; identify a model first")
            return

        self.reporting.start(ReportJob(session=session, folder=result.folder, path=path))

    def open_model(self, path: Path) -> None:
        """Read a model file and add it to the comparison."""
        key = self.model_list.open_file(path)
        if key:
            self.comparison.choose((*self.comparison.chosen, key))

    def begin_anew(self) -> None:
        """Start another bench: no session, an empty queue, and the servo's typical load."""
        self.library.close()
        self.queue.keep(())
        self.setup.edit_new()

    def set_angle_unit(self, unit: AngleUnit) -> None:
        """Display angles in another unit."""
        if unit is not self.angle_unit:
            self.angle_unit = unit
            self.settings.set("angle_unit", unit.name)
            self.angle_unit_changed.emit()

    def busy(self) -> list[str]:
        """Return the work that closing would cancel, one line each."""
        return self.activities.missed

    def close(self) -> None:
        """Release the servo and end all processes and threads; idempotent.

        Raises:
            MotorOn: The servo did not confirm that the motor is off; raised after everything has ended.
        """
        if self._closed:
            return
        self._closed = True
        self._warnings.close()
        self._timer.stop()
        self._tidying.stop()
        try:
            self.servo.close()
        finally:
            self.connecting.emulation.close()
            self.computations.close()
            self.connecting.scanning.stop()
            self.compute.close()
            self.background.close()
            self.settings.save()

    # Internals.

    def _tick(self) -> None:
        self.connecting.tick()
        self.background.poll()
        self.computations.tick()
        self.activities.tick()
        if self.compute.doing != self._doing:
            self._doing = self.compute.doing
            self.computing.emit()

    def _tidy(self) -> None:
        if not self.servo.busy:
            return_free_memory()

    def _settle(self, view: ServoView) -> None:
        """Remove notices about refused commands once the servo moves, connects or is unlocked."""
        before, self._looked = self._looked, view
        began = view.word != before.word and view.word in ("CONNECTING", "MOVING", "HOLDING")
        if began or (before.locked_for > 0.0 and not view.locked_for):
            self.journal.settle(SERVO)

    def _fail(self, text: str) -> None:
        self.message.emit("error", text)

    def _tell_report(self, written: Path) -> None:
        self.journal.say("info", f"Report written to {written}", path=written, task="Identify")
        self.reported.emit(written)

    def _remember_session(self) -> None:
        path = self.library.path
        if self.settings.open_session not in ("", str(path)):
            self.journal.settle("")  # the notices are about a session that is no longer open
        self.settings.set("open_session", "" if path is None else str(path))
        if path is not None:
            self.settings.set("recent", remember(self.settings.recent, path))
            file_dialogs.PRESENT.begin = path.parent

    def _offer_models(self) -> None:
        self.model_list.set_servo(self.library.main_servo() or self.setup.spec.name)
