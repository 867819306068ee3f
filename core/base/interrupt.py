"""Graceful Ctrl+C: the first requests a stop that keeps the results so far, the second stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import ClassVar, Self


class Interrupt:
    """Context in which the first interrupt sets `asked` and the second raises KeyboardInterrupt."""

    heeded: ClassVar[bool] = False
    """True once any context was interrupted; reset to False at the start of a command."""

    def __init__(self) -> None:
        self.asked = False
        self._reported = False
        self._previous: signal.Handlers | None = None

    def news(self) -> bool:
        """Return True once after an interrupt."""
        fresh = self.asked and not self._reported
        self._reported = self._reported or fresh
        return fresh

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = Interrupt.heeded = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._handle)  # type: ignore[assignment]
        return self

    def __exit__(self, *exception: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
