"""Runs one after the other: the queue between the Run button and the recorder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bench_gui.connect.servo_link import ServoLink
from bench_gui.connect.setup import BenchSetup
from core.errors import ServoBenchError
from core.recording import SinkDescription
from core.trajectories import PAPER_TRAJECTORIES, Trajectory, make_trajectory
from drivers.servo import ServoState

if TYPE_CHECKING:
    from bench_gui.session.library import Library
    from drivers.recorder import RunResult


class RecordQueue(QObject):
    """Records trajectories in order and stops at the first run that does not end well."""

    changed = Signal()
    """What is running or waiting is another."""
    started = Signal(object)
    """Trajectory of a run that begins now."""
    ended = Signal(object)
    """RunResult"""
    problem = Signal(str)

    def __init__(self, servo: ServoLink, setup: BenchSetup, library: Library) -> None:
        super().__init__()
        self._servo = servo
        self._setup = setup
        self._library = library
        self._waiting: list[Trajectory] = []
        self._sink: SinkDescription | None = None
        self.current: Trajectory | None = None
        self._total = 0
        servo.finished.connect(self._finished)
        servo.faulted.connect(lambda _: self.clear())

    @property
    def active(self) -> bool:
        """Whether a run is on or about to begin."""
        return self.current is not None or bool(self._waiting)

    @property
    def place(self) -> tuple[int, int]:
        """Number of the run that is on, and of all that were asked for with it."""
        return self._total - len(self._waiting), self._total

    def record(self, trajectories: Sequence[Trajectory]) -> None:
        """Record these, each with the bench as it is set up now."""
        identity = self._servo.identity
        if self.active:
            self.problem.emit("a run is on; wait for it or abort it")
        elif identity is None or self._servo.view.state is not ServoState.READY:
            self.problem.emit("the servo is not ready to record; connect it, or acknowledge its fault")
        else:
            self._waiting = list(trajectories)
            self._total = len(self._waiting)
            self.changed.emit()
            self._library.sink_for(identity.model, self._begin, self._fail)

    def record_paper_set(self) -> None:
        """Record the four trajectories of seed 004, section V-A."""
        self.record([make_trajectory(name) for name in PAPER_TRAJECTORIES])

    def abort(self) -> None:
        """End the run, keep its samples, forget what waits."""
        self._waiting = []
        self._servo.abort()
        self.changed.emit()

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting = []
        if not self._servo.busy:
            self.current = None
        self.changed.emit()

    def _begin(self, sink: SinkDescription) -> None:
        self._sink = sink
        self._next()

    def _next(self) -> None:
        identity = self._servo.identity
        if not self._waiting or self._sink is None or identity is None:
            self.clear()
            return
        trajectory = self._waiting.pop(0)
        try:
            header = self._setup.header(trajectory, identity.model, {"servo_address": self._servo.address})
            self._servo.record(trajectory, header, self._sink)
        except ServoBenchError as error:
            self._fail(str(error))
            return
        self.current = trajectory
        self.started.emit(trajectory)
        self.changed.emit()

    def _finished(self, result: RunResult) -> None:
        self.current = None
        self.ended.emit(result)
        self._library.refresh()
        if result.exit_status != "success":
            self._waiting = []
        if self._waiting:
            self._next()
        else:
            self.changed.emit()

    def _fail(self, message: str) -> None:
        self._waiting = []
        self.current = None
        self.changed.emit()
        self.problem.emit(message)
