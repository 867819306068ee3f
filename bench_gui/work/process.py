"""Process side of a computation: progress messages, requests and the final message. Does not load Qt."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from threading import Lock
from typing import Any

from bench_gui.work.background import in_words
from bench_gui.work.compute_process import lower_priority
from core.base.announcements import listen
from core.base.errors import StoppedEarly

SHARE_PERIOD = 0.1
"""Shortest time between two shares of a search, which would flood the window otherwise [s]."""
NICENESS = 10
"""Niceness: below the window, the compute process and the recorder."""


@dataclass(frozen=True)
class Share:
    """Progress of a computation, 0 … 1, and its current step."""

    done: float
    text: str
    recorded: bool = False
    """True if this share was stored already and took no time."""


@dataclass(frozen=True)
class Note:
    """Announcement of long work outside the computation's own steps, e.g. the compilation of the kernels."""

    text: str


class Line:
    """Process end of the connection: messages to the window, and requests from it."""

    def __init__(self, pipe: Connection, stop: Event, courteous: Event) -> None:
        self._pipe = pipe
        self._sending = Lock()
        """Announcements come from any thread."""
        self._next_share = 0.0
        self.stop_asked: Callable[[], bool] = stop.is_set
        """True if the window requests an early end with a partial result."""
        self.courtesy_asked: Callable[[], bool] = courteous.is_set
        """True if the window requests to leave one processor free."""

    def tell(self, message: object) -> None:
        """Send a progress message to the window."""
        with self._sending:
            self._pipe.send(message)

    def share(self, done: float, text: str) -> None:
        """Send a `Share`, unless another one was sent within `SHARE_PERIOD`."""
        now = time.monotonic()
        if now >= self._next_share:
            self._next_share = now + SHARE_PERIOD
            self.tell(Share(done, text))


@dataclass(frozen=True)
class Ended:
    """Final message with the result."""

    word: Any


@dataclass(frozen=True)
class Stopped:
    """Final message if it was stopped without a partial result."""


@dataclass(frozen=True)
class Failed:
    """Final message with an error."""

    message: str


def serve(target: Callable[[Any, Line], object], job: object, pipe: Connection, stop: Event, courteous: Event) -> None:
    """Compute and send the final message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority(NICENESS)
    line = Line(pipe, stop, courteous)
    listen(lambda text: line.tell(Note(text)))
    try:
        pipe.send(Ended(target(job, line)))
    except (BrokenPipeError, ConnectionError):
        return
    except StoppedEarly:
        pipe.send(Stopped())
    except Exception as error:
        pipe.send(Failed(in_words(error)))
