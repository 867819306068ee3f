"""What a person notes about runs decides which data a fit sees, and is never lost to another window's note."""

import json
import math
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import InputError, ServoBenchError
from core.motion.recording import REQUIRED_CHANNELS
from sessions import Annotation, Session, SessionError, UnreadableError, export_single, import_paths
from sessions.annotations import MAX_NOTE, MAX_TAG, MAX_TAGS, MAX_TIME
from tests.sessions.foreign_documents import any_json, wrapped
from tests.sessions.writing.steps import forked

words = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=","), min_size=1, max_size=MAX_TAG)
notes = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
times = st.none() | st.floats(0, MAX_TIME)


@st.composite
def annotations(draw):
    begin, end = draw(times), draw(times)
    if begin is not None and end is not None and begin >= end:
        begin, end = (end, begin) if end < begin else (None, end)
    tags = tuple(draw(st.lists(words, max_size=5, unique=True)))
    return Annotation(draw(notes), tags, draw(st.booleans()), draw(notes), begin, end)


@pytest.fixture
def ids(session, recording):
    """Three runs that ended well, one that did not."""
    good = session.add_all([recording(seed=seed) for seed in range(3)])
    return [*good, session.add(recording(seed=3), "abort")]


def noted_file(session):
    return json.loads((session.path / "annotations.json").read_text("utf-8"))["data"]


# What can be noted


@given(annotation=annotations())
@settings(max_examples=100)
def test_an_annotation_comes_back_from_json(annotation):
    assert Annotation.from_json(json.loads(json.dumps(annotation.to_json()))) == annotation


def test_an_empty_annotation_is_written_as_nothing():
    assert Annotation().to_json() == {}
    assert Annotation(tags=("b", "a"), trim_end=3).to_json() == {"tags": ["b", "a"], "trim_end": 3.0}


def test_tags_are_trimmed_and_there_once():
    assert Annotation(tags=(" bad  cable ", "x", "x", "bad cable")).tags == ("bad cable", "x")


@pytest.mark.parametrize(
    "fields",
    [
        {"note": None},
        {"note": 3},
        {"note": "x" * (MAX_NOTE + 1)},
        {"note": "\ud800"},
        {"reason": ["x"]},
        {"tags": "bad"},
        {"tags": {"bad": 1}},
        {"tags": None},
        {"tags": ("",)},
        {"tags": ("a,b",)},
        {"tags": ("a\x1b[2J",)},
        {"tags": (3,)},
        {"tags": (["x"],)},
        {"tags": ("x" * (MAX_TAG + 1),)},
        {"tags": tuple(map(str, range(MAX_TAGS + 1)))},
        {"excluded": 1},
        {"excluded": "no"},
        {"excluded": None},
        {"trim_begin": "1"},
        {"trim_begin": True},
        {"trim_begin": -0.1},
        {"trim_end": math.nan},
        {"trim_end": math.inf},
        {"trim_begin": 10**400},
        {"trim_begin": 2.0, "trim_end": 2.0},
        {"trim_begin": 3.0, "trim_end": 2.0},
    ],
)
def test_what_cannot_be_is_refused_in_one_line(fields):
    with pytest.raises(InputError) as caught:
        Annotation(**fields)
    assert str(caught.value).startswith("annotation: ")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


# Noting


def test_notes_are_kept_beside_the_runs(session, ids):
    before = {path: path.read_bytes() for path in (session.path / "runs").iterdir()}
    note = Annotation(note="größer\nzweite Zeile", tags=("clamp",), excluded=True, reason="slipped")
    session.annotate(ids[1], note)
    assert Session.open(session.path).annotations() == {ids[1]: note}
    assert {path: path.read_bytes() for path in (session.path / "runs").iterdir()} == before
    assert not [name for name in os.listdir(session.path) if name.startswith(".")]


def test_an_empty_annotation_removes_the_entry(session, ids):
    session.annotate(ids[0], Annotation(note="a"))
    session.annotate(ids[1], Annotation(note="b"))
    session.annotate(ids[0], Annotation())
    assert list(session.annotations()) == [ids[1]]
    session.annotate(ids[1], Annotation())
    assert session.annotations() == {}
    assert not (session.path / "annotations.json").exists()


