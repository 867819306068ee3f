"""A disk that is full or read-only: the servo is let go, what was recorded stays, a person is told what helps."""

import os
import subprocess

import pytest

from bench_gui.cli import main
from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from drivers.clock import VirtualClock
from drivers.recorder import record_inline
from drivers.servo import ServoState
from drivers.simulated import SimulatedServo
from sessions import Annotation, Session, SessionError

SMALL, LARGE = "1m", "16m"


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


class Disk:
    """A disk of its own in memory, which only root may make."""

    def __init__(self, path):
        self.path = path

    def change(self, options):
        assert mount("-o", f"remount,{options}", str(self.path))

    def fill(self):
        with (self.path / "filling").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass


@pytest.fixture
def disk(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    path = tmp_path / "disk"
    path.mkdir()
    if not mount("-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(path)):
        pytest.skip("a small disk can only be mounted by root")
    yield Disk(path)
    subprocess.run(["umount", str(path)], check=True)


def record(session, duration):
    """A run, the servo's state afterwards and how far it was moved."""
    settings = load_model("mx106", "m6").default_settings()
    header = RunHeader(trajectory="sin_sin", bench=Bench(mass=0.5, length=0.1), settings=settings, rate=500.0)
    with SimulatedServo("mx106", clock=VirtualClock()) as servo:
        servo.connect()
        before = servo.read().position
        result = record_inline(servo, make_trajectory("sin_sin", duration), header, session.sink())
        return result, servo.state, abs(servo.read().position - before)


def left_over(session):
    return sorted(name for name in os.listdir(session.path / "runs") if not name.endswith(".h5"))


def test_a_disk_that_fills_up_during_a_run_costs_no_sample_that_was_safe(disk, monkeypatch):
    # The servo's clock runs ahead of the machine's: what takes a minute there is over here before a flush is due.
    monkeypatch.setattr("sessions.writing.writer.FLUSH_INTERVAL", 0.001)
    session = Session.create(disk.path / "lab")
    result, state, _ = record(session, 30.0)
    assert result.exit_status == "fail"
    assert state is not ServoState.ENABLED
    assert "free some space on that disk" in result.reason
    assert "become a run when the session is opened and there is room" in result.reason
    safe = int(result.reason.split(" samples before them are safe")[0].rpartition(" ")[2])
    assert 1000 < safe < result.samples
    # The next run is refused before anything moves, and is not in the way of one after it.
    refused, state, moved = record(session, 1.0)
    assert (refused.exit_status, refused.samples, refused.id) == ("fail", 0, "")
    assert "free some space on that disk" in refused.reason
    assert state is ServoState.READY
    assert moved < 0.01
    assert left_over(session) == ["0001_sin_sin_kp16.h5.part"]
    disk.change(f"size={LARGE}")
    again = Session.open(session.path)
    assert [(run.exit_status, run.samples) for run in again.runs()] == [("fail", safe)]
    result, _, _ = record(again, 1.0)
    assert (result.exit_status, result.id) == ("success", "0002_sin_sin_kp16")
    assert left_over(again) == []


def test_a_full_disk_keeps_what_was_noted_and_lists_without_an_index(disk):
    disk.change(f"size={LARGE}")
    session = Session.create(disk.path / "lab")
    record(session, 1.0)
    session.annotate("0001_sin_sin_kp16", Annotation(note="before"))
    (session.path / "index.json").unlink(missing_ok=True)
    disk.fill()
    again = Session.open(session.path)
    assert [run.id for run in again.runs()] == ["0001_sin_sin_kp16"]
    with pytest.raises(SessionError, match="free some space on that disk"):
        again.annotate("0001_sin_sin_kp16", Annotation(note="a longer one"))
    with pytest.raises(SessionError, match="free some space on that disk"):
        again.add(again.load("0001_sin_sin_kp16"))
    assert again.annotations()["0001_sin_sin_kp16"].note == "before"
    assert left_over(again) == []


@pytest.mark.parametrize(
    "command",
    [
        ["record", "--fast", "--trajectory", "sin_sin", "--duration", "1", "-o", "{disk}/lab"],
        ["identify", "{disk}/lab", "--models", "m1", "--trials", "12", "--validation", "none", "-o", "{disk}/result"],
        ["export", "mx106:m1", "--to", "mujoco", "-o", "{disk}/export"],
        ["annotate", "{disk}/lab", "0001_sin_sin_kp16", "--note", "n"],
    ],
    ids=lambda command: command[0],
)
def test_commands_on_a_full_disk_end_with_one_line(disk, command, capsys):
    disk.change(f"size={LARGE}")
    record(Session.create(disk.path / "lab"), 1.0)
    disk.fill()
    assert main([part.format(disk=disk.path) for part in command]) == 1
    told = capsys.readouterr()
    lines = [line for line in (told.out + told.err).splitlines() if "No space left" in line]
    assert len(lines) == 1
    assert "Traceback" not in told.err


def test_a_session_that_cannot_be_written_is_read_fitted_elsewhere_and_not_recorded_into(disk, tmp_path, capsys):
    disk.change(f"size={LARGE}")
    record(Session.create(disk.path / "lab"), 1.0)
    disk.change("ro")
    session = Session.open(disk.path / "lab")
    assert [run.exit_status for run in session.runs()] == ["success"]
    result, state, moved = record(session, 1.0)
    assert (result.exit_status, result.samples) == ("fail", 0)
    assert "choose a writable place" in result.reason
    assert state is ServoState.READY
    assert moved < 0.01
    with pytest.raises(SessionError, match="choose a writable place"):
        session.annotate("0001_sin_sin_kp16", Annotation(note="n"))
    fit = ["identify", str(session.path), "--models", "m1", "--trials", "12", "--validation", "none", "--no-polish"]
    assert main([*fit, "--quiet", "-o", str(tmp_path / "result")]) == 0
    assert (tmp_path / "result" / "m1.json").exists()
    disk.change("rw")
