"""A session keeps runs exactly, lists them from any state of its index and refuses what it cannot hold."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from core.base.errors import InputError
from core.motion.recording import CHANNELS, SampleSink
from sessions import Annotation, Selection, Session, SessionError, UnreadableError, selection_note, selection_text
from sessions.header import RunFacts
from sessions.run_file.schema import canonical_channels, channels_sha256, number_attribute
from sessions.run_file.summary import RunSummary
from sessions.selection import LeftOut
from sessions.writing import writer


def record(session, header, rows, count=100, exit_status="success"):
    sink = session.sink().open(header)
    sink.append(rows(count))
    return sink.finish(exit_status)


def test_a_run_comes_back_as_it_was_appended(session, header, rows):
    sink: SampleSink = session.sink().open(header)
    block = rows(10)
    for first in range(0, 100, 10):
        block[:] = rows(10, first)  # the caller fills the same block again
        sink.append(block)
    identity = sink.finish("abort", "Esc pressed")

    loaded = session.load(identity)

    assert identity == "0001_sin_sin_kp400"
    for name, values in loaded.channels.items():
        assert values.tobytes() == rows(100)[name].tobytes(), name
    assert loaded.bench == header.bench
    assert loaded.settings == header.settings
    assert loaded.provenance["operator"] == "Ada"
    assert loaded.provenance["exit_status"] == "abort"
    assert loaded.provenance["reason"] == "Esc pressed"


def test_the_file_describes_itself(session, header, rows):
    identity = record(session, header, rows)
    units = {channel.name: channel.unit for channel in CHANNELS}
    with h5py.File(session.path / "runs" / f"{identity}.h5") as file:
        assert file.attrs["creator"] == "ServoBench"
        assert file.attrs["HDF5_Version"] == h5py.version.hdf5_version
        assert file.attrs["h5py_version"] == h5py.version.version
        assert {"creator_version", "file_time", "uid", "platform", "format_version"} <= set(file.attrs)
        for name, dataset in file["channels"].items():
            assert dataset.attrs["units"] == units[name]
            assert dataset.attrs["description"]
            assert dataset.fletcher32
        assert "units" in file["provenance"].attrs


def test_rows_a_recording_cannot_hold_are_dropped_and_counted(session, header, rows):
    table = rows(10)
    table["position"][3] = np.nan
    table["time"][6] = table["time"][5]
    sink = session.sink().open(header)
    sink.append(table)
    loaded = session.load(sink.finish("success"))
    assert loaded.channels["time"].tobytes() == np.delete(table["time"], [3, 6]).tobytes()
    assert loaded.provenance["rows_dropped"] == 2


@pytest.mark.parametrize("period", [0.05, 0.2])
def test_no_sample_is_in_memory_only_for_longer_than_the_interval(session, header, rows, monkeypatch, period):
    now = 100.0
    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=lambda: now))
    sink = session.sink().open(header)
    oldest, flushed = now, 0
    for _ in range(12):
        # A block holds what was taken since the last one, which is up to a period old.
        now += period
        sink.append(rows(5))
        if sink.rows_flushed > flushed:
            flushed, oldest = sink.rows_flushed, now
        assert now + period - oldest <= max(writer.FLUSH_INTERVAL, period) + 1e-9
    sink.finish("success")


def test_a_finished_run_takes_no_more_samples(session, header, rows):
    sink = session.sink().open(header)
    sink.append(rows(5))
    sink.finish("success")
    with pytest.raises(SessionError, match="no longer open"):
        sink.append(rows(5))


def test_only_samples_and_known_exit_statuses_are_taken(session, header, rows):
    sink = session.sink().open(header)
    with pytest.raises(InputError, match="not samples"):
        sink.append(np.zeros(3))
    with pytest.raises(InputError, match="exit status"):
        sink.finish("great")


def test_what_could_not_be_stored_is_refused_before_the_first_sample(session, header):
    for impossible in (
        replace(header, rate=float("nan")),
        replace(header, settings=replace(header.settings, kp=float("inf"))),
        replace(header, settings=replace(header.settings, servo=7)),
    ):
        with pytest.raises(InputError):
            session.sink().open(impossible)
    assert os.listdir(session.path / "runs") == []


def test_numpy_numbers_and_long_texts_are_stored_like_others(session, header, rows):
    gains = replace(header.settings, kp=np.int64(400), kd=np.float32(0.5))
    sink = session.sink().open(
        replace(header, settings=gains, provenance={"seed": np.int64(3), "path": session.path, "n": [np.nan]})
    )
    sink.append(rows(5))
    loaded = session.load(sink.finish("fail", "long story " * 10_000))
    assert loaded.settings == replace(header.settings, kp=400, kd=0.5)
    assert loaded.provenance["seed"] == 3
    assert loaded.provenance["path"] == str(session.path)
    assert loaded.provenance["reason"].startswith("long story")


def test_two_runs_at_once_have_two_numbers(session, header, rows):
    sinks = [session.sink().open(header) for _ in range(3)]
    for sink in sinks:
        sink.append(rows(5))
    assert [sink.finish("success")[:4] for sink in reversed(sinks)] == ["0003", "0002", "0001"]


def test_added_recordings_come_back_to_the_last_bit(session, recording, same):
    originals = [recording(seed=seed, samples=20 + seed) for seed in range(3)]
    ids = session.add_all(originals)
    for original, loaded in zip(originals, session.load_all(ids), strict=True):
        same(original, loaded)
        assert loaded.provenance["operator"] == "Ada"
        assert loaded.provenance["exit_status"] == "success"


@pytest.mark.parametrize("trajectory", ["../../etc/passwd", "a/b\\c", "…", "", "x" * 300, "\ud800\0"])
def test_any_trajectory_name_makes_a_safe_file_name(session, recording, trajectory):
    identity = session.add(recording(trajectory=trajectory))
    assert (session.path / "runs" / f"{identity}.h5").is_file()
    assert session.runs()[0].id == identity
    assert session.problems() == []


def test_a_failed_addition_takes_back_the_others(session, recording):
    unknown = recording(channels={**recording().channels, "mood": np.zeros(50)})
    with pytest.raises(SessionError, match="no channel mood"):
        session.add_all([recording(), unknown])
    assert os.listdir(session.path / "runs") == []


# The index


def test_the_index_is_rebuilt_when_missing_stale_or_damaged(session, recording):
    session.add_all([recording(seed=1), recording(seed=2)])
    expected = session.runs()
    index = session.path / "index.json"
    for damage in (b"", b"{", b"[]", b"null", b'{"format_version":1,"runs":{"0001_x.h5":[1,2,{}]}}', b"[" * 99999):
        index.write_bytes(damage)
        assert Session.open(session.path).runs() == expected
    index.unlink()
    assert Session.open(session.path).runs() == expected


def test_the_index_opens_only_what_changed(session, recording):
    ids = session.add_all([recording(seed=seed) for seed in range(3)])
    session.runs()
    path = session.path / "runs" / f"{ids[0]}.h5"
    status = path.stat()
    path.write_bytes(bytes(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [run.id for run in Session.open(session.path).runs()] == ids

    os.utime(path)
    again = Session.open(session.path)
    assert [run.id for run in again.runs()] == ids[1:]
    assert [ids[0] in problem for problem in again.problems()] == [True]


def test_a_renamed_run_is_not_taken_for_another_one(session, recording):
    first, second = session.add_all([recording(seed=1), recording(seed=2)])
    runs = session.path / "runs"
    (runs / f"{first}.h5").rename(runs / "0007_other.h5")
    again = Session.open(session.path)
    assert [run.id for run in again.runs()] == [second]
    assert again.problems() == [f"{runs / '0007_other.h5'}: the file was renamed, it holds run {first}"]


def test_runs_of_other_processes_and_removed_runs_are_noticed(session, recording):
    session.add(recording())
    assert len(session.runs()) == 1
    identity = Session.open(session.path).add(recording())
    assert [run.id[:4] for run in session.runs()] == ["0001", "0002"]
    (session.path / "runs" / f"{identity}.h5").unlink()
    assert [run.id[:4] for run in session.runs()] == ["0001"]


def test_runs_in_the_index_are_listed_by_number_without_opening_them(session, recording):
    identity = session.add(recording())
    summary = {key: value for key, value in session.runs()[0].to_json().items() if key != "vin"}
    status = (session.path / "runs" / f"{identity}.h5").stat()
    entries = {}
    for number in (2, 9999, 10_000):  # files without a byte, which could not be opened
        name = f"{number:04d}_sin_sin_kp400.h5"
        path = session.path / "runs" / name
        path.touch()
        os.utime(path, ns=(0, status.st_mtime_ns))
        entries[name] = [0, status.st_mtime_ns, {**summary, "id": path.stem, "file": f"runs/{name}"}]
    (session.path / "index.json").write_text(json.dumps({"format_version": 1, "runs": entries}))
    runs = Session.open(session.path).runs()
    assert [run.id[:5] for run in runs] == ["0001_", "0002_", "9999_", "10000"]


# Provenance


def test_the_data_hash_names_the_evidence_not_its_place(session, recording, tmp_path):
    originals = [recording(seed=seed) for seed in range(3)]
    ids = session.add_all(originals)
    other = Session.create(tmp_path / "other")
    reversed_ids = other.add_all(reversed(originals))
    assert session.data_hash(ids) == other.data_hash(reversed_ids) == other.data_hash()
    assert session.data_hash(ids[:2]) != session.data_hash(ids)


def test_the_data_hash_sees_every_change_of_evidence(session, recording):
    original = recording()
    moved = original.position.copy()
    moved[7] = np.nextafter(moved[7], 1)
    variants = [
        original,
        recording(channels={**original.channels, "position": moved}),
        recording(trajectory="lift_and_drop"),
        recording(settings=type(original.settings)(servo="xl330", kp=400, kd=1.0, supply_voltage=7.4)),
        recording(bench=type(original.bench)(mass=0.5, length=0.1)),
    ]
    assert len({session.data_hash([identity]) for identity in session.add_all(variants)}) == len(variants)


def test_an_altered_sample_is_noticed(session, recording):
    identity = session.add(recording())
    path = session.path / "runs" / f"{identity}.h5"
    with h5py.File(path, "r+") as file:
        file["channels/position"][3] += 1e-12
    [listed] = session.runs()
    assert (listed.id, session.damaged()) == (identity, {})
    with pytest.raises(UnreadableError, match="SHA-256") as noticed:
        session.load(identity)
    # From then on it is listed as damaged, although its file is the one that was listed.
    assert (session.runs(), session.damaged()) == ([], {identity: str(noticed.value)})


def test_the_channel_hash_depends_on_names_and_types():
    values = {"time": np.zeros(3)}
    assert channels_sha256(values) != channels_sha256({"position": np.zeros(3)})
    assert channels_sha256(values) != channels_sha256({"time": np.zeros(6, np.float32)})


# What is refused, in one line each


def refusal(action):
    with pytest.raises(SessionError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_foreign_folder_becomes_no_session(tmp_path):
    (tmp_path / "thesis.tex").touch()
    assert "not an empty folder" in refusal(lambda: Session.create(tmp_path))
    assert "no session" in refusal(lambda: Session.open(tmp_path))
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_session_is_not_created_over_another(session):
    assert "already a session" in refusal(lambda: Session.create(session.path))
    assert Session.open_or_create(session.path).uid == session.uid


def test_an_interrupted_creation_can_be_repeated(tmp_path):
    (tmp_path / "s" / "runs").mkdir(parents=True)
    (tmp_path / "s" / ".session.json.0a1b2c3d.tmp").write_text('{"for')
    assert Session.open_or_create(tmp_path / "s").runs() == []


def test_missing_and_impossible_paths_are_named(tmp_path):
    assert "no such session" in refusal(lambda: Session.open(tmp_path / "none"))
    (tmp_path / "file").touch()
    assert refusal(lambda: Session.create(tmp_path / "file" / "below"))
    assert refusal(lambda: Session.create(tmp_path / ("x" * 300)))
    assert refusal(lambda: Session.open(tmp_path / "a\0b"))
    assert "\\n" in refusal(lambda: Session.open(tmp_path / "two\nlines"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "servobench-session"}', "[" * 100_000, "\ud800"])
def test_a_damaged_session_file_is_named(session, text):
    (session.path / "session.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert "session.json" in refusal(lambda: Session.open(session.path))


def test_newer_formats_ask_for_an_update(session, recording):
    identity = session.add(recording())
    with h5py.File(session.path / "runs" / f"{identity}.h5", "r+") as file:
        file.attrs["format_version"] = 99
    assert "newer ServoBench" in refusal(lambda: session.load(identity))
    assert "newer ServoBench" in session.problems()[0]
    facts = json.loads((session.path / "session.json").read_text())
    (session.path / "session.json").write_text(json.dumps({**facts, "format_version": 99}))
    assert "newer ServoBench" in refusal(lambda: Session.open(session.path))


@pytest.mark.parametrize("identity", ["0002_x", "../session", "", "0001", 7, None])
def test_unknown_runs_are_named(session, recording, identity):
    session.add(recording())
    assert refusal(lambda: session.load(identity))


def test_a_run_cannot_borrow_data_from_elsewhere(session, recording, tmp_path):
    identity = session.add(recording())
    (tmp_path / "secret").write_bytes(bytes(400))
    with h5py.File(session.path / "runs" / f"{identity}.h5", "r+") as file:
        del file["channels/position"]
        file["channels"].create_dataset("position", (50,), "f8", external=str(tmp_path / "secret"))
    assert "another file" in refusal(lambda: session.load(identity))
    with h5py.File(session.path / "runs" / f"{identity}.h5", "r+") as file:
        del file["channels/position"]
        file["channels/position"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
    assert "link" in refusal(lambda: session.load(identity))


UNPRIVILEGED = """
import sys
from dataclasses import replace
from types import SimpleNamespace
from core.base.errors import ServoBenchError
from sessions import Session, import_paths
session = Session.open(sys.argv[1])
assert len(session.runs()) == 1 and session.load_all()
for action in (lambda: session.add(session.load_all()[0]),
               lambda: import_paths([sys.argv[2]], sys.argv[1] + "/below"),
               lambda: Session.create(sys.argv[1] + "/below")):
    try:
        action()
    except ServoBenchError as error:
        print(error)
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv, which drops privileges, is not here")
def test_a_read_only_session_can_be_read(session, recording, write_log):
    session.add(recording())
    os.chmod(session.path / "runs", 0o500)
    os.chmod(session.path, 0o500)
    command = [sys.executable, "-c", UNPRIVILEGED, session.path, write_log()]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert result.stderr == ""
    assert result.stdout.count("Permission denied") == 3
    assert sorted(os.listdir(session.path)) == ["runs", "session.json"]


