"""Temporary files of writers that died are swept at the next opening, those of living writers never."""

import os
import signal
import threading
from contextlib import suppress

import pytest

from bench_gui import settings
from bench_gui.connect.bench.presets import Presets
from core.base import atomic
from core.base.atomic import sweep, sweep_tree, temporary_file, write_atomically
from core.base.errors import ServoBenchError
from core.export import export_model
from core.fleet.store import FleetStore
from core.servo.catalogue import SERVOS_VARIABLE, own_folder, servos
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from core.studies.compliant.files import read_unit
from sessions import Session, export_single
from sessions.folders import HOME_VARIABLE, home
from sessions.results.identification import load_identification
from tests.sessions.writing.steps import heard

LEFT = ".result.json.0123abcd.tmp"


def leave(folder, name=LEFT):
    """Leave what a killed writer leaves."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"half")
    return folder / name


@pytest.fixture
def writer(tmp_path):
    """Another process that has written half of a file, and how to end it."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        with temporary_file(tmp_path / "file") as file:
            file.write(b"half")
            file.flush()
            os.write(theirs, b"!")
            signal.pause()
        os._exit(0)
    os.read(ours, 1)

    def kill():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    yield kill
    os.close(ours)
    os.close(theirs)


def test_what_a_living_process_writes_stays_and_what_a_killed_one_left_goes(tmp_path, writer):
    [name] = os.listdir(tmp_path)
    sweep(tmp_path)
    assert os.listdir(tmp_path) == [name]
    writer()
    sweep(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_writer_in_another_thread_is_left_alone(tmp_path):
    with temporary_file(tmp_path / "file") as file:
        others = [threading.Thread(target=sweep, args=(tmp_path,)) for _ in range(3)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        assert os.path.exists(file.name)
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_swept_before_its_writer_holds_it_is_begun_again(tmp_path):
    swept = []

    def interfere(event, arguments):
        if event == "fcntl.flock" and not swept:
            swept.append(os.listdir(tmp_path))
            sweep(tmp_path)

    with heard(interfere):
        write_atomically(tmp_path / "file", b"whole")
    assert len(swept) == 1
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_writers_and_sweepers_at_once_lose_nothing(tmp_path):
    """Six processes write and sweep the same folder."""

    def work(number):
        for step in range(40):
            write_atomically(tmp_path / f"{number}", bytes([step]) * 100)
            sweep(tmp_path)

    children = []
    for number in range(6):
        child = os.fork()
        if not child:
            try:
                work(number)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    assert sorted(os.listdir(tmp_path)) == [f"{number}" for number in range(6)]


@pytest.mark.parametrize(
    "name", ["x.tmp", ".x.tmp", ".x.0123abc.tmp", ".x.0123ABCD.tmp", ".x.0123abcd.tmp.gz", "a.0123abcd.tmp"]
)
def test_files_of_other_programs_are_left_alone(tmp_path, name):
    leave(tmp_path, name)
    (tmp_path / ".folder.0123abcd.tmp").mkdir()
    (tmp_path / ".link.0123abcd.tmp").symlink_to(tmp_path / name)
    os.mkfifo(tmp_path / ".pipe.0123abcd.tmp")
    before = set(os.listdir(tmp_path)) - {".pipe.0123abcd.tmp"}
    sweep(tmp_path)
    assert set(os.listdir(tmp_path)) >= before


def test_a_disk_without_locks_is_not_swept_but_written_to(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no locks available")

    left = leave(tmp_path)
    monkeypatch.setattr(atomic.fcntl, "flock", refuse)
    write_atomically(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert left.exists()


def test_folders_below_are_swept_and_what_is_no_folder_is_not_noticed(tmp_path):
    below = [leave(tmp_path), leave(tmp_path / "a" / "b")]
    sweep_tree(tmp_path)
    assert not any(left.exists() for left in below)
    sweep(tmp_path / "nowhere", tmp_path / "a" / "b")


def opened_session(place):
    Session.create(place)
    yield leave(place)
    yield leave(place / "results" / "2026-11-28T10-00-00" / "studies")
    yield leave(place / "runs", ".0007_sin_sin_kp8.h5.part.0123abcd.tmp")
    Session.open(place)


def exported(place):
    session = Session.create(place / "lab")
    yield leave(place / "out", ".all.h5.0123abcd.tmp")
    export_single(session, place / "out" / "all.h5")
    yield leave(place / "out", ".0001.csv.0123abcd.tmp")
    write_atomically(place / "out" / "table.csv", b"")


def exported_model(place):
    yield leave(place / "out", ".mx106.xml.0123abcd.tmp")
    export_model(load_model("mx106", "m1"), "json", place / "out")


def read(reader, name, text="{}"):
    def opening(place):
        place.mkdir(exist_ok=True)
        (place / name).write_text(text)
        yield leave(place)
        reader(place / name)

    return opening


def saved_benches(place):
    yield leave(home())
    Presets(None, None).load()


def own_servo(place):
    yield leave(own_folder(), ".hexa.toml.0123abcd.tmp")
    servos()


OPENINGS = {
    "session": opened_session,
    "exports": exported,
    "export of a model": exported_model,
    "result": read(lambda file: load_identification(file.parent), "result.json"),
    "model": read(ServoModel.read, "model.json"),
    "compliant actuator": read(read_unit, "actuator.json"),
    "fleet": read(lambda file: FleetStore(file.parent).read_plan(), "plan.json"),
    "settings": read(settings.load, "settings.json"),
    "saved benches": saved_benches,
    "own servo": own_servo,
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_every_opening_sweeps_its_folder(tmp_path, monkeypatch, opening):
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "servos"))
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    left = []
    # Some of what is opened here is no result; its folder is swept all the same.
    with suppress(ServoBenchError):
        left.extend(OPENINGS[opening](tmp_path / "place"))
    assert left or opening not in ("session", "exports", "own servo")
    assert list(tmp_path.rglob("*.tmp")) == []
