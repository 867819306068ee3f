"""Processes that compute for the window: what they say arrives, and they go when they are not wanted."""

from __future__ import annotations

import os
import time

import pytest

from bench_gui.work.activity import Activities
from bench_gui.work.computation import Computation, Computations
from core.errors import InputError
from tests.waiting import wait_until


def count(job: int, line) -> int:
    """Tell each number below the job, and end with their sum."""
    for number in range(job):
        line.tell(number)
    return sum(range(job))


def wait(job: str, line) -> str:
    """End when asked to."""
    line.tell(os.getpid())
    while not line.stop_asked():
        time.sleep(0.01)  # not to burn a processor; nothing depends on how long
    return f"{job}, {'courteous' if line.courtesy_asked() else 'at full speed'}"


def fail(job: str, line) -> None:
    """Raise what a person reads."""
    raise InputError(f"{job}: choose another")


def vanish(job: object, line) -> None:
    """Be gone without a word, as a process that was killed."""
    os._exit(3)


class Listener:
    def __init__(self, target, **options):
        self.told, self.ended, self.failed = [], [], []
        self.all = Computations(Activities())
        self.one = Computation(self.all, "test", target, **options)
        self.one.progressed.connect(self.told.append)
        self.one.finished.connect(self.ended.append)
        self.one.failed.connect(self.failed.append)

    def until(self, condition):
        wait_until(condition, self.all.tick, lambda: (self.told, self.ended, self.failed))


@pytest.fixture
def listening():
    made = []

    def make(target, **options):
        made.append(Listener(target, **options))
        return made[-1]

    yield make
    for one in made:
        one.all.close()


def test_what_is_told_comes_in_order_before_the_last_word(listening):
    one = listening(count)
    one.one.start(120)
    one.until(lambda: one.ended)
    assert (one.told, one.ended, one.failed) == (list(range(120)), [7140], [])
    assert not one.one.active


def test_an_error_and_a_lost_process_are_said_once(listening):
    one = listening(fail)
    one.one.start("x")
    one.until(lambda: one.failed)
    assert one.failed == ["x: choose another"]
    other = listening(vanish, lost="it went; try again")
    other.one.start(None)
    other.until(lambda: other.failed)
    assert other.failed == ["it went; try again"]
    assert not other.one.active


def test_one_that_keeps_what_it_has_hands_it_over_when_it_is_stopped(listening):
    one = listening(wait, keeps=True)
    one.one.set_courteous(True)
    one.one.start("old")
    one.until(lambda: one.told)
    one.one.start("new")
    one.until(lambda: len(one.told) == 2)
    one.one.stop()
    assert one.one.stopping
    one.until(lambda: one.ended)
    assert one.ended == ["new, courteous"]
    assert one.failed == []
    assert one.one.stopped
    assert one.one.result == "new, courteous"


def test_any_other_ends_at_once_with_what_it_has_said(listening):
    one = listening(wait)
    one.one.start("x")
    one.until(lambda: one.told)
    one.one.stop()
    assert not one.one.active
    assert one.one.stopped
    one.all.tick()
    assert (one.ended, one.failed, one.one.latest) == ([], [], one.told[0])


def test_what_it_is_about_may_change(listening):
    one = listening(count)
    one.one.start(3)
    one.one.supersede()
    assert not one.one.active
    assert not one.one.outdated, "nothing was known"
    one.one.start(3)
    one.until(lambda: one.ended)
    one.one.supersede()
    assert (one.one.result, one.one.outdated) == (3, True)
    one.one.start(4)
    assert not one.one.outdated
    one.one.forget()
    assert (one.one.active, one.one.latest, one.one.result) == (False, None, None)


@pytest.mark.parametrize("keeps", [True, False])
def test_closing_leaves_no_process(listening, keeps):
    one = listening(wait, keeps=keeps)
    one.one.start("left")
    one.until(lambda: one.told)
    one.all.close()
    with pytest.raises(ProcessLookupError):
        os.kill(one.told[0], 0)
    assert one.ended == []
