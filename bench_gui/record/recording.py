"""Recording work of the window: queue, plan and twin, and messages about runs and faults."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoStack

from bench_gui.record.planning import Planning
from bench_gui.record.queue import RecordQueue, ending
from bench_gui.record.twin import Twin
from bench_gui.state.journal import SERVO, Journal
from bench_gui.state.library import Library
from bench_gui.state.models import ModelList
from bench_gui.state.servo_link import ServoLink, ServoView
from bench_gui.state.setup import BenchSetup
from bench_gui.work.background import Background
from bench_gui.work.compute_process import ComputeProcess
from core.motion.trajectories import PAPER_TRAJECTORIES, Trajectory, make_trajectory
from drivers.recorder import RunResult
from drivers.recorder.link import EMERGENCY
from drivers.servo import ServoState


class Recording(QObject):
    """Connects first if a recording is requested without a servo."""

    def __init__(
        self,
        servo: ServoLink,
        setup: BenchSetup,
        library: Library,
        model_list: ModelList,
        undo: QUndoStack,
        background: Background,
        compute: ComputeProcess,
        journal: Journal,
    ) -> None:
        """Connect the parts.

        Args:
            servo: Link to the servo.
            setup: The bench as it is set up.
            library: The sessions.
            model_list: Models that the twin can use.
            undo: Stack that receives edits of the plan.
            background: Thread for slow calls.
            compute: Process that simulates the twin.
            journal: Receives the messages.
        """
        super().__init__()
        self._servo, self._log = servo, journal.add
        self._record_when_ready = False
        self.queue = RecordQueue(servo, setup, library)
        self.plan = Planning(self.queue, setup, library, background, undo)
        self.twin = Twin(self.queue, servo, model_list, background, compute)
        for part in (self.queue, self.plan):
            part.problem.connect(lambda text: journal.say("error", text, SERVO))
        self.twin.alarmed.connect(lambda text: journal.add("warning", text))
        servo.faulted.connect(self._report_fault)
        servo.changed.connect(self._record_if_wanted)
        self.queue.ended.connect(self._judge_run)

    def record_paper_set(self) -> None:
        """Record the four trajectories of the paper, connecting first if necessary."""
        if refused := self.queue.refused():
            self.queue.problem.emit(refused)
        elif self._servo.view.state is ServoState.DISCONNECTED:
            self._record_when_ready = True
            self._servo.connect_servo()
            # A connection made later is not meant to record.
            self._record_when_ready &= self._servo.recorder is not None
        else:
            self.queue.record(paper_set())

    def emergency_stop(self) -> None:
        """Switch the motor off; waiting runs are held until the user starts them."""
        self._record_when_ready = False
        self._servo.emergency_stop()
        self.queue.stop("Emergency stop")

    def _record_if_wanted(self, view: ServoView) -> None:
        if not self._record_when_ready or view.connecting:
            return
        self._record_when_ready = False
        if view.state is ServoState.READY:
            self.queue.record(paper_set())

    def _report_fault(self, reason: str) -> None:
        """Log a fault once, whatever else becomes known about it; the header shows it until it is acknowledged."""
        if reason == EMERGENCY:
            self._log("info", "stopped: the motor is off")
        else:
            self._log("info" if self._servo.view.fault not in ("", EMERGENCY) else "fault", reason)

    def _judge_run(self, result: RunResult) -> None:
        """Log how a run ended; the page shows it below the curves."""
        recorder = self._servo.recorder
        if result.exit_status != "success":
            # The user ended it, or the header shows the problem.
            known = result.exit_status == "abort" or (recorder and recorder.fault)
            self._log("warning" if known else "error", ending(self.queue.last, result))


def paper_set() -> list[Trajectory]:
    """Return the four trajectories of seed 004, section V-A."""
    return [make_trajectory(name) for name in PAPER_TRAJECTORIES]
