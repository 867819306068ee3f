"""A computation in a separate process, with its progress and result.

The window's thread owns it and waits for it only while the window closes.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, Signal

from bench_gui.work.activity import Activities, Activity, State
from bench_gui.work.process import Ended, Failed, Line, Note, Share, Stopped, serve
from drivers import timing

STARTING = "starting"
"""Text of a computation before its first message."""
MOST_MESSAGES = 50
"""Most messages processed per tick, so that a flood cannot block the window."""


Job = TypeVar("Job")
Message = TypeVar("Message")
Result = TypeVar("Result")
"""Types of job, progress message and result: plain data that is pickled between processes."""


class Computation(QObject, Generic[Job, Message, Result]):
    """One computation at a time, and its result; subclasses extend `take` and `end` to store more."""

    changed = Signal()
    """Emitted when it starts, progresses, is being stopped or ends."""
    progressed = Signal(object)
    """Emitted with a progress message."""
    noted = Signal(str)
    """Emitted with the name of a stage that reports no progress of its own, e.g. the compilation of the kernels."""
    finished = Signal(object)
    """Emitted with the result."""
    failed = Signal(str)
    """Emitted with an error message for the user."""

    def __init__(
        self,
        computations: Computations,
        title: str,
        target: Callable[[Job, Line], Result],
        *,
        lost: str = "the computing process ended unexpectedly; try again",
        keeps: bool = False,
        stop_tip: str = "Cancel; nothing is kept",
        missed: str = "",
        has_children: bool = False,
    ) -> None:
        """Create a computation.

        Args:
            computations: Group that ticks and closes it.
            title: Title in the list of running work.
            target: Function of a module, called in the process.
            lost: Message if the process dies.
            keeps: True if it returns a partial result when stopped; closing then waits for it.
            stop_tip: Tool tip of the stop button, with what is kept.
            missed: Name in the question at closing; empty if the user did not start it.
            has_children: True if its process starts others, which a daemon must not.
        """
        super().__init__()
        computations.add(self)
        self._activities = computations.activities
        self.activity = Activity(title, cancel=self.stop, cancel_tip=stop_tip, missed=missed)
        """Entry in the list of running work; `Share` messages set its progress."""
        self._target, self._lost, self._keeps = target, lost, keeps
        self._daemon = not has_children
        self._context = get_context("spawn")
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._leaving: list[SpawnProcess] = []
        """Processes that sent their last message and have not exited yet."""
        self._stop: Event | None = None
        self._courteous: Event | None = None
        self._courtesy = False
        self.stopping = False
        """True while it is being stopped."""
        self.job: Job | None = None
        """Last job."""
        self.latest: Message | None = None
        """Last progress message."""
        self.result: Result | None = None
        """Last result; kept while the next one is computed."""
        self.problem = ""
        """Error message of the last job, if it failed."""
        self.stopped = False
        """True if the last job was stopped early."""
        self.outdated = False
        """True if `result` belongs to outdated input."""

    @property
    def active(self) -> bool:
        """True while it is computing."""
        return self._process is not None

    def start(self, job: Job) -> None:
        """Start a job; a running one is dropped."""
        self._drop()
        self.job, self.latest, self.problem = job, None, ""
        self.stopped = self.outdated = False
        here, there = self._context.Pipe(duplex=False)
        self._stop, self._courteous = self._context.Event(), self._context.Event()
        if self._courtesy:
            self._courteous.set()
        process = self._context.Process(
            target=serve,
            args=(self._target, job, there, self._stop, self._courteous),
            name=self.activity.title,
            daemon=self._daemon,
        )
        process.start()
        there.close()
        self._process, self._pipe = process, here
        self._activities.begin(self.activity, STARTING)
        self.changed.emit()

    def stop(self) -> None:
        """Stop early: with `keeps`, the partial result follows soon; otherwise the process ends now."""
        if not self._keeps:
            self.tick()
        if not self.active or self.stopping:
            return
        self.stopped = True
        if self._keeps:
            self._ask_to_stop()
            self._activities.stopping(self.activity)
        else:
            self._drop()
            self._activities.end(self.activity, State.STOPPED, "stopped")
        self.changed.emit()

    def supersede(self) -> None:
        """Mark the input as changed: drop a running job, and mark the result as outdated."""
        if self.active:
            self.forget()
        self.outdated = self.result is not None
        self.changed.emit()

    def forget(self) -> None:
        """Drop a running job and the result."""
        self._drop()
        self._activities.forget(self.activity)
        self.latest, self.result, self.problem = None, None, ""
        self.stopped = self.outdated = False
        self.changed.emit()

    def set_courteous(self, courteous: bool) -> None:
        """Leave one processor free, or use it again; the result is the same."""
        if courteous != self._courtesy:
            self._courtesy = courteous
            if self._courteous is not None:
                (self._courteous.set if courteous else self._courteous.clear)()

    def tick(self) -> None:
        """Process messages since the last call."""
        self._leaving = [process for process in self._leaving if process.is_alive()]
        pipe, process = self._pipe, self._process
        if pipe is None or process is None:
            return
        alive = process.is_alive()
        try:
            for _ in range(MOST_MESSAGES):
                if not pipe.poll():
                    break
                self._hear(pipe.recv())
                if self._pipe is not pipe:
                    return
            else:
                return
        except (EOFError, OSError):
            alive = False
        if not alive:
            self._let_go()
            self.fail(self._lost)

    def close(self) -> None:
        """Terminate the process."""
        self._ask_to_stop()
        process = self._process
        if process is not None:
            if self._keeps:
                process.join(timing.limits.computation_end)
            self._let_go()
        for leaving in self._leaving:
            for end in (leaving.terminate, leaving.kill):
                if leaving.is_alive():
                    end()
                    leaving.join(timing.limits.computation_end)
        self._leaving = []

    def take(self, message: Message) -> None:
        """Store a progress message."""
        self.latest = message
        if isinstance(message, Share) and not self.stopping:
            self._activities.tell(self.activity, message)
        self.progressed.emit(message)

    def end(self, result: Result) -> None:
        """Store the result."""
        self.result = result
        self._activities.end(self.activity, State.STOPPED if self.stopped else State.DONE, self.outcome)
        self.changed.emit()
        self.finished.emit(result)

    def fail(self, problem: str) -> None:
        """Store an error message."""
        self.problem = problem
        self._activities.end(self.activity, State.FAILED, problem)
        self.changed.emit()
        self.failed.emit(problem)

    @property
    def outcome(self) -> str:
        """Short outcome of the last job for the list of work."""
        return "stopped" if self.stopped else "done"

    def _ask_to_stop(self) -> None:
        if self._stop is not None and self.active:
            self.stopping = True
            self._stop.set()

    def _drop(self) -> None:
        """Terminate the process without an outcome."""
        process = self._process
        if process is not None:
            self._let_go()
            process.terminate()

    def _hear(self, message: Any) -> None:
        if isinstance(message, Ended):
            self._let_go()
            self.end(message.word)
        elif isinstance(message, Stopped):
            self._let_go()
            self._activities.end(self.activity, State.STOPPED, self.outcome)
            self.changed.emit()
        elif isinstance(message, Failed):
            self._let_go()
            self.fail(message.message)
        elif isinstance(message, Note):
            self._activities.note(self.activity, message.text)
            self.changed.emit()
            self.noted.emit(message.text)
        else:
            self.take(message)

    def _let_go(self) -> None:
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        self.stopping = False
        if process is not None:
            self._leaving.append(process)
        if pipe is not None:
            pipe.close()


class Computations:
    """All computations of the window, ticked and closed together."""

    def __init__(self, activities: Activities) -> None:
        """Create an empty group; activities: lists running computations."""
        self.activities = activities
        self._all: list[Computation[Any, Any, Any]] = []

    def add(self, computation: Computation[Any, Any, Any]) -> None:
        """Add a computation."""
        self._all.append(computation)

    def set_courteous(self, courteous: bool) -> None:
        """Call `Computation.set_courteous` of each."""
        for each in self._all:
            each.set_courteous(courteous)

    def tick(self) -> None:
        """Process messages since the last call."""
        for each in self._all:
            each.tick()

    def close(self) -> None:
        """Terminate all processes."""
        # Ask all to stop before waiting for any.
        for each in self._all:
            each._ask_to_stop()
        for each in self._all:
            each.close()
