"""A file of HDF5 without a hash is tried in another process; what that dies of or hangs in is a damaged file."""

import errno
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from sessions.errors import SessionError, UnreadableError
from sessions.run_file import sandbox
from sessions.run_file.schema import opened
from sessions.run_file.trailer import append_trailer
from sessions.writing.part import Part
from tests.forked_trial import tried


@pytest.fixture
def trials():
    """As the product starts them, not as in the rest of this folder."""


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "x.h5"
    with h5py.File(place, "w") as content:
        content["x"] = [1.0, 2.0]
    return place


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "by signal 11"),
        ("while True: pass", "does not end"),
    ],
)
def test_what_ends_or_holds_a_process_is_damaged(file, monkeypatch, program, reason):
    monkeypatch.setattr(sandbox, "_PROGRAM", program)
    monkeypatch.setattr(sandbox, "PATIENCE", 1.0)
    with pytest.raises(UnreadableError, match=reason), opened(file):
        pass


def test_a_folder_of_the_same_name_in_the_working_folder_does_not_switch_it_off(file, tmp_path, monkeypatch):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "__init__.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sandbox, "_PROGRAM", "import sys, sessions.run_file.sandbox; sys.exit(7)")
    assert sandbox._started(str(file), 240.0) == 7


def test_a_sound_file_of_another_program_is_opened(file):
    with opened(file) as content:
        assert list(content["x"][()]) == [1.0, 2.0]


def test_a_file_with_its_hash_needs_no_trial(file, monkeypatch):
    append_trailer(file)
    monkeypatch.setattr(sandbox, "_started", None)
    with opened(file) as content:
        assert list(content) == ["x"]


def test_a_file_is_tried_once(file, monkeypatch):
    begun = []
    monkeypatch.setattr(sandbox, "_started", lambda path, limit: begun.append(path) or 0)
    for _ in range(3):
        with opened(file):
            pass
    assert begun == [str(file)]


def test_a_run_is_sealed_without_a_trial_also_when_a_write_was_refused(session, header, rows, monkeypatch):
    monkeypatch.setattr(sandbox, "_started", None)
    for refused in (False, True):
        run = session.sink().open(header)
        run.append(rows(5))
        run.flush()
        if refused:
            run.append(rows(5, first=5))
            with monkeypatch.context() as patch:
                patch.setattr(Part, "append", refuse)
                with pytest.raises(SessionError):
                    run.flush()
        run.finish("success")
    assert [run.samples for run in session.runs()] == [5, 5]


def refuse(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_whatever_a_file_holds_a_trial_ends_well(file, tmp_path):
    for content in (b"", b"\x89HDF\r\n\x1a\n", file.read_bytes()[:-100]):
        place = tmp_path / "other.h5"
        place.write_bytes(content)
        assert tried(str(place)) == 0


@pytest.mark.parametrize("where", ["attribute", "dataset"])
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says how much memory a process has")
def test_a_text_that_claims_gigabytes_is_refused_before_it_takes_them(tmp_path, where):
    place, text = tmp_path / "x.h5", "x" * 1234
    with h5py.File(place, "w") as content:
        if where == "attribute":
            content.attrs["text"] = text
        else:
            content["text"] = text
    data = place.read_bytes()
    length = struct.pack("<I", len(text))
    assert data.count(length) > 0
    place.write_bytes(data.replace(length, struct.pack("<I", 2**31)))
    with pytest.raises(UnreadableError, match="claim more memory"), opened(place):
        pass


def test_what_cannot_be_listed_is_refused_as_nobody_has_tried_it(tmp_path):
    place = tmp_path / "x.h5"
    with h5py.File(place, "w") as content:
        content.attrs["count"] = np.int32(7)
    data = place.read_bytes()
    integer = struct.pack("<IHH", 4, 0, 32)
    assert data.count(integer) == 1
    place.write_bytes(data.replace(integer, struct.pack("<IHH", 4, 0, 33)))
    with pytest.raises(UnreadableError, match="cannot be listed"), opened(place):
        pass
