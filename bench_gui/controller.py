"""The one object the views talk to: it owns the servo, the session, the computing processes and the heartbeat."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.compare.comparison import Comparison
from bench_gui.connect.bench.presets import Presets
from bench_gui.connect.servo.emulation import Emulation
from bench_gui.connect.servo.scanning import Scanning
from bench_gui.export.exporting import Exporting
from bench_gui.headless.places import remember
from bench_gui.identify.fit.messages import FitResult
from bench_gui.identify.fit.running import Fitting
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.log.journal import FileWarnings, Journal
from bench_gui.place.placing import Placing
from bench_gui.plots.contents import PlotContents
from bench_gui.record.planning import Planning
from bench_gui.record.queue import RecordQueue
from bench_gui.record.twin import Twin
from bench_gui.settings import Settings
from bench_gui.state.library import Library
from bench_gui.state.models import ModelList
from bench_gui.state.servo_link import ServoLink, ServoView, servo_name
from bench_gui.state.setup import BenchSetup
from bench_gui.work import tasks
from bench_gui.work.background import Background
from bench_gui.work.computation import Computations
from bench_gui.work.compute_process import ComputeProcess
from bench_gui.work.memory import return_free_memory
from bench_gui.work.plot_files import save_plot
from core.catalogue import load_servo
from core.errors import ServoBenchError
from core.units import ANGLE_UNITS, RADIANS, AngleUnit
from core.words import counted
from drivers.recorder import Recorder, RunResult
from drivers.recorder.link import EMERGENCY
from drivers.servo import ServoIdentity, ServoState
from sessions.sampling import sample_of

TICK = 33
"""Period of the heartbeat and of everything live [ms]."""
DEFAULT_SERVO = "simulated:mx106"
MOST_UNDONE = 200
"""Edits that can be taken back; older ones are forgotten, each may hold what was noted about thousands of runs."""
TIDY = 10_000
"""Memory that has become free is given back so often while no servo is driven [ms]."""


class Controller(QObject):
    """Everything a person can ask for, task by task; what goes wrong comes out of `message`, once."""

    message = Signal(str, str)
    """Level (info, warning, error) and text."""
    angle_unit_changed = Signal()
    servo_chosen = Signal()
    reported = Signal(Path)
    """A report was written."""

    def __init__(self, servo: str = DEFAULT_SERVO) -> None:
        """servo: address; raises ServoBenchError when there is no such servo."""
        super().__init__()
        self.background = Background(self._fail)
        self.settings = Settings(lambda save: self.background.submit("settings", save))
        self.journal = Journal()
        self.angle_unit: AngleUnit = next((u for u in ANGLE_UNITS if u.name == self.settings.angle_unit), RADIANS)
        self.undo = QUndoStack(self)
        """What a person edited; see bench_gui.undo."""
        self.undo.setUndoLimit(MOST_UNDONE)
        self.compute = ComputeProcess()
        self.setup = BenchSetup(load_servo(servo_name(servo) or servo_name(DEFAULT_SERVO)), self.undo)
        self.presets = Presets(self.undo, lambda save: self.background.submit("presets", save))
        self.presets.notice.connect(lambda text: self.message.emit("warning", text))
        self.scanning = Scanning(self.background)
        self.emulation = Emulation(self.setup, lambda process: self.background.submit("emulator", process.close))
        self.emulation.ended.connect(self._miss_emulation)
        self.servo = ServoLink(servo, self._say_farewell, self.emulation.hand_at)
        self.library = Library(self.background)
        self.queue = RecordQueue(self.servo, self.setup, self.library)
        self.queue.set_hazardous_countdown(self.settings.countdown)
        self.plan = Planning(self.queue, self.setup, self.library, self.background, self.undo)
        self.computations = Computations()
        """Every process that computes for a task; all end with the window."""
        self.fitting = Fitting(self.computations, self.background)
        self.model_list = ModelList()
        self.twin = Twin(self.queue, self.servo, self.model_list, self.background, self.compute)
        self.comparison = Comparison(self.library, self.model_list, self.background, self.compute)
        self.exporting = Exporting(self.background, self.compute)
        self.placing = Placing(self.servo, self.setup, self.library, self.model_list, self.undo)
        for part in (
            self.servo,
            self.library,
            self.queue,
            self.plan,
            self.model_list,
            self.comparison,
            self.exporting,
            self.placing,
        ):
            part.problem.connect(self._fail)
        for failure in (self.fitting.failed, self.fitting.refused):
            failure.connect(self._fail)
        self.message.connect(self.journal.add)
        self._warnings = FileWarnings()
        self._warnings.logged.connect(self._warn)
        self.twin.alarmed.connect(lambda text: self.journal.add("warning", text))
        self.library.notice.connect(lambda text: self.message.emit("info", text))
        self.library.opened.connect(self._remember_session)
        self.library.models_found.connect(self.model_list.set_identified)
        self.library.runs_changed.connect(self._offer_models)
        self.library.selection_changed.connect(self._offer_models)
        self.servo.connected.connect(self._suit)
        self.servo.faulted.connect(self._tell_fault)
        self.queue.ended.connect(self._judge_run)
        self.fitting.finished.connect(self._keep_models)
        self.fitting.recalled.connect(self._list_models)
        self.fitting.judged.connect(self._list_models)
        self.library.opened.connect(lambda: self.fitting.look_for_earlier(self.library.results_place))
        self.servo.changed.connect(lambda _: self.computations.set_courteous(self.servo.busy))
        self.servo.changed.connect(self._record_if_wanted)
        self._record_when_ready = False
        self._closed = False
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK)
        self._timer.timeout.connect(self._tick)
        self._timer.start()
        self._tidying = QTimer(self)
        self._tidying.setInterval(TIDY)
        self._tidying.timeout.connect(self._tidy)
        self._tidying.start()
        self._offer_models()

    # What a person asks for that concerns more than one part.

    def prepare(self) -> None:
        """Start what the first comparison would have to wait for; called once the window is seen."""
        self.exporting.learn_targets()
        self.background.submit("compute", self.compute.call, tasks.warm_up, self.setup.spec.name, failed=lambda _: None)

    def choose_servo(self, address: str) -> None:
        """Turn to another servo; a connection is given up. Raises AddressError, and nothing has changed."""
        name = servo_name(address)
        self.servo.disconnect_servo()
        self.servo.address = address
        if name:
            self.setup.suit(load_servo(name))
        self.servo_chosen.emit()
        self._offer_models()

    def connect_to(self, address: str) -> None:
        """Turn to a servo and connect to it."""
        self.choose_servo(address)
        self.servo.connect_servo()

    def record_paper_set(self) -> None:
        """Record the four trajectories of the paper, connecting first if need be."""
        if self.servo.view.state is ServoState.DISCONNECTED:
            self._record_when_ready = True
            self.servo.connect_servo()
        else:
            self.queue.record_paper_set()

    def emergency_stop(self) -> None:
        """Switch the motor off; the runs that wait are held until a person starts them."""
        self._record_when_ready = False
        self.servo.emergency_stop()
        self.queue.stop("Emergency stop")

    def identify(self, settings: FitSettings) -> None:
        """Identify from the chosen runs; those of the servo most of them are of."""
        library = self.library
        path, results = library.path, library.results_place
        chosen = library.for_fit()
        left_out = library.left_out(chosen)
        if path is None or results is None or not chosen:
            self._fail(f"no recordings to identify from; {left_out or 'record or import some'}")
            return
        if left_out:
            self.message.emit("info", left_out)
        servo = self.main_servo()
        own = [run for run in chosen if run.servo == servo]
        if len(own) < len(chosen):
            left = len(chosen) - len(own)
            self.message.emit(
                "warning", f"{left} of {counted(len(chosen), 'run')} left out: of another servo than {servo}"
            )
        sample = sample_of(own, settings.sample)
        if len(sample) < len(own):
            self.message.emit("info", f"a sample of {len(sample)} of {len(own)} runs is used, every condition in it")
        runs = tuple(run.id for run in sample)
        try:
            self.fitting.identify(path, results, runs, settings.request(servo, self.placing.points))
        except ServoBenchError as error:
            self._fail(str(error))

    def resume_identification(self) -> None:
        """Go on with the identification of the open session that was stopped or cut short."""
        if self.library.path is not None:
            self.fitting.resume(self.library.path)

    def main_servo(self) -> str:
        """Catalogue name of the servo most of the chosen runs are of; empty without runs."""
        return self.library.main_servo()

    def save_plot(self, contents: PlotContents, path: Path) -> None:
        """Write what a plot shows as a picture or as numbers."""

        def done(written: Path) -> None:
            self.message.emit("info", f"Plot written to {written}")

        self.background.submit("compute", self.compute.call, save_plot, contents, path, done=done)

    def write_report(self, path: Path) -> None:
        """Write the report on the result in sight as one HTML file."""
        session, result = self.library.path, self.fitting.result
        if session is None or result is None or result.folder is None:
            self._fail("there is no identification to report on; identify first")
            return

        def done(written: Path) -> None:
            self.message.emit("info", f"Report written to {written}")
            self.reported.emit(written)

        self.background.submit("compute", self.compute.call, tasks.report, session, result.folder, path, done=done)

    def open_model(self, path: Path) -> None:
        """Read a model file and compare it too."""
        key = self.model_list.open_file(path)
        if key:
            self.comparison.choose((*self.comparison.chosen, key))

    def set_angle_unit(self, unit: AngleUnit) -> None:
        """Show angles in another unit; nothing else changes."""
        if unit is not self.angle_unit:
            self.angle_unit = unit
            self.settings.set("angle_unit", unit.name)
            self.angle_unit_changed.emit()

    def busy(self) -> list[str]:
        """What closing would end, one line each."""
        lines = []
        if self.queue.current is not None:
            waiting = len(self.queue.waiting)
            more = f" and {waiting} more in the queue" if waiting else ""
            lines.append(f"a recording: {self.queue.current.title}{more}")
        elif self.placing.active:
            lines.append("a torque is held; the pendulum will drop")
        elif self.servo.busy:
            lines.append("the servo is driven")
        lines += self.computations.under_way
        if self.exporting.active:
            lines.append("an export")
        return lines

    def close(self) -> None:
        """Release the servo and end every process and thread; idempotent.

        Raises MotorOn, once all has ended, when nobody confirmed that the motor is off.
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
            self.emulation.close()
            self.computations.close()
            self.scanning.stop()
            self.compute.close()
            self.background.close()
            self.settings.set("open_session", "")
            self.settings.save()

    # Behind the scenes.

    def _tick(self) -> None:
        self.servo.tick()
        self.scanning.tick()
        self.emulation.tick()
        self.background.poll()
        self.computations.tick()

    def _tidy(self) -> None:
        if not self.servo.busy:
            return_free_memory()

    def _warn(self, text: str) -> None:
        self.message.emit("warning", text)

    def _fail(self, text: str) -> None:
        self.message.emit("error", text)

    def _say_farewell(self, recorder: Recorder) -> None:
        self.background.submit("servo", recorder.close)

    def _miss_emulation(self, reason: str) -> None:
        if reason:
            self._fail(reason)

    def _suit(self, identity: ServoIdentity) -> None:
        self.setup.suit(load_servo(identity.model))
        self.setup.set_rate(identity.regular_rate(self.setup.rate))

    def _record_if_wanted(self, view: ServoView) -> None:
        if not self._record_when_ready or view.connecting:
            return
        self._record_when_ready = False
        if view.state is ServoState.READY:
            self.queue.record_paper_set()

    def _remember_session(self) -> None:
        path = self.library.path
        if path is not None:
            self.settings.set("recent", remember(self.settings.recent, path))
            self.settings.set("open_session", str(path))

    def _tell_fault(self, reason: str) -> None:
        self.journal.add("fault", reason)
        # An emergency stop needs no explanation, and a fault during a run is told with the run.
        if reason != EMERGENCY and not self.queue.active:
            self._fail(reason)

    def _judge_run(self, result: RunResult) -> None:
        if result.exit_status == "fail":
            self._fail(f"the run ended early: {result.reason}")
        elif result.exit_status == "abort":
            self.message.emit("warning", f"run {result.id} was ended early; its {result.samples} samples are kept")

    def _list_models(self, result: FitResult) -> None:
        self.model_list.set_identified([row.model for row in result.models], result.recommended)

    def _keep_models(self, result: FitResult) -> None:
        self._list_models(result)
        self.comparison.choose_sensibly()

    def _offer_models(self) -> None:
        self.model_list.set_servo(self.main_servo() or self.setup.spec.name)
