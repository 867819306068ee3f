"""An identification in the background: started, watched, stopped from the window, computed in its own process."""

from __future__ import annotations

from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from bench_gui.identify.messages import FitFailed, FitJob, FitProgress, FitResult, FitSettings, FitStarted
from bench_gui.identify.process import run
from bench_gui.results import new_result_folder

PATIENCE = 2.0
"""A process asked to stop while the window closes gets this long [s]."""
MOST_MESSAGES = 50
"""Taken at one tick, so that a flood cannot hold up the window."""


class Fitting(QObject):
    """One identification at a time."""

    changed = Signal()
    """It began, is being stopped, or ended."""
    divided = Signal(int, int)
    """Runs trained on and held out."""
    progressed = Signal(object)
    """FitProgress"""
    finished = Signal(object)
    """FitResult"""
    problem = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._context = get_context("spawn")
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._leaving: list[SpawnProcess] = []
        """Processes that have said their last word; kept until they are gone."""
        self._stop = self._context.Event()
        self.stopping = False
        self.result: FitResult | None = None
        self.latest: FitProgress | None = None

    @property
    def active(self) -> bool:
        """Whether one is running."""
        return self._process is not None

    def start(self, session: Path, results: Path, runs: tuple[str, ...], servo: str, settings: FitSettings) -> None:
        """Identify from runs of a session; results: the folder that keeps them."""
        if self.active:
            self.problem.emit("an identification is running; stop it first")
            return
        job = FitJob(session=session, runs=runs, servo=servo, settings=settings, folder=new_result_folder(results))
        here, there = self._context.Pipe(duplex=False)
        self._stop = self._context.Event()
        process = self._context.Process(target=run, args=(job, there, self._stop), name="identification", daemon=True)
        process.start()
        there.close()
        self._process, self._pipe = process, here
        self.stopping, self.result, self.latest = False, None, None
        self.changed.emit()

    def stop(self) -> None:
        """End it at the next generation; what was found is kept and `finished` follows."""
        if self.active and not self.stopping:
            self.stopping = True
            self._stop.set()
            self.changed.emit()

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
                if self._pipe is None:
                    return
            else:
                return
        except (EOFError, OSError):
            alive = False
        if not alive:
            self._end()
            self.problem.emit("the identification's process ended unexpectedly; start it again")

    def close(self) -> None:
        """End the process, whatever it does."""
        self._stop.set()
        if self._process is not None:
            self._process.join(PATIENCE)
        for process in (*self._leaving, self._process):
            if process is None:
                continue
            for end in (process.terminate, process.kill):
                if process.is_alive():
                    end()
                    process.join(PATIENCE)
        self._leaving = []
        self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _take(self, message: object) -> None:
        if isinstance(message, FitStarted):
            self.divided.emit(message.train, message.validation)
        elif isinstance(message, FitProgress):
            self.latest = message
            self.progressed.emit(message)
        elif isinstance(message, FitResult):
            self.result = message
            self._end()
            self.finished.emit(message)
            if message.problem:
                self.problem.emit(message.problem)
        elif isinstance(message, FitFailed):
            self._end()
            self.problem.emit(message.message)

    def _end(self) -> None:
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        self.stopping = False
        if process is not None:
            self._leaving.append(process)
        if pipe is not None:
            pipe.close()
        self.changed.emit()
