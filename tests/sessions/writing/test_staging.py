"""Runs that are added together are all there or none, wherever the process is killed."""

import os
import signal

import pytest

from sessions import Annotation, Session, import_paths
from sessions.writing.locks import COMMITTED, STAGED

STEPS = ("replace", "mkdir", "unlink", "rmdir", "open")
"""Calls of the system between which a process is killed."""


def killed_after(calls, work):
    """Run work in a child that is killed before its n-th call; whether it was."""
    child = os.fork()
    if child == 0:
        left = calls

        def deadly(original):
            def call(*args, **keywords):
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(*args, **keywords)

            return call

        for name in STEPS:
            setattr(os, name, deadly(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_an_import_killed_anywhere_is_all_or_nothing(tmp_path, recording):
    source = Session.create(tmp_path / "source")
    ids = source.add_all(recording(seed=seed, samples=5) for seed in range(2))
    source.annotate(ids[1], Annotation(note="x"))
    seen, calls, killed = set(), 0, True
    while killed:
        home = Session.create(tmp_path / f"home{calls}")
        own = home.add(recording(seed=9))
        before = home.data_hash([own])
        killed = killed_after(calls, lambda home=home: import_paths([source.path], home))
        opened = Session.open(home.path)
        runs = opened.runs()
        assert not opened.problems()
        assert len(runs) in (1, 3), f"killed after {calls} calls"
        assert opened.data_hash([own]) == before
        if len(runs) == 3:
            assert opened.annotations()[runs[2].id].note == "x"
        assert not [name for name in os.listdir(home.path / "runs") if name.startswith(".")]
        assert opened.add(recording(seed=8)) not in {run.id for run in runs}
        seen.add(len(runs))
        calls += 1
    assert seen == {1, 3}
    assert calls > 20


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
