"""Sinks that do something to the recorder's process, which is where they live."""

from __future__ import annotations

import errno
import time
from dataclasses import dataclass
from typing import Any

from sessions.writing.writer import SessionSink


@dataclass(frozen=True)
class Wrapped:
    """Opens a session's sink and does something after so many rows."""

    sink: SessionSink
    rows: int = 60
    jump: float = 0.0
    """The wall clock jumps by this [s]."""
    full: bool = False
    """The disk is full."""

    def open(self, header: Any) -> _Open:
        return _Open(self, self.sink.open(header))


class _Open:
    def __init__(self, description: Wrapped, inner: Any) -> None:
        self._description, self._inner = description, inner
        self._rows = 0

    def append(self, rows: Any) -> None:
        self._rows += len(rows)
        wanted = self._description
        if self._rows >= wanted.rows:
            if wanted.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            if wanted.jump:
                real, self._rows = time.time, -(10**9)
                time.time = lambda: real() + wanted.jump
        self._inner.append(rows)

    def finish(self, exit_status: str, reason: str = "") -> str:
        return self._inner.finish(exit_status, reason)
