"""A computation in a process of its own: started, listened to, asked to stop, or dropped.

The window's thread owns a worker and never waits for it but while the window closes.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from typing import Any

from bench_gui.work.background import in_words
from bench_gui.work.desk import lower_priority

NICENESS = 10
"""Below the window, the desk and the recorder."""
PATIENCE = 2.0
"""A process asked to stop while the window closes gets this long [s]."""
MOST_MESSAGES = 50
"""Taken at one tick, so that a flood cannot hold up the window."""


class Line:
    """The process's side: what it tells the window, and what the window wishes."""

    def __init__(self, pipe: Connection, stop: Event, courteous: Event) -> None:
        self._pipe = pipe
        self.stop_asked: Callable[[], bool] = stop.is_set
        """Whether to end early and hand over what there is."""
        self.courtesy_asked: Callable[[], bool] = courteous.is_set
        """Whether to leave one processor to others."""

    def tell(self, message: object) -> None:
        """Tell the window something on the way."""
        self._pipe.send(message)


Target = Callable[[Any, Line], object]
"""A module's function: job and line to the last word."""


@dataclass(frozen=True)
class _Ended:
    word: object


@dataclass(frozen=True)
class _Failed:
    message: str


class Worker:
    """One computation at a time."""

    def __init__(
        self,
        name: str,
        target: Target,
        *,
        ended: Callable[[Any], None],
        failed: Callable[[str], None],
        told: Callable[[Any], None] = lambda message: None,
        lost: str = "the computing process ended unexpectedly; try again",
        keeps: bool = False,
        missed: str = "",
        has_children: bool = False,
    ) -> None:
        """ended hears the last word, failed a message; one of them, unless it is dropped.

        lost: what is said of a process that vanished; keeps: closing gives it time to write down what it has found;
        missed: what closing would end while it computes, in words; empty where nobody asked for it; has_children: its
        process starts others, which a daemon must not.
        """
        self._name, self._target, self._lost, self._keeps = name, target, lost, keeps
        self.missed = missed
        self._daemon = not has_children
        self._told, self._ended, self._failed = told, ended, failed
        self._context = get_context("spawn")
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._leaving: list[SpawnProcess] = []
        """Processes that have said their last word; kept until they are gone."""
        self._stop: Event | None = None
        self._courteous: Event | None = None
        self._courtesy = False
        self.stopping = False

    @property
    def active(self) -> bool:
        """Whether it is computing."""
        return self._process is not None

    def start(self, job: object) -> None:
        """Begin; what was under way is dropped."""
        self.drop()
        here, there = self._context.Pipe(duplex=False)
        self._stop, self._courteous = self._context.Event(), self._context.Event()
        if self._courtesy:
            self._courteous.set()
        process = self._context.Process(
            target=_serve,
            args=(self._target, job, there, self._stop, self._courteous),
            name=self._name,
            daemon=self._daemon,
        )
        process.start()
        there.close()
        self._process, self._pipe = process, here

    def stop(self) -> bool:
        """Ask it to hand over what it has; whether that was news."""
        if self._stop is None or not self.active or self.stopping:
            return False
        self.stopping = True
        self._stop.set()
        return True

    def drop(self) -> None:
        """End it without a word."""
        process = self._process
        if process is not None:
            self._let_go()
            process.terminate()

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
                self._take(pipe.recv())
                if self._pipe is not pipe:
                    return
            else:
                return
        except (EOFError, OSError):
            alive = False
        if not alive:
            self._let_go()
            self._failed(self._lost)

    def close(self) -> None:
        """End the process, whatever it does."""
        self.stop()
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

    def _take(self, message: object) -> None:
        if isinstance(message, _Ended):
            self._let_go()
            self._ended(message.word)
        elif isinstance(message, _Failed):
            self._let_go()
            self._failed(message.message)
        else:
            self._told(message)

    def _let_go(self) -> None:
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        self.stopping = False
        if process is not None:
            self._leaving.append(process)
        if pipe is not None:
            pipe.close()


class Workers:
    """Several of them, ticked and closed together."""

    def __init__(self) -> None:
        self._workers: list[Worker] = []

    def add(self, worker: Worker) -> Worker:
        """Take one in and return it."""
        self._workers.append(worker)
        return worker

    @property
    def under_way(self) -> list[str]:
        """What closing would end, one line each."""
        return [worker.missed for worker in self._workers if worker.active and worker.missed]

    def set_courteous(self, courteous: bool) -> None:
        """As `Worker.set_courteous`, for each."""
        for worker in self._workers:
            worker.set_courteous(courteous)

    def tick(self) -> None:
        """Take what they said since the last call."""
        for worker in self._workers:
            worker.tick()

    def close(self) -> None:
        """End them all."""
        # All are asked before one is waited for.
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.close()


def _serve(target: Target, job: object, pipe: Connection, stop: Event, courteous: Event) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority(NICENESS)
    try:
        pipe.send(_Ended(target(job, Line(pipe, stop, courteous))))
    except (BrokenPipeError, ConnectionError):
        return
    except Exception as error:
        pipe.send(_Failed(in_words(error)))
