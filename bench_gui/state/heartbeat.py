"""Heartbeat of the window for the recorder, sent by a separate thread while the window is responsive.

On a busy machine the window's thread may be late by more than the recorder's timeout, which must not end a run. If the
window hangs, the heartbeat stops and the recorder releases the servo.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from drivers import timing

PERIOD = 0.04
"""Heartbeat period [s]."""


class Heartbeat:
    """Calls `beat` periodically until closed, while `answered` is called often enough."""

    def __init__(self, beat: Callable[[], None]) -> None:
        self._beat = beat
        self._closed = Event()
        self.answered()
        self._thread = Thread(target=self._live, name="heartbeat", daemon=True)
        self._thread.start()

    def answered(self) -> None:
        """Record that the window is responsive; call it from the window's event loop."""
        self._answered = timing.now()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._thread.join()

    def _live(self) -> None:
        while not self._closed.wait(PERIOD):
            if timing.now() - self._answered < timing.limits.window_silence:
                self._beat()
