"""The window's signs of life: they go on while it is late, and end with a window that answers nobody."""

from threading import Event
from types import SimpleNamespace

import pytest

from bench_gui.state.heartbeat import PERIOD, Heartbeat
from drivers import timing
from tests.drivers.machine import live_in
from tests.waiting import LIMIT


class Beaten(Event):
    """Set by each sign of life."""

    def again(self, seconds=LIMIT):
        self.clear()
        return self.wait(seconds)


@pytest.fixture
def beaten():
    return Beaten()


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    live_in(monkeypatch, clock)
    return clock


@pytest.fixture
def beating(clock, beaten):
    beating = Heartbeat(beaten.set)
    yield beating
    beating.close()


def test_a_window_that_is_late_lives(beating, beaten, clock):
    for late in (0.0, 0.5, 0.99):
        clock.now = late * timing.REAL.window_silence
        assert beaten.again()


def test_a_window_that_hangs_does_not_until_it_answers(beating, beaten, clock):
    clock.now = 1.01 * timing.REAL.window_silence
    beaten.again(2.0 * PERIOD)  # one may have been on its way
    assert not beaten.again(5.0 * PERIOD)
    beating.answered()
    assert beaten.again()


def test_the_end_is_the_end(beating, beaten):
    beating.close()
    assert not beaten.again(5.0 * PERIOD)