def test_a_selection_says_what_became_of_every_run(session, recording):
    """One of each kind, more of a kind than a sentence names, and old or foreign data under "selection"."""
    good, copy, third, excluded, damaged, spare = session.add_all([recording(seed=s) for s in (1, 1, 2, 3, 4, 5)])
    aborted = session.add(recording(seed=6), "abort")
    session.annotate(excluded, Annotation(excluded=True, reason="a long story of how the horn slipped on the shaft"))
    path = session.path / "runs" / f"{damaged}.h5"
    path.write_bytes(path.read_bytes()[:-3000])
    made = session.selection(session.load_all([good, copy, third]))
    assert made.text == (
        "3 of 7 runs: 0005 damaged, 0004 excluded (a long story of how the horn slipped …), 0007 aborted, "
        "0006 not chosen; 0002 repeats 0001 byte for byte (kept together)"
    )
    assert made.left_out[0].reason == session.damaged()[damaged]
    assert [out.run for out in made.left_out] == [damaged, excluded, aborted]
    assert made.not_chosen == (spare,)
    assert selection_text({"selection": json.loads(json.dumps(made.to_json()))}) == made.text
    for data in ({}, {"selection": None}, {"selection": "?"}, {"selection": {"text": 3}}):
        assert selection_text(data) == selection_note(data) == ""
    many = Selection(runs=(good,), left_out=tuple(LeftOut(f"{n:04d}_x", "aborted") for n in range(2, 12)))
    assert many.text.endswith("0007 aborted, 4 more excluded, unfinished or damaged")
    assert Selection(runs=(good,)).text == "1 run"
    assert selection_note({"selection": Selection(runs=(good, spare)).to_json()}) == ""


