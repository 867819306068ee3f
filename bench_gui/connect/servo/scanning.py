"""Scan for servos in its own thread; it reports each attempt and can be stopped."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from threading import Event

from PySide6.QtCore import QObject, Signal

from bench_gui.work.activity import Activities, Activity, State
from bench_gui.work.background import Background
from bench_gui.work.process import Share
from core.base.words import counted
from drivers.scan import Found, ScanStep, answered, scan

LANE = "scan"


class Scanning(QObject):
    """One scan at a time. Results of a cancelled scan are ignored."""

    stepped = Signal(object)
    """ScanStep"""
    finished = Signal(object)
    """list[Found], in the order they were found; those found so far if the scan was stopped."""
    failed = Signal(str)

    def __init__(self, background: Background, activities: Activities) -> None:
        super().__init__()
        self._background, self._activities = background, activities
        self.activity = Activity(
            "Scan", lambda: self._stop.set(), "Cancel", "End the scan; servos that answered so far are shown"
        )
        self._stop = Event()
        self._steps: deque[ScanStep] = deque()
        self._current: object | None = None

    @property
    def active(self) -> bool:
        """True while a scan is running."""
        return self._current is not None

    def start(self, family: str, values: Mapping[str, str]) -> None:
        """Scan for servos of a family.

        Args:
            family: Name of the family.
            values: Values of its form.
        """
        self.stop()
        # Each scan has its own event and its own queue, so a scan that is still ending cannot affect the next one.
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
        """Cancel the scan; its later results are ignored."""
        self._stop.set()
        self._current = None
        self._activities.forget(self.activity)

    def tick(self) -> None:
        """Report the attempts since the last call; called by the window's timer."""
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
            self._activities.end(self.activity, State.DONE, f"{answered(found)} answered")
            self.finished.emit(found)

    def _fail(self, token: object, reason: str) -> None:
        if token is self._current:
            self.tick()
            self._current = None
            self._activities.end(self.activity, State.FAILED, reason)
            self.failed.emit(reason)
