"""Calls that may take their time, in threads; their results come back in the window's thread.

Each lane is one thread, so that what belongs to one resource happens in order: "session" is the only thread that
touches a session's files, "compute" waits for the process that computes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from core.errors import ServoBenchError

Done = Callable[[Any], object]
Failed = Callable[[str], object]


class Background:
    """Owned and polled by the window's thread."""

    def __init__(self, failed: Failed) -> None:
        """failed: told about errors nobody else wants to know."""
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
        """Hand out what has finished since the last call, in the order it was asked for."""
        for entry in [entry for entry in self._pending if entry[0].done()]:
            if entry not in self._pending:
                continue  # handed out while the one before was being taken
            self._pending.remove(entry)
            future, done, failed = entry
            error = future.exception()
            if error is not None:
                failed(in_words(error))
            elif done is not None:
                done(future.result())

    @property
    def closed(self) -> bool:
        """Whether nobody waits for anything any more; may be asked by what is under way."""
        return self._closed

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._pending)

    def close(self) -> None:
        """Forget what is waiting and wait for what is under way."""
        self._closed = True
        self._pending = []
        for lane in self._lanes.values():
            lane.shutdown(wait=True, cancel_futures=True)


def in_words(error: BaseException) -> str:
    """One line for a person; errors not raised on purpose say so."""
    if isinstance(error, ServoBenchError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return f"internal error: {type(error).__name__}: {error}"
