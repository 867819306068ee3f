"""Processes that compute for the window: what they say arrives, and they go when they are not wanted."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import pytest

from bench_gui.work import process
from bench_gui.work.activity import Activities, State
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.compute_process import ComputeProcess, ComputeProcessError
from bench_gui.work.process import SHARE_PERIOD, Line, Share
from bench_gui.work.progress_row import ProgressRow
from tests.gui.work.jobs import announce_and_wait, compile_first, count, fail, halves, vanish, wait
from tests.waiting import wait_until


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
    for target, said in ((fail, "x: choose another"), (vanish, "it went; try again")):
        one = listening(target, lost="it went; try again")
        one.one.start("x")
        one.until(lambda one=one: one.failed)
        assert (one.failed, one.one.problem, one.one.active) == ([said], said, False)


def test_a_job_that_cannot_be_sent_starts_nothing_and_the_next_one_does(listening):
    one = listening(count)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        one.one.start(lambda: None)
    assert not one.one.active
    assert one.all.activities.running == []
    one.one.start(3)
    one.until(lambda: one.ended)
    assert (one.told, one.ended, one.failed) == ([0, 1, 2], [3], [])


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


def test_any_other_ends_at_once_and_closing_leaves_no_process(listening):
    """Stopped or closed, what it has said stays, and nothing is added."""
    one, other = listening(wait), listening(wait, keeps=True)
    for each in (one, other):
        each.one.start("x")
        each.until(lambda each=each: each.told)
    one.one.stop()
    assert (one.one.active, one.one.stopped) == (False, True)
    for each in (one, other):
        each.all.tick()
        each.all.close()
        assert (each.ended, each.failed, each.one.latest) == ([], [], each.told[0])
        with pytest.raises(ProcessLookupError):
            os.kill(each.told[0], 0)


def test_a_computation_feeds_the_list_and_a_stop_is_no_failure(listening):
    made = listening(halves, keeps=True, missed="halves")
    one, activities = made.one, made.all.activities
    one.start(None)
    assert activities.missed == ["halves"]
    made.until(lambda: one.latest is not None)
    assert (one.activity.share, one.activity.text) == (0.5, "one half")
    one.activity.cancel()
    assert one.activity.state is State.STOPPING
    made.until(lambda: not one.active)
    assert (made.failed, one.problem, one.stopped) == ([], "", True)
    assert (one.activity.state, one.activity.text) == (State.STOPPED, "stopped")
    assert activities.missed == []


@pytest.fixture
def compute():
    made = ComputeProcess()
    yield made
    made.close()


def test_the_compute_process_goes_on_after_what_cannot_be_sent_after_an_error_and_after_its_end(compute):
    with pytest.raises((AttributeError, pickle.PicklingError)):
        compute.call(lambda: None)
    assert compute.call(int, "7") == 7
    with pytest.raises(ComputeProcessError, match="invalid literal"):
        compute.call(int, "x")
    process = compute.call(os.getpid)
    with pytest.raises(ComputeProcessError, match="ended unexpectedly"):
        compute.call(os._exit, 3)
    assert compute.call(os.getpid) != process
    process = compute.call(os.getpid)
    compute.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(ComputeProcessError, match="closing"):
        compute.call(int, "7")


def test_the_compute_process_names_what_it_is_doing(compute, tmp_path):
    """From the loading of the program until the answer."""
    with ThreadPoolExecutor(1) as lane:
        answer = lane.submit(compute.call, announce_and_wait, "reading run 1 of 2", tmp_path / "read")
        wait_until(lambda: compute.doing == "loading the program")
        wait_until(lambda: compute.doing == "reading run 1 of 2")
        (tmp_path / "read").touch()
        assert answer.result() == "done"
    assert compute.doing == ""


def test_an_announcement_is_the_step_of_the_job_and_leaves_its_share(listening, qapp):
    """It is no progress message, and it is shown by the list of work and by the row of the page alike."""
    one = listening(compile_first, keeps=True)
    row, heard = ProgressRow("job", "tip"), []
    one.one.noted.connect(heard.append)
    one.one.start("x")
    row.show(one.one, "Idle", starting="Loading the recordings…")
    assert row.status.text() == "Loading the recordings…"
    one.until(lambda: heard)
    row.show(one.one, "Idle", starting="Loading the recordings…")
    assert row.status.text() == "Compiling the simulation, about 30 s, once"
    assert (one.one.activity.share, row.bar.value(), heard) == (
        0.2,
        200,
        ["compiling the simulation, about 30 s, once"],
    )
    assert one.told == [Share(0.2, "one fifth")]
    one.one.stop()
    one.until(lambda: one.ended)


def test_the_shares_of_a_fast_search_do_not_flood_the_window(monkeypatch):
    """A thousand generations a second for a second: ten shares."""
    sent = []
    clock = SimpleNamespace(now=5.0)
    monkeypatch.setattr(process.time, "monotonic", lambda: clock.now)
    line = Line(SimpleNamespace(send=sent.append), Event(), Event())
    for k in range(1000):
        line.share(k / 1000, "searching")
        clock.now += 0.001
    assert len(sent) == pytest.approx(1.0 / SHARE_PERIOD, abs=1)
    assert sent[0] == Share(0.0, "searching")