def test_a_change_sees_what_is_on_the_disk_and_applies_to_all_or_none(session, ids):
    session.annotate(ids[0], Annotation(note="old"))
    other = Session.open(session.path)
    other.annotate(ids[0], Annotation(note="newer"))
    session.revise(ids[:2], lambda identity, old: replace(old, tags=(identity[:4],)))
    expected = {ids[0]: Annotation("newer", ("0001",)), ids[1]: Annotation("", ("0002",))}
    assert session.annotations() == other.annotations() == expected
    with pytest.raises(InputError):
        session.revise(ids, lambda _, old: replace(old, tags=(*old.tags, "x" if old.tags else ",")))
    with pytest.raises(SessionError, match="no run 0099_x"):
        session.revise([ids[0], "0099_x"], lambda _run, _old: Annotation())
    assert session.annotations() == expected


def test_only_runs_that_are_there_can_be_annotated(session, ids):
    for identity in ("0009_x", "../session", "", 7, None):
        with pytest.raises(SessionError, match="no run"):
            session.annotate(identity, Annotation(note="x"))
        with pytest.raises(SessionError, match="no run"):
            session.fit_ids([identity])


def test_a_damaged_run_can_be_noted_and_excluded_but_not_trimmed(session, ids):
    (session.path / "runs" / f"{ids[0]}.h5").write_bytes(b"rubbish")
    session.annotate(ids[0], Annotation(note="the disk was full", excluded=True))
    assert session.fit_ids(ids) == ids[1:]
    with pytest.raises(UnreadableError):
        session.annotate(ids[0], Annotation(trim_begin=0.01))


def test_two_processes_do_not_lose_each_others_notes(session, ids):
    def tag(who):
        own = Session.open(session.path)
        for number in range(15):
            own.revise([ids[0]], lambda _, old, word=f"{who}{number}": replace(old, tags=(*old.tags, word)))

    others = [forked(lambda who=who: tag(who)) for who in "ab"]
    session.annotate(ids[1], Annotation(note="meanwhile"))
    assert [os.waitpid(other, 0)[1] for other in others] == [0, 0]
    found = session.annotations()
    assert set(found[ids[0]].tags) == {f"{who}{number}" for who in "ab" for number in range(15)}
    assert found[ids[1]].note == "meanwhile"
    assert sorted(os.listdir(session.path)) == ["annotations.json", "index.json", "runs", "session.json"]


def test_a_new_run_never_inherits_the_note_of_a_deleted_one(session, ids, recording, header, rows):
    session.annotate(ids[-1], Annotation(excluded=True))
    (session.path / "runs" / f"{ids[-1]}.h5").unlink()
    assert session.add(recording())[:4] == "0005"
    sink = session.sink().open(header)
    sink.append(rows(3))
    assert sink.finish("success")[:4] == "0006"


# Files from elsewhere


def test_fields_of_a_newer_version_are_kept(session, ids):
    entries = {ids[0]: {"note": "a", "colour": "red", "links": [1, {"x": None}]}, ids[1]: {"colour": "blue"}}
    (session.path / "annotations.json").write_text(json.dumps(wrapped("annotations", entries)))
    assert session.annotations() == {ids[0]: Annotation(note="a")}
    session.annotate(ids[0], Annotation(note="b", tags=("x",)))
    session.annotate(ids[2], Annotation(note="c"))
    assert noted_file(session) == {
        ids[0]: {"note": "b", "tags": ["x"], "colour": "red", "links": [1, {"x": None}]},
        ids[1]: {"colour": "blue"},
        ids[2]: {"note": "c"},
    }
    session.annotate(ids[0], Annotation())
    assert noted_file(session)[ids[0]] == {"colour": "red", "links": [1, {"x": None}]}


def test_one_entry_that_cannot_be_stops_fits_and_costs_only_itself(session, ids, caplog):
    entries = {ids[0]: {"excluded": True}, ids[1]: {"excluded": "yes"}, ids[2]: {"note": "c"}, "../x": {}}
    text = json.dumps(wrapped("annotations", entries))
    (session.path / "annotations.json").write_text(text)
    assert len(session.runs()) == 4
    for action in (session.annotations, session.fit_ids, session.load_for_fit, session.data_hash):
        with pytest.raises(UnreadableError, match=f"annotations.json.*{ids[1]}.*excluded"):
            action()
    session.annotate(ids[2], Annotation(note="d"))
    assert session.annotations() == {ids[0]: Annotation(excluded=True), ids[2]: Annotation(note="d")}
    assert (session.path / "annotations.json.damaged").read_text() == text
    assert "annotations.json.damaged" in caplog.text


