"""Where the socket of the one window lies: nobody else can put one there, or see which session it is told."""

import os
from pathlib import Path

import pytest

from bench_gui.headless.places import home
from bench_gui.shell import single

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users on this system")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(single.tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"servobench-{os.getuid()}"


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
