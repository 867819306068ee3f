"""A session in one file: the same runs, read-only, and back again to the last bit."""

import json
import os

import h5py
import numpy as np
import pytest

from core.base.errors import ServoBenchError
from sessions import Session, SessionError, export_single, import_paths, import_single


@pytest.fixture
def exported(session, recording, tmp_path):
    session.add_all([recording(seed=seed) for seed in range(3)])
    return export_single(session, tmp_path / "all.h5")


def test_an_exported_session_opens_like_a_session_and_comes_back(session, exported, tmp_path, same):
    opened = Session.open(exported)
    assert opened.uid == session.uid
    assert opened.title == "bench 7"
    assert opened.data_hash() == session.data_hash()
    assert [run.id for run in opened.runs()] == [run.id for run in session.runs()]
    for here, there in zip(session.load_all(), opened.load_all(), strict=True):
        same(here, there)
        assert here.provenance == there.provenance
    back = Session.create(tmp_path / "back")
    for original, identity in zip(session.load_all(), import_single(exported, back), strict=True):
        same(original, back.load(identity))
        assert back.load(identity).provenance == original.provenance
    assert back.data_hash() == session.data_hash()


def test_files_and_folders_of_ours_are_imported_like_logs(session, exported, tmp_path):
    run = session.path / "runs" / f"{session.runs()[0].id}.h5"
    for number, (source, count) in enumerate(((exported, 3), (session.path, 3), (run, 1))):
        ids = import_paths([source], tmp_path / f"new{number}")
        assert [identity[:4] for identity in ids] == [f"{number:04d}" for number in range(1, count + 1)]


def test_an_exported_session_takes_nothing(exported, recording):
    opened = Session.open(exported)
    with pytest.raises(SessionError, match="read-only"):
        opened.add(recording())
    with pytest.raises(SessionError, match="read-only"):
        opened.sink()


def test_an_export_replaces_no_file_and_leaves_none_behind(session, recording, exported, tmp_path):
    with pytest.raises(SessionError, match="exists"):
        export_single(session, exported)
    with pytest.raises(SessionError, match="cannot be exported"):
        export_single(session, tmp_path / "missing" / "all.h5")
    with pytest.raises(SessionError, match="no run"):
        export_single(session, tmp_path / "other.h5", ["0099_x"])
    assert sorted(os.listdir(tmp_path)) == ["all.h5", "session"]


def test_other_files_are_no_sessions(tmp_path, session, recording):
    (tmp_path / "notes.txt").write_text("hello")
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = np.zeros(3)
    run = session.path / "runs" / f"{session.add(recording())}.h5"
    for path in (tmp_path / "notes.txt", tmp_path / "foreign.h5", run):
        with pytest.raises(SessionError):
            Session.open(path)


def test_one_damaged_run_is_named_and_the_others_open(exported):
    with h5py.File(exported, "r+") as file:
        victim = sorted(file["runs"])[1]
        file["runs"][victim].attrs["bench"] = json.dumps({"mass": -1, "length": 0.1})
    opened = Session.open(exported)
    assert len(opened.runs()) == 2
    assert "mass" in opened.problems()[0]


def test_a_renamed_run_of_a_file_is_not_taken_for_another_one(exported):
    with h5py.File(exported, "r+") as file:
        first, *others = sorted(file["runs"])
        file.move(f"runs/{first}", "runs/0009_other")
    opened = Session.open(exported)
    assert [run.id for run in opened.runs()] == others
    assert opened.damaged() == {"0009_other": f"{exported}: 0009_other holds run {first}"}


def test_a_cut_off_file_is_refused(exported, tmp_path):
    content = exported.read_bytes()
    cut = tmp_path / "cut.h5"
    for share in (0.0, 0.01, 0.3, 0.6, 0.99):
        cut.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(ServoBenchError):
            import_paths([cut], tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_huge_and_foreign_channels_are_refused(exported, tmp_path):
    with h5py.File(exported, "r+") as file:
        channels = file["runs/0001_sin_sin_kp400/channels"]
        del channels["position"]
        channels.create_dataset("position", (10**12,), "f8", chunks=(1024,))
    events = []
    assert len(import_paths([exported], tmp_path / "new", events.append)) == 2
    [damage] = [event.damage for event in events if event.damage]
    assert damage.startswith("1 of 3 runs cannot be read and is left out: ")
    assert "channel position" in damage
    with pytest.raises(SessionError, match="channel position"):
        Session.open(exported).load("0001_sin_sin_kp400")


@pytest.mark.parametrize("place", [0, 5000, -40, -3])
def test_a_changed_byte_is_noticed_before_hdf5_sees_it(session, recording, exported, tmp_path, place):
    run = session.path / "runs" / f"{session.runs()[0].id}.h5"
    for path in (exported, run):
        content = bytearray(path.read_bytes())
        content[place] ^= 0x10
        path.write_bytes(content)
        with pytest.raises(ServoBenchError, match="SHA-256 differs"):
            import_paths([path], tmp_path / "never")


def test_files_rewritten_by_other_programs_are_read(session, exported):
    with h5py.File(exported, "r+") as file:
        file.attrs["comment"] = "seen"
    assert Session.open(exported).data_hash() == session.data_hash()
