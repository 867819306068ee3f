"""The process's side of a computation: what it tells, what it is asked, and its last word. Loads no Qt."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Any

from bench_gui.work.background import in_words
from bench_gui.work.compute_process import lower_priority
from core.errors import StoppedEarly

NICENESS = 10
"""Below the window, the compute process and the recorder."""


@dataclass(frozen=True)
class Share:
    """How far a computation is, 0 … 1, and what it is at."""

    done: float
    text: str
    recorded: bool = False
    """Whether so much was on record already and took no time."""


class Line:
    """The process's side: what it tells the window, and what the window wishes."""

    def __init__(self, pipe: Connection, stop: Event, courteous: Event) -> None:
        self._pipe = pipe
        self.stop_asked: Callable[[], bool] = stop.is_set
        """Whether to end early and hand over what there is."""
        self.courtesy_asked: Callable[[], bool] = courteous.is_set
        """Whether to leave one processor to others."""

    def tell(self, message: object) -> None:
        """Tell the window something on the way."""
        self._pipe.send(message)


@dataclass(frozen=True)
class Ended:
    """The last word."""

    word: Any


@dataclass(frozen=True)
class Stopped:
    """The last word, where it was stopped before it had anything to hand over."""


@dataclass(frozen=True)
class Failed:
    """The last word, where it is why there is no other."""

    message: str


def serve(target: Callable[[Any, Line], object], job: object, pipe: Connection, stop: Event, courteous: Event) -> None:
    """Compute and say the last word."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority(NICENESS)
    try:
        pipe.send(Ended(target(job, Line(pipe, stop, courteous))))
    except (BrokenPipeError, ConnectionError):
        return
    except StoppedEarly:
        pipe.send(Stopped())
    except Exception as error:
        pipe.send(Failed(in_words(error)))
