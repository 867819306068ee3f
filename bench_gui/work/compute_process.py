"""Separate process for physics: the window's process never loads the compiler and never computes.

Only the lane "compute" calls the process and waits for its answers; the window's thread only closes it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from bench_gui.work.background import in_words
from bench_gui.work.memory import return_free_memory, return_memory_early
from core.base.announcements import listen
from core.base.errors import ServoBenchError
from drivers import timing

NICENESS = 5
"""Niceness of the process: below the window and far below the recorder, which must stay responsive."""


class ComputeProcessError(ServoBenchError):
    """A task of the compute process failed."""


class ComputeProcess:
    """Starts its process at the first call, and again if it died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._closed = False
        self.doing = ""
        """Last announcement of the process; empty between two calls."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of a module in the process and return its result.

        Raises:
            ComputeProcessError: The function raised, or the process died.
        """
        pipe = self._ready()
        try:
            pipe.send((function, arguments))
            while (answer := pipe.recv())[0] is None:
                self.doing = answer[1]
        except (EOFError, OSError):
            self._forget()
            raise ComputeProcessError("the computing process ended unexpectedly; try again") from None
        finally:
            self.doing = ""
        good, answer = answer
        if not good:
            raise ComputeProcessError(answer)
        return answer

    def close(self) -> None:
        """Terminate the process."""
        with self._lock:
            self._closed = True
            # The thread that takes the pipe closes it; a call whose process died does so too.
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
        if process is None:
            return
        process.terminate()
        process.join(timing.limits.compute_process_end)
        if process.is_alive():
            process.kill()
            process.join()
        if pipe is not None:
            pipe.close()

    def _ready(self) -> Connection:
        with self._lock:
            if self._closed:
                raise ComputeProcessError("the window is closing")
            if self._process is None or self._pipe is None:
                self.doing = "loading the program"
                context = get_context("spawn")
                here, there = context.Pipe()
                process = context.Process(target=_serve, args=(there,), name="compute", daemon=True)
                process.start()
                there.close()
                self._process, self._pipe = process, here
            return self._pipe

    def _forget(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.join(timing.limits.compute_process_end)
            if self._pipe is not None:
                self._pipe.close()
            self._process = self._pipe = None


def lower_priority(by: int) -> None:
    """Lower the priority of this process, if the system supports it, in favour of window and recorder."""
    if hasattr(os, "nice"):
        os.nice(by)


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority(NICENESS)
    return_memory_early()
    sending = threading.Lock()  # announcements come from any thread

    def tell(text: str) -> None:
        with sending:
            pipe.send((None, text))

    listen(tell)
    while _answer(pipe):
        return_free_memory()


def _answer(pipe: Connection) -> bool:
    """Wait for one call and answer it; return False once the pipe is closed."""
    try:
        function, arguments = pipe.recv()
    except (EOFError, OSError):
        return False
    try:
        answer: tuple[bool, Any] = (True, function(*arguments))
    except Exception as error:
        answer = (False, in_words(error))
    try:
        pipe.send(answer)
    except OSError:
        return False
    return True
