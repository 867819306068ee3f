"""Runs that are added together are all there or none; test_durability kills and refuses their every step."""

import os

import pytest

from sessions import Session
from sessions.writing.locks import COMMITTED, STAGED


def test_an_import_that_is_under_way_is_left_alone(session, recording):
    with session.adding([recording()]) as [identity]:
        other = Session.open(session.path)
        assert not other.runs()
        assert [name for name in os.listdir(session.path / "runs") if name.endswith(STAGED)]
        assert int(other.add(recording(seed=1))[:4]) > int(identity[:4])
    assert len(session.runs()) == 2


def test_a_block_that_fails_adds_nothing(session, recording):
    with pytest.raises(ZeroDivisionError), session.adding([recording()]):
        raise ZeroDivisionError
    assert os.listdir(session.path / "runs") == []


def test_runs_that_were_committed_are_moved_by_the_next_opening(session, recording):
    identity = session.add(recording())
    runs = session.path / "runs"
    (runs / f".0001{COMMITTED}").mkdir()
    (runs / f"{identity}.h5").rename(runs / f".0001{COMMITTED}" / f"{identity}.h5")
    assert [run.id for run in Session.open(session.path).runs()] == [identity]
