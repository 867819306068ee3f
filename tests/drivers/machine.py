"""The machine's time in virtual seconds, for the clock and the limits that go by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from multiprocessing import active_children

import pytest

from drivers import timing

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

    def sleep(self, seconds: float, /) -> None:
        self._now += seconds
        self.meanwhile(self._now)


def machine_time(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Let drivers live in such a time, with their real limits, and return it."""
    machine = Machine()
    live_in(monkeypatch, machine)
    return machine


def live_in(monkeypatch: pytest.MonkeyPatch, machine: timing.Machine) -> None:
    """Let drivers and emulators of this process live in a time, with their real limits."""
    monkeypatch.setattr(timing, "machine", machine)
    monkeypatch.setattr(timing, "limits", timing.REAL)


def end_others() -> None:
    """End processes that tests before this one have left, for one that counts what it leaves itself."""
    for child in active_children():
        child.terminate()
        child.join()


def set_limits(monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    """Replace limits of this process."""
    monkeypatch.setattr(timing, "limits", replace(timing.limits, **limits))
