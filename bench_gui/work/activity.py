"""Work under way as one list: the line at the foot, the list above it and the question at closing show this."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from bench_gui.work.process import Share
from core.time_left import TimeLeft
from core.units import about, duration

SOON = 1.0
"""Work that is over sooner is not listed [s]."""
KEPT = 600.0
"""Work that has ended stays in the list for so long [s]."""
PERIOD = 0.25
"""While work is under way, its time left is shown anew so often [s]."""


class State(Enum):
    """Of a job."""

    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(eq=False)
class Activity:
    """One job at a time: what it is, how far it is, how it is ended and where its result is seen."""

    title: str
    cancel: Callable[[], object] | None = None
    """Ends it early; None where it cannot be ended."""
    cancel_text: str = "Stop"
    cancel_tip: str = "End it; nothing of it is kept"
    missed: str = ""
    """What closing would end, in words; empty where nobody asked for it."""
    moves: bool = False
    """Whether it moves the servo."""
    view: QWidget | None = None
    """Where it is seen."""
    file: Path | None = None
    """What it wrote."""
    state: State = State.IDLE
    text: str = ""
    """What it is at, or how it ended."""
    share: float | None = None
    """Done of it, 0 … 1; None while unknown."""
    left: float | None = None
    """Estimated time to its end [s]; None while unknown."""
    known_left: float | None = None
    """The same where it is known and not estimated [s]."""
    at: float = 0.0
    """When it began, or ended [s]."""
    took: float | None = None
    """The last one that came to its end [s]."""
    listed: bool = False
    """Whether it has taken long enough to be in the list."""
    _time_left: TimeLeft | None = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        """Whether it is under way."""
        return self.state in (State.RUNNING, State.STOPPING)

    @property
    def words(self) -> str:
        """What it is at and how long it still takes, or how it ended."""
        if self.state is State.STOPPING:
            return "stopping…"
        left = ""
        if self.running and self.known_left is not None:
            left = f"{duration(self.known_left)} left"
        elif self.running and self.left is not None:
            left = f"{about(self.left)} left"
        return ", ".join(part for part in (self.text, left) if part)

    @property
    def in_words(self) -> str:
        """All of it in one line."""
        return f"{self.title}: {self.words}" if self.words else self.title


class Activities(QObject):
    """Every job of the window; each keeps its place, and what it was when it ended, until it begins again."""

    changed = Signal()
    """A job began or ended, or one is somewhere else; comes at a tick, however much was told."""
    ticked = Signal()
    """Comes before that, for whoever tells what it has to be asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: returns the time [s]."""
        super().__init__()
        self._clock = clock
        self._all: list[Activity] = []
        self._changed = False
        self._shown_at = 0.0

    @property
    def running(self) -> list[Activity]:
        """Under way, what was begun last at the end."""
        return [each for each in self._all if each.running]

    @property
    def listed(self) -> list[Activity]:
        """Under way for a while, or ended not long ago; what was begun or ended last at the end."""
        return [each for each in self._all if each.listed]

    @property
    def foremost(self) -> Activity | None:
        """The one to show where there is room for one: what moves the servo, then what somebody asked for."""
        running = [each for each in self.listed if each.running]
        return max(running, key=lambda each: (each.moves, bool(each.missed)), default=None)

    @property
    def missed(self) -> list[str]:
        """What closing would end, one line each."""
        return [each.missed for each in self.running if each.missed]

    def begin(self, activity: Activity, text: str = "") -> None:
        """It is under way, and nothing is known of it yet."""
        self._put(activity, State.RUNNING, text)
        activity.share = activity.left = activity.known_left = activity.file = None
        activity.listed = False
        activity._time_left = TimeLeft(self._clock)

    def tell(self, activity: Activity, share: Share) -> None:
        """It is so far."""
        activity.share, activity.text = share.done, share.text
        if activity._time_left is not None:
            activity._time_left.told(share.done, share.recorded)
        self._changed = True

    def stopping(self, activity: Activity) -> None:
        """It was asked to end early."""
        activity.state = State.STOPPING
        self._changed = True

    def end(self, activity: Activity, state: State, text: str) -> None:
        """It is over."""
        if activity.running:
            took = self._clock() - activity.at
            activity.listed = activity.listed or took >= SOON
            activity.took = took if state is State.DONE else activity.took
            self._put(activity, state, text)

    def forget(self, activity: Activity) -> None:
        """It is over, and nobody wants to know of it."""
        self._put(activity, State.IDLE, "")
        activity.listed = False

    def tick(self) -> None:
        """Tell what has changed since the last call."""
        self.ticked.emit()
        now = self._clock()
        for each in self._all:
            if each.running and not each.listed and now - each.at >= SOON:
                each.listed = self._changed = True
            if each.listed and not each.running and now - each.at >= KEPT:
                each.listed, self._changed = False, True
        if self._changed or (self.running and now - self._shown_at >= PERIOD):
            for each in self.running:
                each.left = self._left(each)
            self._changed, self._shown_at = False, now
            self.changed.emit()

    def _left(self, activity: Activity) -> float | None:
        """By its own pace; where it tells no share, by how long the last one took."""
        left = None if activity._time_left is None else activity._time_left.left()
        if left is None and activity.share is None and activity.took is not None:
            left = activity.took - (self._clock() - activity.at)
        return None if left is None or left <= 0.0 else left

    def _put(self, activity: Activity, state: State, text: str) -> None:
        """Into the last place."""
        self._all = [*(each for each in self._all if each is not activity), activity]
        activity.state, activity.text, activity.at = state, text, self._clock()
        self._changed = True
