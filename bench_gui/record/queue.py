"""Runs one after the other: the queue between the Run button and the recorder.

Nothing in here sets the servo in motion by itself: a run begins because a person pressed Run, Start or Continue and
nothing came in between. What does come in between (an abort, a run that fails, a fault, an emergency stop, a servo
that is gone, a load that has to be changed by hand) holds the queue with its reason; the waiting runs stay.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bench_gui.record.countdown import Countdown
from bench_gui.state.servo_link import ServoLink, ServoView
from bench_gui.state.setup import BenchSetup
from core.errors import ServoBenchError
from core.plan import RUN_OVERHEAD, Cell, changes_by_hand
from core.recording import RunHeader, SinkDescription
from core.trajectories import PAPER_TRAJECTORIES, Trajectory, make_trajectory
from drivers.registry import ServoAddress
from drivers.servo import ServoState

if TYPE_CHECKING:
    from bench_gui.state.library import Library
    from drivers.recorder import RunResult

PAUSED = "Paused"


@dataclass(frozen=True, eq=False)
class QueuedRun:
    """One run that waits or is on, with the bench as it was set up when it was asked for."""

    number: int
    """Unique in this queue."""
    trajectory: Trajectory
    header: RunHeader
    cell: Cell | None = None
    """The cell of the recording plan it fills; None for runs asked for one by one."""

    @property
    def conditions(self) -> str:
        """Gain and load, as a person reads them."""
        bench, settings = self.header.bench, self.header.settings
        return f"kp {settings.kp:g}, {bench.mass:g} kg at {bench.length:g} m"

    @property
    def place(self) -> tuple[float, float]:
        """Length [m] and mass [kg]: what is changed by hand."""
        return self.header.bench.length, self.header.bench.mass


class RecordQueue(QObject):
    """Records runs in order and holds at the first that does not end well."""

    changed = Signal()
    """What is running, waiting or holding is another."""
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
        self._waiting: list[QueuedRun] = []
        self._coming: QueuedRun | None = None
        self._sink: SinkDescription | None = None
        self._numbers = 0
        self._begun = 0
        self._ticket = 0
        self._alone = 0
        self._hung: tuple[float, float] | None = None
        self._asked_for = 0
        self.countdown = Countdown(lambda: self.simulated)
        self._begun_at = 0.0
        self.overhead = RUN_OVERHEAD
        """What the last run took beside its trajectory [s]."""
        self.running: QueuedRun | None = None
        """The run that is on."""
        self.last: QueuedRun | None = None
        """The run that is on or was the last one that was."""
        self.paused = False
        """Whether what waits needs a person's Start."""
        self.reason = ""
        """Why it is paused."""
        self.by_hand = ""
        """What a person has to change before Continue, in plain words; empty when nothing."""
        self.countdown.over.connect(self._launch)
        servo.finished.connect(self._finished)
        servo.faulted.connect(self.stop)
        servo.connected.connect(lambda _: self._forget_load())
        servo.changed.connect(self._look)

    # What can be asked.

    @property
    def current(self) -> Trajectory | None:
        """Trajectory of the run that is on."""
        return self.running.trajectory if self.running is not None else None

    @property
    def waiting(self) -> tuple[QueuedRun, ...]:
        """What has not begun, in order."""
        return tuple(self._waiting) if self._coming is None else (self._coming, *self._waiting)

    @property
    def active(self) -> bool:
        """Whether a run is on or about to begin."""
        return self.running is not None or self._coming is not None

    @property
    def place(self) -> tuple[int, int]:
        """Number of the run that is on or next, and of all that belong to it."""
        total = self._begun + len(self.waiting)
        return (self._begun if self.running is not None else min(self._begun + 1, total)), total

    @property
    def simulated(self) -> bool:
        """Whether the servo exists only here, so that loads are changed by setting them."""
        return ServoAddress.parse(self._servo.address).family == "simulated"

    @property
    def waiting_time(self) -> float:
        """Time of all that waits, with the ways to and fro and the countdowns [s]."""
        return sum(run.trajectory.duration + self.overhead + self.countdown.seconds for run in self.waiting)

    # What a person asks for.

    def record(self, trajectories: Sequence[Trajectory]) -> None:
        """Record these now, before what waits, with the bench as it is set up, which is taken to hang there."""
        if self.active:
            self.problem.emit("a run is on; wait for it, abort it, or add this one to the queue")
        elif not self._ready():
            self.problem.emit("the servo is not ready to record; connect it, or acknowledge its fault")
        elif trajectories:
            runs = [self._made(trajectory) for trajectory in trajectories]
            self._hung = runs[0].place
            # What was held before stays held.
            self._alone = runs[-1].number if self._waiting else 0
            self._waiting[:0] = runs
            self._go()

    def record_paper_set(self) -> None:
        """Record the four trajectories of seed 004, section V-A."""
        self.record([make_trajectory(name) for name in PAPER_TRAJECTORIES])

    def add(self, trajectories: Sequence[Trajectory], cells: Sequence[Cell] | None = None) -> None:
        """Put runs at the end of the queue, each with the bench and gain of its cell or as set up now.

        They begin after the run that is on; an idle queue waits for Start.
        """
        for trajectory, cell in zip(trajectories, cells or [None] * len(trajectories), strict=True):
            self._waiting.append(self._made(trajectory, cell))
        if not self.active and self._waiting and not self.paused:
            self._hold("Press Start to record what waits")
        else:
            self.changed.emit()

    def resume(self) -> None:
        """Go on with what waits; what had to be changed by hand has been changed."""
        if self.active:
            self.paused, self.reason = False, ""
            self.changed.emit()
        elif not self._waiting:
            self._rest()
            self.changed.emit()
        elif not self._ready():
            self.problem.emit("the servo is not ready to record; connect it, or acknowledge its fault")
        else:
            first = self._waiting[0]
            if self.by_hand and self._asked_for == first.number:
                self._hung = first.place
            self._alone = 0
            self._go()

    def pause(self) -> None:
        """Let the run that is on come to its end and begin no other."""
        if self.active:
            self._hold(PAUSED)

    def abort(self) -> None:
        """End the run, keep its samples; or call off the one that is about to begin. What waits is held."""
        if self._coming is not None:
            self._call_off()
            self._after("The last run was called off")
        else:
            self._servo.abort()

    def stop(self, reason: str = "") -> None:
        """Something is wrong: begin nothing. The run that is on ends by itself; what waits is held."""
        coming = self._coming
        self._call_off()
        self._put_back(coming)
        if not self._servo.busy:
            self.running = None
        if self._waiting:
            self._hold(reason or "Stopped")
        else:
            self.changed.emit()

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting = []
        if not self.active:
            self._rest()
        self.changed.emit()

    def remove(self, number: int) -> None:
        """Forget one waiting run."""
        self._waiting = [run for run in self._waiting if run.number != number]
        if not self._waiting and not self.active:
            self._rest()
        self.changed.emit()

    def move(self, number: int, places: int) -> None:
        """Let a waiting run begin so many places later, or earlier when negative."""
        order = [run.number for run in self._waiting]
        if number in order:
            here = order.index(number)
            there = min(max(here + places, 0), len(order) - 1)
            self._waiting.insert(there, self._waiting.pop(here))
            self.changed.emit()

    def reorder(self, numbers: Sequence[int]) -> None:
        """Bring what waits into this order; runs that are not named keep theirs, behind."""
        rank = {number: place for place, number in enumerate(numbers)}
        self._waiting.sort(key=lambda run: rank.get(run.number, len(rank)))
        self.changed.emit()

    # Behind the scenes.

    def _ready(self) -> bool:
        return self._servo.identity is not None and self._servo.view.state is ServoState.READY

    def _made(self, trajectory: Trajectory, cell: Cell | None = None) -> QueuedRun:
        self._numbers += 1
        setup = self._setup
        header = setup.header(trajectory, self._servo.address)
        if cell is not None:
            header = replace(header, bench=cell.bench(header.bench), settings=replace(header.settings, kp=cell.kp))
        return QueuedRun(self._numbers, trajectory, header, cell)

    def _go(self) -> None:
        self.paused, self.reason, self.by_hand = False, "", ""
        self._next()

    def _hold(self, reason: str, by_hand: str = "") -> None:
        self.paused, self.reason, self.by_hand = True, reason, by_hand
        self.changed.emit()

    def _rest(self) -> None:
        self.paused, self.reason, self.by_hand = False, "", ""
        self._begun = self._alone = 0

    def _next(self) -> None:
        """Begin the first waiting run unless its load has to be hung by hand."""
        if not self._waiting:
            self._rest()
            self.changed.emit()
            return
        run = self._waiting[0]
        change = "" if self.simulated else self._change_before(run)
        if change:
            self._asked_for = run.number
            self._hold(change, change)
            return
        identity = self._servo.identity
        if identity is None or identity.model != run.header.settings.servo:
            other = "no servo is connected" if identity is None else f"{identity.title} is connected"
            self._hold(f"The next run is for {run.header.settings.servo}, but {other}")
            return
        self._coming = self._waiting.pop(0)
        self._hung = run.place
        if run.cell is not None:
            self._setup.set_bench(mass=run.header.bench.mass, length=run.header.bench.length)
        self._ticket += 1
        self.changed.emit()
        self._library.sink_for(identity.model, partial(self._opened, self._ticket), partial(self._failed, self._ticket))

    def _change_before(self, run: QueuedRun) -> str:
        # Nobody has said yet what hangs: a plan asks, a person's own run is taken at its word.
        if self._hung is None and run.cell is None:
            return ""
        return changes_by_hand(self._hung, run.place)

    def _opened(self, ticket: int, sink: SinkDescription) -> None:
        if ticket != self._ticket or self._coming is None:
            return
        self._sink = sink
        if self.countdown.seconds > 0:
            self.countdown.start()
        else:
            self._launch()

    def _failed(self, ticket: int, message: str) -> None:
        if ticket == self._ticket and self._coming is not None:
            self._refuse(message)

    def _call_off(self) -> None:
        self._ticket += 1
        self._coming = None
        self.countdown.stop()

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
        """The run that was to begin cannot: it waits on, and holds what waits."""
        coming = self._coming
        self._call_off()
        self._put_back(coming)
        self._after(message)
        self.problem.emit(message)

    def _finished(self, result: RunResult) -> None:
        run, self.running = self.last, None
        if run is not None and result.exit_status == "success":
            self.overhead = max(0.0, time.monotonic() - self._begun_at - run.trajectory.duration)
        self.ended.emit(result)
        self._library.refresh()
        if result.busy and run is not None:
            self._begun -= 1
            self._put_back(run)
        if result.exit_status != "success":
            what = "was aborted" if result.exit_status == "abort" else "ended early"
            title = f"{run.trajectory.title} " if run is not None else "The last run "
            self._after(f"{title}{what}" + (f": {result.reason}" if result.reason else ""))
        elif run is not None and run.number == self._alone:
            self._alone = 0
            self._after(PAUSED)
        elif self.paused and self._waiting:
            self.changed.emit()
        else:
            self._next()

    def _put_back(self, run: QueuedRun | None) -> None:
        """Let a run that was not made wait on, at the front."""
        if run is not None:
            self._waiting.insert(0, run)

    def _after(self, reason: str) -> None:
        """Hold what waits, if anything does."""
        if self._waiting:
            self._hold(reason)
        else:
            self._rest()
            self.changed.emit()

    def _forget_load(self) -> None:
        self._hung = None

    def _look(self, view: ServoView) -> None:
        if view.state is ServoState.DISCONNECTED and not view.connecting and (self.active or self.running):
            self.running = None
            self.stop("The servo was disconnected")
