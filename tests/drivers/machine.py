"""The machine's time in virtual seconds, for the clock and the limits that go by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

MOMENT = 1e-6


class Machine:
    """Has the functions of the module `time`; time passes when somebody sleeps and, a little, when one asks."""

    def __init__(self) -> None:
        self._now = 100.0
        self.meanwhile: Callable[[float], object] = lambda now: None
        """What others do while somebody sleeps."""

    def perf_counter(self) -> float:
        self._now += MOMENT
        return self._now

    monotonic = perf_counter

    def perf_counter_ns(self) -> int:
        return round(1e9 * self.perf_counter())

    def sleep(self, seconds: float) -> None:
        self._now += seconds
        self.meanwhile(self._now)


def machine_time(monkeypatch: pytest.MonkeyPatch, *modules: str) -> Machine:
    """Let modules live in one such time and return it."""
    machine = Machine()
    for module in modules:
        monkeypatch.setattr(f"{module}.time", machine)
    return machine
