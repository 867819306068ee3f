"""Calls in threads: every answer reaches who asked, whatever the one before made of its own."""

import threading

import pytest

from bench_gui.work.background import Background
from tests.waiting import wait_until


@pytest.fixture
def background():
    made = Background(failed=lambda text: None)
    yield made
    made.close()


def wait(background):
    wait_until(lambda: all(future.done() for future, *_ in background._pending))


def test_one_answer_that_is_taken_badly_costs_no_other(background):
    def stumble(answer):
        raise RuntimeError("a mistake of the window's")

    got = []
    background.submit("session", int, done=stumble)
    background.submit("session", int, "7", done=got.append)
    wait(background)
    with pytest.raises(RuntimeError):
        background.poll()
    background.poll()
    assert got == [7]
    assert not background.busy


def test_answers_taken_within_another_come_once_and_in_order(background):
    got = []

    def ask_again(answer):
        got.append(answer)
        background.poll()

    background.submit("session", int, "1", done=ask_again)
    background.submit("session", int, "2", done=got.append)
    background.submit("session", int, "x", failed=got.append)
    wait(background)
    background.poll()
    assert got[:2] == [1, 2]
    assert "invalid literal" in got[2]
    assert len(got) == 3


def test_a_lane_that_is_closed_ends_its_thread_and_takes_nothing_more(background):
    got, others = [], set(threading.enumerate())
    background.submit("session", int, "1", done=got.append)
    background.submit("compute", int, "x", failed=got.append)
    assert {thread.name.partition("_")[0] for thread in set(threading.enumerate()) - others} == {"session", "compute"}
    background.close()
    background.submit("session", int, "2", done=got.append)
    background.poll()
    assert (got, background.busy, background.closed) == ([], False, True)
    assert set(threading.enumerate()) <= others