def is_json(value):
    """Infinity and NaN are none: they damage the document as a whole, which test_documents is about."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


@given(entry=any_json.filter(is_json) | st.fixed_dictionaries({}, optional={
    name: any_json.filter(is_json) | st.lists(st.text(max_size=5), max_size=3) | st.floats(-1, 1)
    for name in ("note", "tags", "excluded", "reason", "trim_begin", "trim_end", "later")
}))  # fmt: skip
@settings(max_examples=40)
def test_any_entry_is_taken_or_named_and_can_be_replaced(entry):
    with tempfile.TemporaryDirectory() as folder:
        session = Session.create(Path(folder, "s"))
        (session.path / "runs" / "0001_x_kp1.h5").touch()
        (session.path / "annotations.json").write_text(json.dumps(wrapped("annotations", {"0001_x_kp1": entry})))
        problems = [problem for problem in session.problems() if "annotations.json" in problem]
        if problems:
            assert problems[0].isprintable()
            assert len(problems[0]) < 600
            with pytest.raises(UnreadableError, match="0001_x_kp1"):
                session.annotations()
        else:
            session.annotations()
        session.annotate("0001_x_kp1", Annotation(note="new"))
        assert session.annotations() == {"0001_x_kp1": Annotation(note="new")}


def test_rubbish_cannot_be_set_as_annotations(session, ids):
    for data in ([], "x", {ids[0]: {"excluded": 1}}, {"x": {}}):
        with pytest.raises(SessionError, match="annotations cannot be stored"):
            session.set_document("annotations", data)
    session.set_document("annotations", {ids[0]: {"excluded": True}})
    assert session.annotations() == {ids[0]: Annotation(excluded=True)}


# What a fit sees


def test_fits_leave_out_excluded_runs_and_those_that_did_not_end_well(session, ids):
    assert session.fit_ids() == ids[:3]
    assert session.fit_ids(ids[::-1]) == ids[::-1]
    session.annotate(ids[1], Annotation(excluded=True))
    assert session.fit_ids() == [ids[0], ids[2]]
    assert session.fit_ids(ids) == [ids[0], ids[2], ids[3]]
    assert session.fit_ids([]) == []
    assert [run.id for run in session.load_for_fit()] == [ids[0], ids[2]]
    assert [run.id for run in session.runs()] == ids


def test_fits_see_only_what_runs_are_trimmed_to(session, ids, same):
    whole = session.load(ids[0])
    since = whole.time - whole.time[0]
    session.annotate(ids[0], Annotation(trim_begin=since[10], trim_end=since[39]))
    trimmed, untouched = session.load_for_fit(ids[:2])
    assert np.array_equal(trimmed.time, whole.time[10:40])
    assert np.array_equal(trimmed.position, whole.position[10:40])
    same(untouched, session.load(ids[1]))
    same(session.load(ids[0]), whole)
    assert session.runs()[0].samples == whole.samples


def test_runs_that_turn_out_to_be_damaged_are_left_out_named_and_the_others_trimmed(session, ids):
    since = session.load(ids[0]).time - session.load(ids[0]).time[0]
    session.annotate(ids[0], Annotation(trim_begin=since[10], trim_end=since[39]))
    path = session.path / "runs" / f"{ids[1]}.h5"
    path.write_bytes(path.read_bytes()[:-200])
    [trimmed, whole] = session.load_readable(ids[:3], {*REQUIRED_CHANNELS, "velocity"})
    assert (trimmed.id, trimmed.samples, whole.id, whole.samples) == (ids[0], 30, ids[2], 50)
    assert set(trimmed.channels) == {*REQUIRED_CHANNELS, "velocity"}
    assert set(trimmed.unread) == {"duty_cycle", "skipped_cycles"}
    assert session.missing([ids[1], "0099_x", ids[0]]) == [
        session.damaged()[ids[1]], f"{session.path}: run 0099_x is gone"
    ]  # fmt: skip
    assert session.damage() == f"1 of 4 runs cannot be read and is left out: {session.damaged()[ids[1]]}"


def test_a_trim_the_run_does_not_allow_is_refused_and_nothing_noted(session, ids):
    for begin, end in ((0.0, 99.0), (99.0, None), (0.1, 0.1000001)):
        with pytest.raises(InputError, match=ids[0]):
            session.annotate(ids[0], Annotation(note="x", trim_begin=begin, trim_end=end))
    assert session.annotations() == {}


def test_a_trim_written_by_hand_is_checked_when_it_is_used(session, ids):
    (session.path / "annotations.json").write_text(json.dumps(wrapped("annotations", {ids[0]: {"trim_begin": 99}})))
    with pytest.raises(InputError, match=f"{ids[0]}.*99 s"):
        session.load_for_fit(ids)
    session.annotate(ids[0], Annotation(note="mended"))
    assert len(session.load_for_fit(ids)) == 4


def test_the_data_hash_covers_trims_and_nothing_else_that_is_noted(session, ids):
    whole = session.data_hash(ids)
    session.annotate(ids[0], Annotation(note="x", tags=("y",), excluded=True, reason="z"))
    assert session.data_hash(ids) == whole
    duration = session.runs()[1].duration
    hashes = {whole}
    for begin, end in ((0.01, None), (None, 0.1), (0.01, 0.1), (0.02, 0.1)):
        session.annotate(ids[1], Annotation(trim_begin=begin, trim_end=end))
        hashes.add(session.data_hash(ids))
        assert session.data_hash([ids[0], ids[2]]) == session.data_hash([ids[2], ids[0]])
    assert len(hashes) == 5
    session.annotate(ids[1], Annotation(trim_begin=0.0, trim_end=duration))
    assert session.data_hash(ids) == whole


def test_the_data_hash_of_runs_without_trims_is_the_one_it_always_was(session, recording):
    """Recorded with the program as it was before runs could be trimmed."""
    ids = session.add_all([recording(seed=seed) for seed in range(2)])
    assert session.data_hash(ids) == "1713e8a5746734da1cddff23ce31d6b57289f78f55454b9e31f02abd3286fb6e"


# In one file, and imported


def test_notes_follow_their_runs_into_a_file_and_another_session(session, ids, tmp_path, recording):
    notes = {ids[0]: Annotation(note="größer", trim_begin=0.02), ids[2]: Annotation(excluded=True)}
    for identity, note in notes.items():
        session.annotate(identity, note)
    exported = export_single(session, tmp_path / "all.h5")
    opened = Session.open(exported)
    assert opened.annotations() == notes
    assert opened.fit_ids() == ids[:2]
    assert opened.data_hash() == session.data_hash()
    with pytest.raises(SessionError, match="read-only"):
        opened.annotate(ids[0], Annotation())

    home = Session.create(tmp_path / "home")
    first = home.add(recording(seed=9))
    home.annotate(first, Annotation(note="mine"))
    new = import_paths([exported, session.path], home)
    assert home.annotations() == {
        first: Annotation(note="mine"),
        new[0]: notes[ids[0]],
        new[2]: notes[ids[2]],
    }
    assert len(new) == 4, "the same runs a second time"
    assert home.data_hash(new) == session.data_hash()


def test_a_part_of_a_session_takes_only_its_own_notes_along(session, ids, tmp_path):
    for identity in ids[:2]:
        session.annotate(identity, Annotation(note=identity))
    some = Session.open(export_single(session, tmp_path / "some.h5", ids[1:]))
    assert list(some.annotations()) == [ids[1]]
    none = Session.open(export_single(session, tmp_path / "none.h5", ids[2:]))
    assert none.document("annotations") is None


def test_an_import_with_a_note_that_cannot_be_leaves_no_trace(session, ids, tmp_path):
    (session.path / "annotations.json").write_text(json.dumps(wrapped("annotations", {ids[0]: {"trim_begin": 99}})))
    home = Session.create(tmp_path / "home")
    for target in (home, tmp_path / "new"):
        with pytest.raises(ServoBenchError, match="99 s"):
            import_paths([session.path], target)
    assert not (tmp_path / "new").exists()
    assert os.listdir(home.path / "runs") == []
    assert sorted(os.listdir(home.path)) == ["runs", "session.json"]
