"""Queue of runs between the Record button and the recorder.

Nothing here moves the servo on its own initiative: a run starts because the user pressed Record or Continue and nothing
came in between. An abort, a failed run, a fault, an emergency stop, a lost servo or a load that has to be changed by
hand holds the queue and shows the reason; the waiting runs stay.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from bench_gui.record.countdown import Countdown
from bench_gui.state.library import Library
from bench_gui.state.servo_link import SIMULATED, ServoLink, ServoView
from bench_gui.state.setup import BenchSetup
from core.base.errors import ServoBenchError
from core.motion.recording import RunHeader, SinkDescription
from core.motion.trajectories import Trajectory
from core.practice.plan import RUN_OVERHEAD, Cell, changes_by_hand
from drivers.recorder import RunResult
from drivers.servo import ServoState

PAUSED, NOT_BEGUN = "Paused", "Press Record"
MOST_PAST = 100
"""Ended runs kept in memory; the session keeps all."""


@dataclass(frozen=True, eq=False)
class QueuedRun:
    """A waiting or present run, with the bench as it was set up when the run was requested."""

    number: int
    """Unique in this queue."""
    trajectory: Trajectory
    header: RunHeader
    cell: Cell | None = None
    """Cell of the recording plan that it fills; None for runs requested one by one."""
    replaces: str = ""
    """Id of the run that is excluded once this one has ended well."""

    @property
    def place(self) -> tuple[float, float]:
        """Length [m] and mass [kg]: the values changed by hand."""
        return self.header.bench.length, self.header.bench.mass


class RecordQueue(QObject):
    """Records runs in order and holds at the first that does not end well."""

    changed = Signal()
    """The running, waiting or held runs have changed."""
    started = Signal(object)
    """Trajectory of a run that starts now."""
    ended = Signal(object)
    """RunResult"""
    problem = Signal(str)

    def __init__(self, servo: ServoLink, setup: BenchSetup, library: Library) -> None:
        super().__init__()
        self._servo, self._setup, self._library = servo, setup, library
        self._waiting: list[QueuedRun] = []
        self._coming: QueuedRun | None = None
        self._sink: SinkDescription | None = None
        self._numbers = self._begun = self._ticket = self._alone = self._asked_for = 0
        self._hung: tuple[float, float] | None = None
        self._begun_at = 0.0
        self.refused: Callable[[], str] = lambda: ""
        """Returns the first refused number of the form of the next run; no run starts until it is corrected."""
        self.countdown = Countdown(lambda: self.simulated)
        self.overhead = RUN_OVERHEAD
        """Time the last run took in addition to its trajectory [s]."""
        self.running: QueuedRun | None = None
        """The present run."""
        self.last: QueuedRun | None = None
        """The present run, or the last one."""
        self.past: deque[tuple[QueuedRun, RunResult]] = deque(maxlen=MOST_PAST)
        """Runs that ended in the open session, oldest first, without those that are recorded again."""
        self.reason = ""
        """Reason why waiting runs are held until the user continues; empty while they are not."""
        self.by_hand = ""
        """Change that the user has to make before Continue; empty if none."""
        self.countdown.over.connect(self._launch)
        servo.finished.connect(self._finished)
        servo.faulted.connect(self.stop)
        servo.changed.connect(self._look)

    # Queries.

    @property
    def current(self) -> Trajectory | None:
        """Trajectory of the present run."""
        return self.running.trajectory if self.running is not None else None

    @property
    def waiting(self) -> tuple[QueuedRun, ...]:
        """Runs that have not started, in order."""
        return tuple(self._waiting) if self._coming is None else (self._coming, *self._waiting)

    @property
    def active(self) -> bool:
        """True while a run is in progress or about to start."""
        return self.running is not None or self._coming is not None

    @property
    def paused(self) -> bool:
        """True if the waiting runs need the user."""
        return bool(self.reason)

    @property
    def place(self) -> tuple[int, int]:
        """Number of the present or next run, and the total number of runs in its batch."""
        total = self._begun + len(self.waiting)
        return (self._begun if self.running is not None else min(self._begun + 1, total)), total

    @property
    def simulated(self) -> bool:
        """True if the servo is simulated, so loads are changed by setting them."""
        return self._servo.origin == SIMULATED

    @property
    def obstacle(self) -> str:
        """Reason why no run can start now; empty if one can."""
        if self.active:
            return "a run is in progress; wait for it, abort it, or add this one to the list"
        if refusal := self._library.obstacle or self._servo.view.refusal or self.refused():
            return refusal
        if self._servo.identity is None or self._servo.view.state is not ServoState.READY:
            return "the servo is not ready to record; connect it first"
        return ""

    def time(self, runs: Collection[QueuedRun]) -> float:
        """Return the duration of runs, including approach, return and countdowns [s]."""
        return sum(run.trajectory.duration + self.overhead + self.countdown.seconds for run in runs)

    def made(self, trajectory: Trajectory, cell: Cell | None = None) -> QueuedRun:
        """Return a new run with the bench and gain of its cell, or of the present setup, without queuing it."""
        header = self._setup.header(trajectory, self._servo.address)
        if cell is not None:
            header = replace(header, bench=cell.bench(header.bench), settings=replace(header.settings, kp=cell.kp))
        self._numbers += 1
        return QueuedRun(self._numbers, trajectory, header, cell)

    # Requests.

    def record(self, trajectories: Sequence[Trajectory]) -> None:
        """Record these now, before waiting runs; the bench as set up is assumed to be mounted."""
        if obstacle := self.obstacle:
            self.problem.emit(obstacle)
        elif trajectories:
            runs = [self.made(trajectory) for trajectory in trajectories]
            self._hung = runs[0].place
            self.again(runs, now=True)

    def add(self, trajectories: Sequence[Trajectory], cells: Sequence[Cell] | None = None) -> None:
        """Append runs, each with the bench and gain of its cell or of the present setup.

        They start after the present run; an idle list waits for the user.
        """
        wanted = zip(trajectories, cells or [None] * len(trajectories), strict=True)
        self._waiting += [self.made(trajectory, cell) for trajectory, cell in wanted]
        self._hold(self.reason if self.active or self.reason else NOT_BEGUN, self.by_hand)

    def again(self, runs: Collection[QueuedRun], now: bool = False) -> None:
        """Put runs, waiting or ended, at the front; `now` records them at once and holds the runs that were waiting."""
        if now and (obstacle := self.obstacle):
            self.problem.emit(obstacle)
            return
        alone = bool(self._waiting)
        numbers = {run.number for run in runs}
        past = [pair for pair in self.past if pair[0].number not in numbers]
        self.past.clear()
        self.past.extend(past)
        first = self._numbers + 1
        self._numbers += len(runs)
        self._waiting[:0] = [replace(run, number=number) for number, run in enumerate(runs, first)]
        if now:
            self._alone = self._numbers if alone else 0
            self._next()
        else:
            self.add(())

    def resume(self) -> None:
        """Continue with the waiting runs; a change by hand counts as made."""
        if self.active or not self._waiting:
            self._hold("")
        elif obstacle := self.obstacle:
            self.problem.emit(obstacle)
        else:
            first = self._waiting[0]
            if self.by_hand and self._asked_for == first.number:
                self._hung = first.place
            self._alone = 0
            self._next()

    def pause(self) -> None:
        """Let the present run finish and start no other."""
        if self.active:
            self._hold(PAUSED)

    def abort(self) -> None:
        """End the run and keep its samples, or cancel the one about to start. Waiting runs are held."""
        if self._coming is not None:
            self._call_off()
            del self._waiting[0]
            self._hold("Cancelled")
        else:
            self._servo.abort()

    def stop(self, reason: str = "") -> None:
        """Start no further run after a fault. The present run ends on its own; waiting runs are held."""
        self._call_off()
        run = self.running
        if run is not None and not self._servo.busy and self._library.path is not None:
            # Its recorder has ended: the data on disk is recovered when the session is opened.
            self.running = None
            self.past.append((run, RunResult(run=0, exit_status="fail", reason=reason)))
            self._library.open(self._library.path)
        self._hold(reason or "Stopped")

    def keep(self, numbers: Sequence[int]) -> None:
        """Keep only these waiting runs, in this order."""
        waiting = {run.number: run for run in self._waiting}
        self._waiting = [waiting[number] for number in numbers if number in waiting]
        self._hold(self.reason, self.by_hand)

    # Internal.

    def _hold(self, reason: str, by_hand: str = "") -> None:
        """Hold the waiting runs, if there are any; an empty reason releases them."""
        idle = not self._waiting and not self.active
        self.reason, self.by_hand = ("", "") if idle else (reason, by_hand)
        if idle:
            self._begun = self._alone = 0
        self.changed.emit()

    def _next(self) -> None:
        """Start the first waiting run unless its load has to be changed by hand."""
        identity = self._servo.identity
        if not self._waiting:
            self._hold("")
            return
        if self._library.locked:
            self._hold(PAUSED)
            return
        run = self._waiting[0]
        # The mounted load is not confirmed yet: a plan asks the user, a run requested directly assumes it.
        known = self._hung is not None or run.cell is not None
        if known and not self.simulated and (change := changes_by_hand(self._hung, run.place)):
            self._asked_for = run.number
            self._hold(change, change)
            return
        if identity is None or identity.model != run.header.settings.servo:
            other = "no servo is connected" if identity is None else f"{identity.title} is connected"
            self._hold(f"The next run is for {run.header.settings.servo}, but {other}")
            return
        self._coming = self._waiting.pop(0)
        self._hung = run.place
        if run.cell is not None:
            self._setup.set_bench(mass=run.header.bench.mass, length=run.header.bench.length)
        self._ticket = ticket = self._ticket + 1
        self._hold("")

        def then(act: Callable[[Any], None]) -> Callable[[Any], None]:
            return lambda found: act(found) if ticket == self._ticket else None

        def opened(sink: SinkDescription) -> None:
            self._sink = sink
            self.countdown.start()

        self._library.sink_for(identity.signed(run.header), then(opened), then(self._refuse))

    def _call_off(self) -> None:
        """Put the run that was about to start back into the queue."""
        self._ticket += 1
        self.countdown.stop()
        if self._coming is not None:
            self._waiting.insert(0, self._coming)
            self._coming = None

    def _launch(self) -> None:
        run, sink = self._coming, self._sink
        if run is None or sink is None:
            return
        try:
            self._servo.record(run.trajectory, run.header, sink)
        except ServoBenchError as error:
            self._refuse(str(error))
            return
        self._coming, self.running, self.last = None, run, run
        self._begun += 1
        self._begun_at = time.monotonic()
        self.started.emit(run.trajectory)
        self.changed.emit()

    def _refuse(self, message: str) -> None:
        self.stop(message)
        self.problem.emit(message)

    def _finished(self, result: RunResult) -> None:
        run, self.running = self.last, None
        if run is not None:
            if result.exit_status == "success":
                self.overhead = max(0.0, time.monotonic() - self._begun_at - run.trajectory.duration)
            if result.busy:
                self._begun -= 1
                self._waiting.insert(0, run)
            else:
                self.past.append((run, result))
        self.ended.emit(result)
        self._library.refresh()
        if result.exit_status != "success":
            self._hold(ending(run, result))
        elif run is not None and run.number == self._alone:
            self._alone = 0
            self._hold(PAUSED)
        elif self.paused:
            self._hold(self.reason, self.by_hand)
        else:
            self._next()

    def _look(self, view: ServoView) -> None:
        if view.state is ServoState.DISCONNECTED and not view.connecting:
            self._hung = None
            if self.active:
                self.running = None
                self.stop("The servo was disconnected")


def ending(run: QueuedRun | None, result: RunResult) -> str:
    """Return how a run ended, as text for the user."""
    title = run.trajectory.title if run is not None else "the last run"
    if result.exit_status == "success":
        return f"{title}: complete"
    return f"Aborted: {title}." if result.exit_status == "abort" else f"Failed: {title}: {result.reason}"
