"""Transfer of rows from the loop to a sink, in blocks, beside the loop.

A disk may be slow; the loop may not, since it also checks for the emergency stop. In the recorder's process the sink
therefore works in a thread of its own (HDF5 releases the interpreter while it writes), and an error of the sink stops
the run at the next cycle. The thread keeps the loop's scheduling priority: both need the interpreter, and a thread that
could be preempted while holding it would block the loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from core.motion.recording import SAMPLE_DTYPE, RunHeader, SampleSink, SinkDescription
from drivers import timing
from drivers.recorder.cycle import describe

BLOCK_TIME = 0.2
"""Rows are passed to the sink at least this often [s]."""
FEWEST_SAMPLES = 2
"""Fewest samples of a run that can be stored; a sink refuses fewer."""
TOO_SHORT = "it ended before its second sample, so there is no run to keep"


class Submits(Protocol):
    """Runs functions in order: a thread pool of one thread, or at once."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Call function(*arguments) after everything submitted before."""
        ...


class Immediately:
    """Runs each function before `submit` returns."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Call function(*arguments) now."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class Sealed(NamedTuple):
    """A run that the sink has closed."""

    id: str
    """The sink's name for it; empty if it was not stored."""
    problem: str
    """Error while storing; empty without one."""


class Storage:
    """One run on its way into a sink; without a description the rows are discarded."""

    def __init__(self, description: SinkDescription | None, header: RunHeader, worker: Submits) -> None:
        self._worker = worker
        self._block = np.zeros(max(1, round(header.rate * BLOCK_TIME)), dtype=SAMPLE_DTYPE)
        self._filled = 0
        self._pending: deque[Future[Any]] = deque()
        self._longest = round(timing.limits.storage_backlog / BLOCK_TIME)
        self._opening = None if description is None else worker.submit(description.open, header)
        self.samples = 0

    def opened(self) -> bool:
        """Return True once the sink is ready; raises the error of opening it."""
        if self._opening is None or not self._opening.done():
            return self._opening is None
        try:
            self._opening.result()
        except Exception:
            self._opening = None
            raise
        return True

    def put(self, row: tuple[Any, ...]) -> None:
        """Take one row of SAMPLE_DTYPE; raises the sink's error on earlier ones, OSError if it lags behind."""
        self._block[self._filled] = row
        self._filled += 1
        self.samples += 1
        if self._filled == len(self._block):
            self._hand_over()
            while self._pending and self._pending[0].done():
                self._pending.popleft().result()
            if len(self._pending) > self._longest:
                raise OSError(f"the store took no samples for {timing.limits.storage_backlog:g} s; check the disk")

    def finish(self, exit_status: str, reason: str) -> Future[Sealed]:
        """Pass on the remaining rows and seal the run; the future never holds an exception."""
        self._hand_over()
        return self._worker.submit(self._seal, exit_status, reason)

    def _hand_over(self) -> None:
        if self._opening is not None and self._filled:
            block = self._block[: self._filled].copy()
            self._pending.append(self._worker.submit(self._append, block))
        self._filled = 0

    def _append(self, block: NDArray[Any]) -> None:
        self._sink().append(block)

    def _sink(self) -> SampleSink:
        assert self._opening is not None
        return self._opening.result()

    def _seal(self, exit_status: str, reason: str) -> Sealed:
        """Close the run after the last block, as a failed one if a block was lost. Runs in the sink's thread."""
        if self._opening is None:
            return Sealed("", "")
        problem = ""
        try:
            for block in self._pending:
                block.result()
        except Exception as error:
            problem = f"storing samples failed: {describe(error)}"
            exit_status, reason = "fail", "; ".join(part for part in (reason, problem) if part)
        try:
            return Sealed(self._sink().finish(exit_status, reason), problem)
        except Exception as error:
            kept = self.samples >= FEWEST_SAMPLES
            return Sealed("", f"closing the run's file failed: {describe(error)}" if kept else TOO_SHORT)
