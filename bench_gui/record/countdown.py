"""Countdown before a run, during which the user can cancel it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal

HAZARDOUS_COUNTDOWN = 3.0
"""Default before a servo that can move something real [s]."""
LONGEST_COUNTDOWN = 10.0
COUNT_PERIOD = 50
"""[ms]"""


class Countdown(QObject):
    """Simulated and real servos each have their own time."""

    counted = Signal(float)
    """Seconds until the servo moves, several times a second; 0 when the countdown ends or is cancelled."""
    over = Signal()
    """The countdown ended without being cancelled."""

    def __init__(self, simulated: Callable[[], bool]) -> None:
        """Create a countdown; `simulated` returns True while the present servo is simulated."""
        super().__init__()
        self._simulated = simulated
        self._seconds = {True: 0.0, False: HAZARDOUS_COUNTDOWN}
        self._ends_at = math.inf
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(COUNT_PERIOD)
        self._timer.timeout.connect(self._count)

    @property
    def seconds(self) -> float:
        """Duration for the present servo [s]."""
        return self._seconds[self._simulated()]

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        self._seconds[self._simulated()] = min(max(seconds, 0.0), LONGEST_COUNTDOWN)

    def set_hazardous(self, seconds: float) -> None:
        """Set the duration for servos that can move something real [s]."""
        self._seconds[False] = min(max(seconds, 0.0), LONGEST_COUNTDOWN)

    @property
    def left(self) -> float:
        """Time until the servo moves [s]; 0 while no countdown runs."""
        return max(0.0, self._ends_at - time.monotonic()) if math.isfinite(self._ends_at) else 0.0

    def start(self) -> None:
        """Start the countdown."""
        self._ends_at = time.monotonic() + self.seconds
        self._timer.start()
        self._count()

    def stop(self) -> None:
        """Stop the countdown."""
        self._timer.stop()
        if math.isfinite(self._ends_at):
            self._ends_at = math.inf
            self.counted.emit(0.0)

    def _count(self) -> None:
        left = self._ends_at - time.monotonic()
        if left > 0:
            self.counted.emit(left)
        else:
            self.stop()
            self.over.emit()
