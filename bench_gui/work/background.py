"""Slow calls in threads, with results delivered in the window's thread.

Each lane is one thread, so that calls for one resource run in order: only "session" touches the files of a session,
and "compute" waits for the compute process.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from typing import Any

from core.base.errors import ServoBenchError

SLICE = 0.01
"""Time given to results before the window's other events come first [s]."""
Done = Callable[[Any], object]
Failed = Callable[[str], object]


class Background:
    """Lanes of background calls, owned and polled by the window's thread."""

    def __init__(self, failed: Failed) -> None:
        """Create the lanes; failed: called with errors of calls without an own handler."""
        self._failed = failed
        self._lanes: dict[str, ThreadPoolExecutor] = {}
        self._pending: list[tuple[Future[Any], Done | None, Failed]] = []
        self._closed = False

    def submit(
        self,
        lane: str,
        function: Callable[..., Any],
        *arguments: Any,
        done: Done | None = None,
        failed: Failed | None = None,
    ) -> None:
        """Call function(*arguments) in a lane; `poll` later calls done(result) or failed(message)."""
        if self._closed:
            return
        if lane not in self._lanes:
            self._lanes[lane] = ThreadPoolExecutor(1, thread_name_prefix=lane)
        future = self._lanes[lane].submit(function, *arguments)
        self._pending.append((future, done, failed or self._failed))

    def poll(self) -> None:
        """Deliver the results since the last call, in the order of submission; after SLICE the next call goes on."""
        end = perf_counter() + SLICE
        for entry in [entry for entry in self._pending if entry[0].done()]:
            if perf_counter() > end:
                return
            if entry not in self._pending:
                continue  # delivered by a nested poll
            self._pending.remove(entry)
            future, done, failed = entry
            error = future.exception()
            if error is not None:
                failed(in_words(error))
            elif done is not None:
                done(future.result())

    @property
    def closed(self) -> bool:
        """True once closed; running calls may poll it."""
        return self._closed

    @property
    def busy(self) -> bool:
        """True while calls are pending."""
        return bool(self._pending)

    def close(self) -> None:
        """Drop waiting calls and wait for running ones."""
        self._closed = True
        self._pending = []
        for lane in self._lanes.values():
            lane.shutdown(wait=True, cancel_futures=True)


def in_words(error: BaseException) -> str:
    """Return a one-line message for the user; unexpected errors are marked as internal."""
    if isinstance(error, ServoBenchError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return f"internal error: {type(error).__name__}: {error}"
