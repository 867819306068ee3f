"""Serial executor in this process, the reference for every other executor's results."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from core.fleet.driver import Done, outcome
from core.fleet.plan import LoadUnit, UnitFacts
from core.fleet.work import Work
from core.motion.recording import Recording


class PlainLoop:
    """Executor that does one task after the other."""

    capacity = 1

    def __init__(self, load: LoadUnit) -> None:
        self._load = load
        self._recordings: dict[str, Sequence[Recording]] = {}
        self._tasks: deque[tuple[str, UnitFacts, Work]] = deque()

    def submit(self, key: str, unit: UnitFacts, work: Work) -> None:
        """Queue a task."""
        self._tasks.append((key, unit, work))

    def finished(self, timeout: float) -> list[Done]:
        """Do the next task, regardless of the timeout."""
        if not self._tasks:
            return []
        key, unit, work = self._tasks.popleft()
        return [outcome(key, lambda: work(self._of(unit)))]

    def news(self) -> list[str]:
        """Return no events."""
        return []

    def release(self, unit: UnitFacts) -> None:
        """Release a unit's recordings."""
        self._recordings.pop(unit.name, None)

    def _of(self, unit: UnitFacts) -> Sequence[Recording]:
        if unit.name not in self._recordings:
            self._recordings[unit.name] = self._load(unit)
        return self._recordings[unit.name]
