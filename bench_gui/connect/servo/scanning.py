"""A scan for servos: runs in a thread of its own, tells what it tried as it goes, ends when it is told to."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from threading import Event

from PySide6.QtCore import QObject, Signal

from bench_gui.work.activity import Activities, Activity, State
from bench_gui.work.background import Background
from bench_gui.work.process import Share
from core.words import counted
from drivers.scan import Found, ScanStep, scan

LANE = "scan"


class Scanning(QObject):
    """One scan at a time. What one that was given up still says is not heard."""

    stepped = Signal(object)
    """ScanStep"""
    finished = Signal(object)
    """list[Found], in the order they were found; what was found so far when it was stopped"""
    failed = Signal(str)

    def __init__(self, background: Background, activities: Activities) -> None:
        super().__init__()
        self._background, self._activities = background, activities
        self.activity = Activity("Scan", lambda: self._stop.set(), "Cancel", "End it; what answered so far is shown")
        self._stop = Event()
        self._steps: deque[ScanStep] = deque()
        self._current: object | None = None

    @property
    def active(self) -> bool:
        """Whether a scan is on."""
        return self._current is not None

    def start(self, family: str, values: Mapping[str, str]) -> None:
        """Look for servos of a family; values are those of its form."""
        self.stop()
        # Each scan has its own event and its own steps, so that one that is still ending cannot speak for the next.
        stop, steps, token = Event(), deque[ScanStep](), object()
        self._stop, self._steps, self._current = stop, steps, token
        self._activities.begin(self.activity)
        self._background.submit(
            LANE,
            scan,
            family,
            dict(values),
            steps.append,
            stop.is_set,
            done=lambda found: self._end(token, found),
            failed=lambda reason: self._fail(token, reason),
        )

    def stop(self) -> None:
        """Give the scan up; nothing more is heard of it."""
        self._stop.set()
        self._current = None
        self._activities.forget(self.activity)

    def tick(self) -> None:
        """Tell what was tried since the last call; called by the window's timer."""
        while self._current is not None and self._steps:
            step = self._steps.popleft()
            if step.total:
                tried = f"{step.number} of {counted(step.total, 'attempt')}"
                self._activities.tell(self.activity, Share(step.number / step.total, tried))
            self.stepped.emit(step)

    def _end(self, token: object, found: list[Found]) -> None:
        if token is self._current:
            self.tick()
            self._current = None
            self._activities.end(self.activity, State.DONE, f"{len(found)} answered")
            self.finished.emit(found)

    def _fail(self, token: object, reason: str) -> None:
        if token is self._current:
            self.tick()
            self._current = None
            self._activities.end(self.activity, State.FAILED, reason)
            self.failed.emit(reason)
