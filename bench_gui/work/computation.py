"""A computation in a process of its own: started, listened to, stopped, outdated; what is known of it is kept here.

The window's thread owns it and never waits for it but while the window closes.
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
from bench_gui.work.process import Ended, Failed, Line, Share, Stopped, serve

PATIENCE = 2.0
"""A process asked to stop while the window closes gets this long [s]."""
MOST_MESSAGES = 50
"""Taken at one tick, so that a flood cannot hold up the window."""


Job = TypeVar("Job")
Message = TypeVar("Message")
Result = TypeVar("Result")
"""What is asked, what is told on the way, what comes out: plain data that travels between processes."""


class Computation(QObject, Generic[Job, Message, Result]):
    """One at a time, and what came of it. A subclass keeps more of what it is told by extending `take` and `end`."""

    changed = Signal()
    """It began, is being stopped, ended, or something else is known of it."""
    progressed = Signal(object)
    """What it told on the way."""
    finished = Signal(object)
    """Its result."""
    failed = Signal(str)
    """What went wrong, for a person."""

    def __init__(
        self,
        computations: Computations,
        title: str,
        target: Callable[[Job, Line], Result],
        *,
        lost: str = "the computing process ended unexpectedly; try again",
        keeps: bool = False,
        stop_tip: str = "End it; nothing of it is kept",
        missed: str = "",
        has_children: bool = False,
    ) -> None:
        """Join those that are ticked and closed together. target: a module's function, it runs in the process.

        title: in the list of work under way; lost: what is said of a process that vanished; keeps: it hands over what
        it has found when it is stopped, and closing gives it time to write that down, any other ends at once;
        stop_tip: what a stop keeps; missed: what closing would end while it computes, in words, empty where nobody
        asked for it; has_children: its process starts others, which a daemon must not.
        """
        super().__init__()
        computations.add(self)
        self._activities = computations.activities
        self.activity = Activity(title, cancel=self.stop, cancel_tip=stop_tip, missed=missed)
        """As the list of work under way shows it; what it tells that is a `Share` says how far it is."""
        self._target, self._lost, self._keeps = target, lost, keeps
        self._daemon = not has_children
        self._context = get_context("spawn")
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._leaving: list[SpawnProcess] = []
        """Processes that have said their last word; kept until they are gone."""
        self._stop: Event | None = None
        self._courteous: Event | None = None
        self._courtesy = False
        self.stopping = False
        """Whether it was asked to end early and has not ended yet."""
        self.job: Job | None = None
        """What was asked last."""
        self.latest: Message | None = None
        """The last it told on the way."""
        self.result: Result | None = None
        """The last that came out; it stays while the next one is computed."""
        self.problem = ""
        """Why the last one failed."""
        self.stopped = False
        """Whether the last one was stopped before its end."""
        self.outdated = False
        """Whether `result` is of something else than there is now."""

    @property
    def active(self) -> bool:
        """Whether it is computing."""
        return self._process is not None

    def start(self, job: Job) -> None:
        """Begin; what was under way is dropped."""
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
        self._activities.begin(self.activity, "starting")
        self.changed.emit()

    def stop(self) -> None:
        """End it early: one that keeps what it has hands it over soon, any other ends now with what it has said."""
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
        """What it is about has changed: what is under way is given up, what is known may be old."""
        if self.active:
            self.forget()
        self.outdated = self.result is not None
        self.changed.emit()

    def forget(self) -> None:
        """Nothing is known, nothing is under way."""
        self._drop()
        self._activities.forget(self.activity)
        self.latest, self.result, self.problem = None, None, ""
        self.stopped = self.outdated = False
        self.changed.emit()

    def set_courteous(self, courteous: bool) -> None:
        """Leave one processor to others, or take it again; the result is the same."""
        if courteous != self._courtesy:
            self._courtesy = courteous
            if self._courteous is not None:
                (self._courteous.set if courteous else self._courteous.clear)()

    def tick(self) -> None:
        """Take what the process said since the last call."""
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
        """End the process, whatever it does."""
        self._ask_to_stop()
        process = self._process
        if process is not None:
            if self._keeps:
                process.join(PATIENCE)
            self._let_go()
        for leaving in self._leaving:
            for end in (leaving.terminate, leaving.kill):
                if leaving.is_alive():
                    end()
                    leaving.join(PATIENCE)
        self._leaving = []

    def take(self, message: Message) -> None:
        """Keep what it told on the way."""
        self.latest = message
        if isinstance(message, Share) and not self.stopping:
            self._activities.tell(self.activity, message)
        self.progressed.emit(message)

    def end(self, result: Result) -> None:
        """Keep its result."""
        self.result = result
        self._activities.end(self.activity, State.STOPPED if self.stopped else State.DONE, self.outcome)
        self.changed.emit()
        self.finished.emit(result)

    def fail(self, problem: str) -> None:
        """Keep why it failed."""
        self.problem = problem
        self._activities.end(self.activity, State.FAILED, problem)
        self.changed.emit()
        self.failed.emit(problem)

    @property
    def outcome(self) -> str:
        """How the last one ended, in a few words, for the list of work."""
        return "stopped" if self.stopped else "done"

    def _ask_to_stop(self) -> None:
        if self._stop is not None and self.active:
            self.stopping = True
            self._stop.set()

    def _drop(self) -> None:
        """End it without a word."""
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
    """All of the window's, ticked and closed together."""

    def __init__(self, activities: Activities) -> None:
        """activities: lists them while they compute."""
        self.activities = activities
        self._all: list[Computation[Any, Any, Any]] = []

    def add(self, computation: Computation[Any, Any, Any]) -> None:
        """Take one in."""
        self._all.append(computation)

    def set_courteous(self, courteous: bool) -> None:
        """As `Computation.set_courteous`, for each."""
        for each in self._all:
            each.set_courteous(courteous)

    def tick(self) -> None:
        """Take what they said since the last call."""
        for each in self._all:
            each.tick()

    def close(self) -> None:
        """End them all."""
        # All are asked before one is waited for.
        for each in self._all:
            each._ask_to_stop()
        for each in self._all:
            each.close()
