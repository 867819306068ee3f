"""After any crash: finished runs are intact, at most a second of the running one is lost, nobody has to do anything."""

import contextlib
import errno
import json
import os
import random
import shutil
import subprocess
import sys
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import sessions.writing.part as part_module
from core.motion.recording import SAMPLE_DTYPE
from sessions import Session, SessionError
from sessions.header import MAX_TEXT
from sessions.run_file import sandbox
from sessions.run_file.schema import RECORDED_DTYPES
from sessions.writing.part import PART, row_dtype
from tests.sessions.writing.steps import Refusal, heard, killed_at, room_of

VICTIM = Path(__file__).with_name("victim.py")
LANES, KILLS = 2, 2


@pytest.fixture
def abandoned(session, header, rows):
    """The part of a run whose process died after 100 flushed samples, and the session it lies in."""
    sink = session.sink().open(header)
    sink.append(rows(100))
    sink.flush()
    part = session.path / "runs" / f"{sink.id}.h5{PART}"
    copy = session.path.parent / part.name
    shutil.copy(part, copy)
    sink.finish("success")
    (session.path / "runs" / f"{sink.id}.h5").unlink()
    shutil.move(copy, part)
    return part


def assert_known_sequence(recording):
    index = np.arange(recording.samples)
    assert np.array_equal(recording.goal_position, index)
    assert np.allclose(recording.position, np.cos(index / 10), atol=1e-12)


