"""List of running work, shown in the status line, in the list above it and in the question at closing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from bench_gui.headless.pace import Pace
from bench_gui.work.process import Share

SOON = 1.0
"""Duration after which work is listed [s]."""
KEPT = 600.0
"""Time for which finished work stays in the list [s]."""


class State(Enum):
    """State of a job."""

    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(eq=False)
class Activity:
    """A kind of job: title, progress, cancellation and location of the result."""

    title: str
    cancel: Callable[[], object] | None = None
    """Cancels the job; None if it cannot be cancelled."""
    cancel_text: str = "Stop"
    cancel_tip: str = "Cancel; nothing is kept"
    missed: str = ""
    """Name of the job in the question at closing; empty if the user did not start it."""
    moves: bool = False
    """True if it moves the servo."""
    view: QWidget | None = None
    """Shows the page of the job."""
    file: Path | None = None
    """Written file."""
    state: State = State.IDLE
    text: str = ""
    """Current step, or outcome."""
    share: float | None = None
    """Completed share, 0 … 1; None while unknown."""
    time: str = ""
    """Time spent of the time expected; empty at the beginning."""
    at: float = 0.0
    """Time of its start or end [s]."""
    listed: bool = False
    """True once it has taken long enough to be listed."""
    pace: Pace | None = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        """True while it is running."""
        return self.state in (State.RUNNING, State.STOPPING)

    @property
    def words(self) -> str:
        """Current step and time, or the outcome."""
        if self.state is State.STOPPING:
            return "stopping…"
        return ", ".join(part for part in (self.text, self.time) if part)

    @property
    def in_words(self) -> str:
        """Title and progress in one line."""
        return f"{self.title}: {self.words}" if self.words else self.title


class Activities(QObject):
    """All jobs of the window; a job keeps its entry and outcome until it starts again."""

    changed = Signal()
    """Emitted at most once per tick, after a job started, progressed or ended."""
    ticked = Signal()
    """Emitted before `changed`, for jobs whose progress is polled."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an empty list; clock: returns the time [s]."""
        super().__init__()
        self._clock = clock
        self._all: list[Activity] = []
        self._changed = False

    @property
    def running(self) -> list[Activity]:
        """Running jobs, the latest last."""
        return [each for each in self._all if each.running]

    @property
    def listed(self) -> list[Activity]:
        """Jobs that have run for a while or ended recently, the latest last."""
        return [each for each in self._all if each.listed]

    @property
    def foremost(self) -> Activity | None:
        """Most important job: one that moves the servo, or one that the user started."""
        running = [each for each in self.listed if each.running]
        return max(running, key=lambda each: (each.moves, bool(each.missed)), default=None)

    @property
    def missed(self) -> list[str]:
        """Jobs that closing would cancel, one line each."""
        return [each.missed for each in self.running if each.missed]

    def begin(self, activity: Activity, text: str = "") -> None:
        """Start a job."""
        self._put(activity, State.RUNNING, text)
        activity.share = activity.file = None
        activity.listed = False
        activity.pace = Pace(self._clock)

    def tell(self, activity: Activity, share: Share) -> None:
        """Set the progress of a job."""
        activity.share, activity.text = share.done, share.text
        if activity.pace is not None:
            activity.time = activity.pace.in_words(share.done, share.recorded)
        self._changed = True

    def note(self, activity: Activity, text: str) -> None:
        """Name work that is not part of a job's progress."""
        activity.text = text
        if activity.pace is not None:
            activity.pace.interrupted()
        self._changed = True

    def stopping(self, activity: Activity) -> None:
        """Mark a job as being cancelled."""
        activity.state = State.STOPPING
        self._changed = True

    def end(self, activity: Activity, state: State, text: str) -> None:
        """End a job with an outcome."""
        if activity.running:
            activity.listed = activity.listed or self._clock() - activity.at >= SOON
            self._put(activity, state, text)

    def forget(self, activity: Activity) -> None:
        """Remove a job without an outcome."""
        self._put(activity, State.IDLE, "")
        activity.listed = False

    def tick(self) -> None:
        """Emit changes since the last call."""
        self.ticked.emit()
        now = self._clock()
        for each in self._all:
            if each.running and not each.listed and now - each.at >= SOON:
                each.listed = self._changed = True
            if each.listed and not each.running and now - each.at >= KEPT:
                each.listed, self._changed = False, True
        if self._changed:
            self._changed = False
            self.changed.emit()

    def _put(self, activity: Activity, state: State, text: str) -> None:
        """Move a job to the end of the list."""
        self._all = [*(each for each in self._all if each is not activity), activity]
        activity.state, activity.text, activity.time, activity.at = state, text, "", self._clock()
        self._changed = True
