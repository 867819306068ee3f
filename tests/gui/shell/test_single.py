"""Where the socket of the one window lies: nobody else can put one there, or see which session it is told."""

import gc
import logging
import os
import tempfile
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QDir, QLockFile

from bench_gui.app import run_window
from bench_gui.shell import single
from core.base import sealed
from core.base.errors import ServoBenchError
from sessions.folders import home

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users on this system")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """In a folder with a short name, as a socket's path has 107 bytes at most."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setattr(single.tempfile, "tempdir", short)
        yield Path(short) / f"servobench-{os.getuid()}"
        monkeypatch.undo()


def test_it_is_the_users_runtime_folder(tmp_path, monkeypatch):
    runtime = tmp_path / "runtime"
    runtime.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert Path(single._name()).parent == runtime


def test_without_one_it_is_a_folder_that_nobody_else_can_write(place):
    assert Path(single._name()).parent == place
    assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("squat", ["open to all", "link", "file"])
def test_a_squatted_folder_is_left_alone(place, tmp_path, squat):
    if squat == "open to all":
        place.mkdir()
        place.chmod(0o777)
    elif squat == "link":
        (tmp_path / "elsewhere").mkdir(0o700)
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.write_text("")
    assert Path(single._name()).parent == home().absolute()


@pytest.fixture
def bells(qapp):
    made = []
    yield made
    for bell in made:
        bell.close()


def turn_is_free():
    turn = QLockFile(f"{Path(QDir.tempPath()) / single._name()}.lock")
    free = turn.tryLock(0)
    turn.unlock()
    return free


def test_a_start_leaves_nothing_locked_even_when_it_fails(bells):
    bells.append(single.take_bell(None))
    assert isinstance(bells[0], single.Doorbell)
    assert turn_is_free()
    with pytest.raises(AttributeError):
        single.take_bell("not a path")  # type: ignore[arg-type]
    assert turn_is_free()


def test_a_window_whose_servo_is_unknown_leaves_the_place_to_the_next_start(bells):
    others = set(threading.enumerate())
    with pytest.raises(ServoBenchError, match="nothing"):
        run_window(None, "nothing:at all")
    assert gc.isenabled()
    assert not single.hand_over(None), "no bell is left"
    assert (set(threading.enumerate()) <= others, logging_handlers()) == (True, [])
    bells.append(single.take_bell(None))
    assert isinstance(bells[0], single.Doorbell)


def logging_handlers():
    return [handler for handler in sealed.LOG.handlers if handler.level == logging.WARNING]
