"""Runs that are added together are all there or none; test_durability kills and refuses their every step."""

import errno
import os

import pytest

from sessions import Annotation, Session, SessionError, import_paths
from sessions.writing.locks import COMMITTED, STAGED
from tests.sessions.writing.steps import heard


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


@pytest.mark.parametrize(
    ("step", "count", "come"),
    [("os.rename", 1, False), ("os.rename", 2, True), ("os.rename", 3, True), ("os.rmdir", 1, True)],
)
def test_notes_and_documents_stay_exactly_with_runs_that_come(session, recording, tmp_path, step, count, come):
    """The publication fails at its commit, at the move of its first or second run, or when its folder is removed."""
    source = Session.create(tmp_path / "source")
    for seed in (1, 2):
        source.annotate(source.add(recording(seed=seed)), Annotation(note=f"note {seed}"))
    source.set_document("plan", {"n": 2})
    session.add(recording())
    seen = []

    def refuse(event, arguments):
        if event == step and (str(arguments[0]).endswith(STAGED) or COMMITTED in str(arguments[0])):
            seen.append(arguments)
            if len(seen) == count:
                raise OSError(errno.EIO, "refused")

    said = "are stored, and appear when the session is opened again" if come else "cannot be added"
    with heard(refuse), pytest.raises(SessionError, match=said):
        import_paths([source.path], session)
    opened = Session.open(session.path)
    notes = [note.note for note in opened.annotations().values()]
    assert (len(opened.runs()), notes) == ((3, ["note 1", "note 2"]) if come else (1, []))
    assert opened.document("plan") == ({"n": 2} if come else None)
    assert len(import_paths([source.path], opened)) == (0 if come else 2)
