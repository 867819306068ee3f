"""Documents beside the runs: whole or not at all, strictly read, and never in the way of the runs."""

import itertools
import json
import math
import os
import signal
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.atomic import temporary_file
from core.base.sealed import parse_sealed
from sessions import (
    Session,
    SessionError,
    UnreadableError,
    documents,
    export_single,
    import_paths,
    import_single,
    strict_json,
)
from sessions.documents import DOCUMENT_NAMES, LOCK_NAME, MAX_DOCUMENT
from sessions.errors import NewerFormatError
from sessions.writing.locks import held
from tests.sessions.foreign_documents import any_json, wrapped
from tests.sessions.writing.steps import forked, heard

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def refusal(action):
    with pytest.raises(SessionError) as caught:
        action()
    assert str(caught.value).isprintable()
    return str(caught.value)


# What is kept


@given(data=plain.filter(lambda data: data is not None), name=st.sampled_from(["placed_points", "plan"]))
@settings(max_examples=40)
def test_data_come_back_as_they_were_set(data, name):
    with tempfile.TemporaryDirectory() as folder:
        session = Session.create(Path(folder, "s"))
        session.set_document(name, data)
        again = Session.open(session.path)
        assert again.document(name) == data
        assert again.problems() == []
        assert sorted(os.listdir(session.path)) == sorted([f"{name}.json", "runs", "session.json"])


def test_a_document_is_absent_until_it_is_set_and_after_it_is_removed(session):
    assert [session.document(name) for name in DOCUMENT_NAMES] == [None] * 3
    session.set_document("plan", [1])
    session.set_document("plan", None)
    session.set_document("plan", None)
    assert session.document("plan") is None
    assert sorted(os.listdir(session.path)) == ["runs", "session.json"]


def test_the_file_says_what_it_is_in_plain_json(session):
    session.set_document("placed_points", {"Drehmoment": "größer"})
    text = (session.path / "placed_points.json").read_text("utf-8")
    assert parse_sealed(text) == wrapped("placed_points", {"Drehmoment": "größer"})
    assert "größer" in text


@pytest.mark.parametrize("name", ["session", "../x", "annotation", "", None])
def test_only_known_names_are_taken(session, name):
    assert "placed_points" in refusal(lambda: session.set_document(name, {}))
    assert "placed_points" in refusal(lambda: session.document(name))


class Text(str):
    """A text of a type of its own."""


def endless():
    data = []
    data.append(data)
    return data


IMPOSSIBLE = {
    "not a number": (math.nan, "JSON"),
    "infinite": ([math.inf], "JSON"),
    "key": ({1: 2}, "not a text"),
    "set": ({"x": {1, 2}}, "set"),
    "array": (np.arange(3), "ndarray"),
    "numpy": (np.int64(3), "int64"),
    "surrogate": ("\ud800", "surrogate"),
    "surrogate key": ({"\ud800": 1}, "surrogate"),
    "endless": (endless(), "nested"),
    "deep": (json.loads("[" * 40 + "]" * 40), "nested"),
    "long": ("x" * (MAX_DOCUMENT + 1), "MB"),
    "many": ([[]] * 2_001, "too many"),
    "long number": (10**5000, "digits"),
}


