"""Processes that compute for the window: what they say arrives, and they go when they are not wanted."""

from __future__ import annotations

import os
import time

import pytest

from bench_gui.work.worker import Worker, Workers
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
        self.workers = Workers()
        self.worker = self.workers.add(
            Worker("test", target, told=self.told.append, ended=self.ended.append, failed=self.failed.append, **options)
        )

    def until(self, condition):
        wait_until(condition, self.workers.tick, lambda: (self.told, self.ended, self.failed))


@pytest.fixture
def listening():
    made = []

    def make(target, **options):
        made.append(Listener(target, **options))
        return made[-1]

    yield make
    for one in made:
        one.workers.close()


def test_what_is_told_comes_in_order_before_the_last_word(listening):
    one = listening(count)
    one.worker.start(120)
    one.until(lambda: one.ended)
    assert (one.told, one.ended, one.failed) == (list(range(120)), [7140], [])
    assert not one.worker.active


def test_an_error_and_a_lost_process_are_said_once(listening):
    one = listening(fail)
    one.worker.start("x")
    one.until(lambda: one.failed)
    assert one.failed == ["x: choose another"]
    other = listening(vanish, lost="it went; try again")
    other.worker.start(None)
    other.until(lambda: other.failed)
    assert other.failed == ["it went; try again"]
    assert not other.worker.active


def test_it_stops_when_asked_and_a_new_job_drops_the_old_one(listening):
    one = listening(wait)
    one.worker.set_courteous(True)
    one.worker.start("old")
    one.until(lambda: one.told)
    one.worker.start("new")
    one.until(lambda: len(one.told) == 2)
    assert one.worker.stop()
    assert not one.worker.stop()
    assert one.worker.stopping
    one.until(lambda: one.ended)
    assert one.ended == ["new, courteous"]
    assert one.failed == []


@pytest.mark.parametrize("keeps", [True, False])
def test_closing_leaves_no_process(listening, keeps):
    one = listening(wait, keeps=keeps)
    one.worker.start("left")
    one.until(lambda: one.told)
    one.workers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(one.told[0], 0)
    assert one.ended == []