@pytest.mark.parametrize(
    ("channel", "wrong"),
    [("torque_enable", 256), ("torque_enable", 0.5), ("skipped_cycles", -1), ("skipped_cycles", np.nan)],
)
def test_values_that_a_channel_would_change_are_refused(channel, wrong):
    kept = canonical_channels({"time": np.arange(2.0), channel: np.array([0.0, 1.0]), "current": [np.nan, 0.5]}, "r")
    assert [list(values) for values in (kept["time"], kept[channel])] == [[0.0, 1.0], [0, 1]]
    with pytest.raises(SessionError, match=f"run r: channel {channel} holds values that .* cannot hold"):
        canonical_channels({"time": np.arange(2.0), channel: np.array([0, wrong])}, "r")


def test_a_number_of_a_file_is_finite_and_at_least_0():
    with h5py.File("numbers", "w", driver="core", backing_store=False) as file:
        for number in (0.0, 2, 1e9):
            file.attrs["rate"] = number
            assert number_attribute(file, "rate") == number
        for wrong in (-1e-9, np.nan, np.inf, "1"):
            file.attrs["rate"] = wrong
            with pytest.raises(UnreadableError, match="attribute rate is missing or not a valid number"):
                number_attribute(file, "rate")


def test_a_rate_is_a_number_of_at_least_0(header):
    for rate in (0.0, 1e9):
        assert RunFacts.from_header("0001", replace(header, rate=rate)).rate == rate
    for rate in (-1.0, 1.1e9, np.nan, np.inf):
        with pytest.raises(InputError, match=r"run 0001: a sampling rate of .* Hz is not possible"):
            RunFacts.from_header("0001", replace(header, rate=rate))


def test_a_summary_has_no_field_missing_or_of_another_type(session, recording):
    session.add(recording())
    [run] = session.runs()
    data = run.to_json()
    assert RunSummary.from_json({**data, "mass": 2}).mass == 2
    for name in data.keys() - {"vin", "simulated"}:
        for wrong in (None, [], "1" if not isinstance(data[name], str) else 1):
            with pytest.raises(ValueError, match=f"run summary: {name} = .* is not possible"):
                RunSummary.from_json({**data, name: wrong})
