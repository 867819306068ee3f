"""The window's signs of life to the recorder, from a thread of their own that asks whether the window still answers.

Beside other work on the machine the window's thread may be late by more than the recorder waits; that is no reason to
lose a run. A window that answers nobody is one: its servo is released.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread

WINDOW_LIMIT = 1.5
"""A window that did not answer for this long [s] is not alive."""
PERIOD = 0.04
"""Between two signs of life [s]."""


class Heartbeat:
    """Calls `beat` until closed, as long as `answered` is called often enough."""

    def __init__(self, beat: Callable[[], None]) -> None:
        self._beat = beat
        self._closed = Event()
        self.answered()
        self._thread = Thread(target=self._live, name="heartbeat", daemon=True)
        self._thread.start()

    def answered(self) -> None:
        """Say that the window answers. Call it from where the window would hang if it hung."""
        self._answered = time.monotonic()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._thread.join()

    def _live(self) -> None:
        while not self._closed.wait(PERIOD):
            if time.monotonic() - self._answered < WINDOW_LIMIT:
                self._beat()