@pytest.mark.exhaustive("moments between the steps at which test_durability kills, and several recorders at once")
def test_kill_at_random_moments_while_recording(session, tmp_path, monkeypatch):
    # That a damaged part is tried in another process first is tested below and in test_sandbox.
    monkeypatch.setattr(sandbox, "_started", lambda path, limit: 0)
    lanes = [
        subprocess.Popen(
            [sys.executable, VICTIM, session.path, tmp_path / f"diary{i}", str(KILLS), str(i)],
            env={**os.environ, "PYTHONPATH": str(VICTIM.parents[3])},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for i in range(LANES)
    ]  # fmt: skip
    opened = 0
    while any(process.poll() is None for process in lanes):
        # Others may open the session meanwhile: they must not take a run from the process that records it.
        Session.open(session.path).runs()
        opened += 1
        with contextlib.suppress(subprocess.TimeoutExpired):
            lanes[0].wait(timeout=0.5)
    assert [process.communicate() for process in lanes] == [("", "")] * LANES
    assert opened

    session = Session.open(session.path)
    runs = {run.id: run for run in session.runs()}
    numbers = {int(identity[:4]): identity for identity in runs}
    diaries = [json.loads(line) for i in range(LANES) for line in (tmp_path / f"diary{i}").read_text().splitlines()]

    assert len(numbers) == len(runs)
    assert session.problems() == []
    for recording in session.load_all():
        assert_known_sequence(recording)
    killed_while_recording = 0
    for diary in diaries:
        for identity, rows in diary["finished"].items():
            assert runs[identity].samples == rows
            assert runs[identity].exit_status == "success"
        if diary["flushed"] >= 2:
            killed_while_recording += 1
            recovered = session.load(numbers[diary["number"]])
            assert recovered.samples >= diary["flushed"]
            assert diary["last"] - recovered.time[-1] <= 1.0
        elif diary["taken"]:
            assert diary["last"] - diary["first"] <= 1.0
    assert killed_while_recording == LANES * KILLS
    left = [name for name in os.listdir(session.path / "runs") if not name.endswith(".h5")]
    assert left in ([], ["damaged"])


def test_a_part_without_a_process_becomes_a_crashed_run(abandoned, session, rows):
    opened = Session.open(session.path)

    assert opened.recovery.recovered == ("0001_sin_sin_kp400",)
    assert opened.recovery.messages == ("run 0001_sin_sin_kp400 was recovered after a crash",)
    [run] = opened.recovery.runs
    assert (run.id, run.trajectory, run.samples) == ("0001_sin_sin_kp400", "sin_sin", 100)
    assert run.seconds == 99 * 0.005
    loaded = opened.load("0001_sin_sin_kp400")
    assert run.started == loaded.provenance["started"]
    assert loaded.provenance["exit_status"] == "crashed"
    [listed] = opened.runs()
    lasted = datetime.fromisoformat(listed.finished) - datetime.fromisoformat(listed.started)
    assert lasted == timedelta(seconds=run.seconds)
    assert loaded.channels["position"].tobytes() == rows(100)["position"].tobytes()
    assert os.listdir(session.path / "runs") == ["0001_sin_sin_kp400.h5"]
    assert Session.open(session.path).recovery.messages == ()


def test_a_run_being_recorded_is_left_alone(session, header, rows):
    sink = session.sink().open(header)
    sink.append(rows(100))
    sink.flush()
    other = Session.open(session.path)
    assert other.recovery.recording == (1,)
    assert other.recovery.messages == ()
    assert other.runs() == []
    assert sink.finish("success") == other.runs()[0].id


def test_a_torn_row_costs_only_what_follows_it(abandoned, session, rows):
    size = row_dtype(SAMPLE_DTYPE.names).itemsize
    with abandoned.open("r+b") as file:
        file.seek(-40 * size + 8, os.SEEK_END)
        file.write(b"\xff" * 4)
    loaded = Session.open(session.path).load("0001_sin_sin_kp400")
    assert loaded.channels["position"].tobytes() == rows(60)["position"].tobytes()


@pytest.mark.parametrize("size", [0, 8, 100, 1000, 5000])
def test_an_unreadable_part_is_set_aside_once_and_kept(abandoned, session, size):
    kept = abandoned.read_bytes()[:size]
    abandoned.write_bytes(kept)
    written = abandoned.stat().st_mtime

    opened = Session.open(session.path)

    assert len(opened.recovery.damaged) == 1
    assert abandoned.name in opened.recovery.damaged[0]
    assert "\n" not in opened.recovery.damaged[0]
    [part] = opened.recovery.parts
    assert (part.file, part.size, part.kept_as) == (abandoned.name, size, f"damaged/{abandoned.name}")
    assert part.reason in opened.recovery.damaged[0]
    assert datetime.fromisoformat(part.written).timestamp() == pytest.approx(written, abs=0.001)
    assert (session.path / "runs" / "damaged" / abandoned.name).read_bytes() == kept
    assert Session.open(session.path).recovery.messages == ()


def damaged_bytes(content, seed):
    damage, changed = random.Random(seed), bytearray(content)
    for _ in range(8):
        changed[damage.randrange(20_000)] = damage.choice((0, 255, damage.randrange(256)))
    return changed


def recovered_or_set_aside(session, part, changed):
    """Open a session with this part; the session is empty afterwards."""
    part.write_bytes(changed)
    opened = Session.open(session.path)
    assert len(opened.recovery.recovered) + len(opened.recovery.damaged) == 1
    assert len(opened.load_all()) == len(opened.recovery.recovered)
    shutil.rmtree(session.path / "runs")
    (session.path / "runs").mkdir()


def test_a_part_with_any_bytes_changed_is_recovered_or_set_aside(abandoned, session):
    content = abandoned.read_bytes()
    for seed in range(10):
        recovered_or_set_aside(session, abandoned, damaged_bytes(content, seed))


def test_a_changed_provenance_of_a_part_is_noticed(abandoned, session):
    """The checksum of the first line covers every fact of the run."""
    part = abandoned
    content = part.read_bytes()
    assert content.count(b'"Ada"') == 1
    part.write_bytes(content.replace(b'"Ada"', b'"Eda"'))
    report = Session.open(session.path).recovery
    assert report.recovered == ()
    assert "the first line is damaged" in report.damaged[0]


def test_a_part_of_a_newer_version_waits_for_it(session, header, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(part_module, "FORMAT_VERSION", 99)
        sink = session.sink().open(header)
        part = session.path / "runs" / f"{sink.id}.h5{PART}"
        content = part.read_bytes()
        with pytest.raises(SessionError):
            sink.finish("success")
    part.write_bytes(content)
    assert "newer ServoBench" in Session.open(session.path).recovery.postponed[0]
    assert part.read_bytes() == content


@pytest.mark.parametrize("lacking", [("command_time",), ("command_time", "bus_errors"), ("temperature", "bus_errors")])
def test_a_part_of_an_earlier_version_is_recovered(session, header, rows, monkeypatch, lacking):
    names = [name for name in SAMPLE_DTYPE.names if name not in lacking]
    with monkeypatch.context() as then:
        then.setattr(part_module, "RECORDED_DTYPES", {name: RECORDED_DTYPES[name] for name in names})
        sink = session.sink().open(header)
        sink.append(rows(100))
        sink.flush()
        part = session.path / "runs" / f"{sink.id}.h5{PART}"
        content = part.read_bytes()
        sink.finish("success")
    os.remove(session.path / "runs" / f"{sink.id}.h5")
    part.write_bytes(content)
    opened = Session.open(session.path)
    assert opened.recovery.recovered == (sink.id,)
    kept = opened.load(sink.id)
    assert kept.samples == 100
    assert not kept.channels["bus_errors"].any()
    assert lacking[0] not in kept.channels
    if "command_time" in lacking:
        np.testing.assert_array_equal(kept.command_time, kept.time)


def test_a_part_with_a_channel_of_a_later_version_waits_for_it(abandoned, session):
    first, _, rest = abandoned.read_bytes().partition(b"\n")
    header = json.loads(first.partition(b" ")[2])
    header["channels"].append("torque")
    abandoned.write_bytes(part_module._checked_line(header) + rest)
    [postponed] = Session.open(session.path).recovery.postponed
    assert "written by a newer ServoBench (channel torque): update ServoBench" in postponed
    assert abandoned.exists()


def test_a_part_without_two_samples_is_set_aside(session, header, rows):
    sink = session.sink().open(header)
    part = session.path / "runs" / f"{sink.id}.h5{PART}"
    empty = part.read_bytes()
    sink.append(rows(2))
    sink.finish("success")
    second = part.with_name(part.name.replace("0001", "0002"))
    second.write_bytes(empty)
    assert "0 usable samples" in Session.open(session.path).recovery.damaged[0]


def test_a_set_aside_part_keeps_its_number_and_its_namesakes(abandoned, session, header, rows):
    for content in (b"first", b"second"):
        abandoned.write_bytes(content)
        Session.open(session.path)
    damaged = session.path / "runs" / "damaged"
    assert sorted(path.read_bytes() for path in damaged.iterdir()) == [b"first", b"second"]
    assert session.sink().open(header).id.startswith("0002")


def test_a_death_between_sealing_and_tidying_leaves_one_run(abandoned, session):
    part = abandoned.read_bytes()
    Session.open(session.path)
    expected = session.load("0001_sin_sin_kp400")
    abandoned.write_bytes(part)
    assert Session.open(session.path).recovery.messages == ()
    assert not abandoned.exists()
    assert session.load("0001_sin_sin_kp400").provenance == expected.provenance


def test_a_part_never_replaces_another_run(abandoned, session, recording):
    part = abandoned.read_bytes()
    abandoned.unlink()
    identity = session.add(recording())
    abandoned.write_bytes(part)
    assert "another run" in Session.open(session.path).recovery.damaged[0]
    assert session.load(identity).samples == 50


def test_remains_that_hold_no_sample_are_swept_up(session):
    runs = session.path / "runs"
    for name in (".0004.lock", "0006_x_kp1.h5.tmp", ".0007_x_kp1.h5.part.ab12.tmp"):
        (runs / name).touch()
    assert Session.open(session.path).recovery.messages == ()
    assert os.listdir(runs) == []


@pytest.mark.parametrize("size", [1_520_000, 2_500_000], ids=["room to seal", "no room to seal"])
@pytest.mark.parametrize(("end", "exit_status"), [("finish", "fail"), ("die", "crashed")])
def test_a_full_disk_costs_only_the_samples_it_refused(session, header, rows, size, end, exit_status):
    sink = session.sink().open(header)

    def fill():
        while sink.rows_flushed < 50_000:
            table = rows(1000, sink.rows_flushed)
            for name in ("current", "duty_cycle", "temperature", "read_duration", "command_time"):
                table[name] = 0.0  # channels without a value would not be written
            sink.append(table)
            sink.flush()

    with room_of(size), pytest.raises(SessionError, match="samples cannot be written") as refusal:
        fill()
    safe = sink.rows_flushed
    assert f"{safe} samples before them are safe" in str(refusal.value)
    if end == "die":
        sink._part.close()
        sink._lock.release()
    else:
        # The finished file may be larger than the part; the next opening writes it then.
        with room_of(size), nullcontext() if size < 2_000_000 else pytest.raises(SessionError, match="samples stay in"):
            sink.finish("fail", "the disk is full")
    recovered = Session.open(session.path).load(sink.id)
    assert recovered.provenance["exit_status"] == exit_status
    assert recovered.samples == safe > 10_000
    assert np.array_equal(recovered.position, rows(safe)["position"])


def test_a_recovery_that_is_stopped_at_any_step_costs_no_sample(abandoned, session):
    """Refused, interrupted or killed: the part stays until its run is there; nothing is held, and the next one ends."""
    content, opened_before = abandoned.read_bytes(), len(os.listdir("/dev/fd"))

    def refused(step):
        refusal = Refusal(step, lambda: OSError(errno.ENOSPC, "No space left on device"))
        with heard(refusal):
            session.recover()
        return refusal.happened

    def interrupted(step):
        refusal = Refusal(step, KeyboardInterrupt, everything=True)
        with contextlib.suppress(KeyboardInterrupt), heard(refusal):
            session.recover()
        return refusal.happened

    for stopped in (refused, interrupted, lambda step: killed_at(step, session.recover)):
        step = 0
        while stopped(step):
            step += 1
            again = Session.open(session.path)
            assert again.recovery.recording == ()
            assert again.recovery.damaged == ()
            assert again.load("0001_sin_sin_kp400").samples == 100
            assert os.listdir(session.path / "runs") == ["0001_sin_sin_kp400.h5"]
            assert len(os.listdir("/dev/fd")) == opened_before
            (session.path / "runs" / "0001_sin_sin_kp400.h5").unlink()
            abandoned.write_bytes(content)
        assert step > 3
        (session.path / "runs" / "0001_sin_sin_kp400.h5").unlink()
        abandoned.write_bytes(content)


@pytest.mark.parametrize(
    ("exit_status", "reason", "kept"), [("abort", "\U0001f980" * 3000, "\U0001f980" * MAX_TEXT), ("success", "", "")]
)
def test_a_run_that_cannot_be_sealed_stays_recoverable(session, header, rows, exit_status, reason, kept):
    """Also with the longest reason, which leaves the rows alone."""
    sink = session.sink().open(header)
    sink.append(rows(100))
    in_the_way = session.path / "runs" / f"{sink.id}.h5"
    in_the_way.mkdir()
    with pytest.raises(SessionError, match=r"cannot be written.*100 samples stay in"):
        sink.finish(exit_status, reason)
    in_the_way.rmdir()
    opened = Session.open(session.path)
    assert (opened.recovery.recovered, opened.recovery.completed) == ((), (sink.id,))
    [run] = opened.runs()
    assert (run.samples, run.exit_status, run.reason) == (100, exit_status, kept)


@pytest.mark.parametrize("more", [0, 15_000], ids=["before the end", "before more room is reserved"])
def test_a_runs_folder_deleted_under_a_recording_costs_nothing_of_its_run(session, header, rows, more):
    sink = session.sink().open(header)
    sink.append(rows(100))
    sink.flush()
    shutil.rmtree(session.path / "runs")
    if more:
        sink.append(rows(more, 100))
        sink.flush()
    assert sink.finish("success") == sink.id
    [run] = Session.open(session.path).runs()
    assert (run.samples, run.exit_status) == (100 + more, "success")
    np.testing.assert_array_equal(session.load(run.id).time, np.arange(100 + more) * 0.005)


def test_a_run_that_was_deleted_and_cannot_be_kept_is_not_called_safe(session, header, rows):
    sink = session.sink().open(header)
    sink.append(rows(100))
    sink.flush()
    shutil.rmtree(session.path / "runs")
    (session.path / "runs").touch()
    with pytest.raises(SessionError, match="deleted while it was recorded") as refusal:
        sink.finish("success")
    assert "stay in" not in str(refusal.value)