@pytest.mark.parametrize(("data", "word"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_would_not_come_back_is_refused_and_the_old_document_stays(session, monkeypatch, data, word):
    monkeypatch.setattr(strict_json, "MAX_CONTAINERS", 2_000)
    session.set_document("plan", "old")
    assert word in refusal(lambda: session.set_document("plan", data))
    assert session.document("plan") == "old"
    assert sorted(os.listdir(session.path)) == ["plan.json", "runs", "session.json"]


def test_texts_of_other_types_come_back_as_texts(session):
    session.set_document("plan", {Text("a"): (Text("b"), np.float64(0.5))})
    assert session.document("plan") == {"a": ["b", 0.5]}


# What is damaged

DAMAGE = {
    "empty": b"",
    "text": b"hello",
    "cut off": b'{"format": "servobench-plan", "format_vers',
    "bytes": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "deep data": json.dumps(wrapped("plan", 0)).replace("0}", "[" * 30 + "]" * 30 + "}").encode(),
    "not a number": b'{"format": "servobench-plan", "format_version": 1, "data": NaN}',
    "infinite": b'{"format": "servobench-plan", "format_version": 1, "data": 1e999}',
    "long number": b'{"format": "servobench-plan", "format_version": 1, "data": ' + b"9" * 5000 + b"}",
    "lone surrogate": b'{"format": "servobench-plan", "format_version": 1, "data": "\\ud800"}',
    "another document": json.dumps(wrapped("annotations", {})).encode(),
    "bare": b'{"steps": []}',
    "list": b"[1, 2]",
    "no version": b'{"format": "servobench-plan", "data": 1}',
    "true version": b'{"format": "servobench-plan", "format_version": true, "data": 1}',
    "no data": b'{"format": "servobench-plan", "format_version": 1}',
    "huge": json.dumps(wrapped("plan", 1)).encode().ljust(MAX_DOCUMENT + 1),
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_document_is_named_and_kept_aside_by_the_next_one(session, recording, content, caplog):
    identity = session.add(recording())
    path = session.path / "plan.json"
    path.write_bytes(content)

    opened = Session.open(session.path)

    assert [run.id for run in opened.runs()] == [identity]
    [problem] = opened.problems()
    assert problem.isprintable()
    assert len(problem) < 600
    assert str(path) in problem
    assert "delete it" in problem
    with pytest.raises(UnreadableError):
        opened.document("plan")
    assert opened.fit_ids() == [identity]

    opened.set_document("plan", "new")
    assert opened.document("plan") == "new"
    assert (session.path / "plan.json.damaged").read_bytes() == content
    assert opened.problems() == []
    assert "plan.json.damaged" in caplog.text


def test_each_damaged_document_is_kept(session):
    for content in (b"first", b"second"):
        (session.path / "plan.json").write_bytes(content)
        session.set_document("plan", 1)
    assert (session.path / "plan.json.damaged").read_bytes() == b"first"
    assert (session.path / "plan.json.damaged.2").read_bytes() == b"second"


def test_removing_a_damaged_document_keeps_it_aside_too(session):
    (session.path / "plan.json").write_bytes(b"rubbish")
    session.set_document("plan", None)
    assert (session.path / "plan.json.damaged").read_bytes() == b"rubbish"
    assert session.document("plan") is None


@pytest.mark.parametrize("name", DOCUMENT_NAMES)
def test_a_document_of_a_newer_version_is_neither_read_nor_replaced(session, name):
    content = json.dumps(wrapped(name, {}, version=2)).encode()
    (session.path / f"{name}.json").write_bytes(content)
    with pytest.raises(NewerFormatError, match=f"{name}.json.*update ServoBench"):
        session.document(name)
    for data in ({}, None):
        with pytest.raises(NewerFormatError, match="update ServoBench"):
            session.set_document(name, data)
    assert (session.path / f"{name}.json").read_bytes() == content
    assert len(session.problems()) == 1


def test_a_pipe_or_a_folder_in_the_way_does_not_stop_anything(session, recording):
    session.add(recording())
    os.mkfifo(session.path / "plan.json")
    (session.path / "placed_points.json").mkdir()
    opened, before = Session.open(session.path), len(os.listdir("/dev/fd"))
    assert len(opened.problems()) == 2
    assert len(os.listdir("/dev/fd")) == before
    assert len(opened.runs()) == 1
    opened.set_document("plan", 1)
    assert opened.document("plan") == 1


@given(
    content=st.binary(max_size=200)
    | any_json.map(lambda data: json.dumps(data).encode())
    | any_json.map(lambda data: json.dumps(wrapped("annotations", data)).encode()),
    name=st.sampled_from(DOCUMENT_NAMES),
)
@settings(max_examples=40)
def test_whatever_a_document_holds_the_session_opens_and_a_new_one_can_be_set(content, name):
    with tempfile.TemporaryDirectory() as folder:
        session = Session.create(Path(folder, "s"))
        path = session.path / f"{name}.json"
        path.write_bytes(content)
        opened = Session.open(session.path)
        assert opened.runs() == []
        problems = opened.problems()
        assert len(problems) <= 1
        assert all(problem.isprintable() and len(problem) < 1000 for problem in problems)
        opened.set_document(name, {})
        assert opened.document(name) == {}
        kept = session.path / f"{name}.json.damaged"
        assert (kept.read_bytes() == content) if problems else not kept.exists()


# Several writers, and none that survives


@pytest.mark.exhaustive("moments between the steps at which test_durability kills, and two writers at once")
def test_a_writer_killed_at_any_moment_leaves_a_whole_document(session):
    def rewrite(who):
        for number in itertools.count():
            Session.open(session.path).set_document("plan", {"who": who, "numbers": [number] * 20_000})

    seen = set()
    for kill in range(3):
        writers = [forked(lambda who=f"{name}{kill}": rewrite(who)) for name in "ab"]
        wanted = len(seen) + kill + 1
        while len(seen) < wanted:
            plan = Session.open(session.path).document("plan")
            if plan is not None:
                assert plan["numbers"] == plan["numbers"][:1] * 20_000
                seen.add((plan["who"], plan["numbers"][0]))
        for writer in writers:
            os.kill(writer, signal.SIGKILL)
            os.waitpid(writer, 0)
        plan = session.document("plan")
        assert plan["numbers"] == plan["numbers"][:1] * 20_000
    session.set_document("plan", "alive")
    assert session.document("plan") == "alive"
    assert [name for name in os.listdir(session.path) if "damaged" in name] == []


def test_what_a_killed_writer_left_is_swept_up_later(session):
    left = session.path / ".plan.json.0123abcd.tmp"
    left.write_bytes(b"half")
    with temporary_file(session.path / "plan.json") as living:
        session.set_document("plan", 1)
        assert os.path.exists(living.name)
    assert not left.exists()


def test_a_writer_that_waits_too_long_says_so(session, monkeypatch):
    monkeypatch.setattr(documents, "PATIENCE", 0.0)
    with held(session.path / LOCK_NAME, 0.0):
        assert "another program" in refusal(lambda: session.set_document("plan", 1))
    session.set_document("plan", 1)
    assert not (session.path / LOCK_NAME).exists()


# In one file, and back


@pytest.fixture
def exported(session, recording, tmp_path):
    session.add_all([recording(seed=seed) for seed in range(2)])
    session.set_document("plan", {"steps": ["größer", 1.5]})
    session.set_document("placed_points", [[0.1, 0.2]])
    return export_single(session, tmp_path / "all.h5")


def test_an_exported_file_has_the_documents_and_takes_none(session, exported):
    opened = Session.open(exported)
    for name in DOCUMENT_NAMES:
        assert opened.document(name) == session.document(name)
    assert opened.problems() == []
    assert "read-only" in refusal(lambda: opened.set_document("plan", {}))
    with h5py.File(exported) as file:
        assert bytes(file["documents/plan"][()]) == (session.path / "plan.json").read_bytes()
        assert {"units", "description"} <= set(file["documents/plan"].attrs)


def test_a_file_exported_by_an_older_version_has_none(exported):
    with h5py.File(exported, "r+") as file:
        del file["documents"]
    opened = Session.open(exported)
    assert [opened.document(name) for name in DOCUMENT_NAMES] == [None] * 3
    assert opened.problems() == []


def test_a_damaged_document_in_a_file_is_named_and_the_runs_open(exported, tmp_path):
    with h5py.File(exported, "r+") as file:
        group = file["documents"]
        del group["plan"], group["placed_points"]
        group["plan"] = np.frombuffer(b"rubbish", np.uint8)
        group["placed_points"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
        group.create_dataset("annotations", (10**12,), "u1", chunks=(1024,))
    opened = Session.open(exported)
    assert len(opened.runs()) == 2
    problems = opened.problems()
    assert len(problems) == 3
    assert all(problem.count(str(exported)) == 1 and problem.isprintable() for problem in problems)
    assert refusal(lambda: import_paths([exported], tmp_path / "never"))
    assert not (tmp_path / "never").exists()


def test_a_session_with_a_damaged_document_is_not_exported_without_it(session, exported, tmp_path):
    (session.path / "plan.json").write_bytes(b"rubbish")
    assert "plan.json" in refusal(lambda: export_single(session, tmp_path / "more.h5"))
    assert sorted(os.listdir(tmp_path)) == ["all.h5", "session"]


@pytest.mark.parametrize("way", ["file", "folder", "single"])
def test_an_import_brings_the_documents_along(session, exported, tmp_path, way):
    if way == "single":
        import_single(exported, Session.create(tmp_path / "new"))
    else:
        import_paths([exported if way == "file" else session.path], tmp_path / "new")
    again = Session.open(tmp_path / "new")
    assert again.document("plan") == {"steps": ["größer", 1.5]}
    assert again.document("placed_points") == [[0.1, 0.2]]


def test_an_import_never_replaces_a_document_and_says_so(session, exported, tmp_path):
    home = Session.create(tmp_path / "home")
    home.set_document("plan", "mine")
    home.set_document("placed_points", [[0.1, 0.2]])
    events = []
    import_paths([exported], home, events.append)
    assert home.document("plan") == "mine"
    assert [(event.file, event.skipped) for event in events if event.skipped] == [
        (str(exported / "plan.json"), "the session has its own plan")
    ]


def test_the_first_of_several_sources_counts(session, exported, tmp_path):
    other = Session.create(tmp_path / "other")
    other.set_document("plan", "other")
    events = []
    import_paths([exported, other.path], tmp_path / "new", events.append)
    assert Session.open(tmp_path / "new").document("plan") == session.document("plan")
    assert [event.file for event in events if event.skipped] == [str(other.path / "plan.json")]


def test_an_import_that_fails_at_the_documents_leaves_no_trace(session, exported, tmp_path):
    home = Session.create(tmp_path / "home")

    def refuse(event, arguments):
        if event == "os.rename" and Path(arguments[1]).name == "placed_points.json":
            raise OSError(28, "No space left on device")

    before = sorted(os.listdir(home.path))
    with heard(refuse):
        assert "No space left" in refusal(lambda: import_paths([exported], home))
        assert "No space left" in refusal(lambda: import_paths([exported], tmp_path / "new"))
    assert sorted(os.listdir(home.path)) == before
    assert os.listdir(home.path / "runs") == []
    assert not (tmp_path / "new").exists()
