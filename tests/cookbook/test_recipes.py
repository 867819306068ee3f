"""Every recipe of the help, followed to the letter, does what it says it does."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

from sessions.folders import HOME_VARIABLE
from tests.cookbook.recipe import blocks, follow, follow_in_a_shell, hold_to

ROOT = Path(__file__).resolve().parents[2]
HELP = ROOT / "resources" / "help"
BOOK = HELP / "cookbook"
STAND_INS = Path(__file__).parent / "stand_ins"
ROOMS = ("core", "drivers", "sessions", "bench_gui")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder and home of one's own; what a page imports from it is forgotten at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / ".home"))
    monkeypatch.setattr(sys, "path", [str(STAND_INS), *sys.path])
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


@pytest.mark.parametrize(
    "name",
    [
        "cookbook/bam",
        "own_recordings",
        "other_commands",
        "robot_logs",
        pytest.param("lerobot", marks=needs("pyarrow")),
        pytest.param("ros", marks=needs("rosbags")),
        pytest.param("robot", marks=needs("mujoco")),
        "python",
        pytest.param(
            "cookbook/mujoco", marks=[needs("mujoco"), pytest.mark.exhaustive("an engine; tests of exports run it")]
        ),
        pytest.param("cookbook/studies", marks=pytest.mark.exhaustive("searches kept in databases")),
        pytest.param("cookbook/isaaclab", marks=[needs("torch"), pytest.mark.exhaustive("imports torch")]),
    ],
)
def test_recipe(name, folder):
    follow(HELP / f"{name}.md")


def environment(folder, source):
    """`bench` is the program in `source`, and Python finds modules there."""
    command = folder / ".bin" / "bench"
    command.parent.mkdir()
    start = "import sys; from bench_gui.cli import main; sys.exit(main())"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{start}' \"$@\"\n")
    command.chmod(0o755)
    return {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(source),
        HOME_VARIABLE: str(folder / ".home"),
    }


@pytest.mark.exhaustive("a servo in another terminal; the same commands are in tests/cli")
@pytest.mark.parametrize("name", ["dynamixel", "feetech", pytest.param("erob", marks=pytest.mark.own_network)])
def test_recipe_of_a_bus(name, tmp_path):
    follow_in_a_shell(BOOK / f"{name}.md", tmp_path, environment(tmp_path, ROOT))


@pytest.mark.exhaustive("a copy of the program, whose processes load all of it again")
def test_driver_recipe(tmp_path):
    """In a copy of the program, which is what a checkout is, with what is compiled already."""
    # Processes beside this one write under such names, and rename what is complete.
    unfinished = shutil.ignore_patterns("*.pyc.*", "*.tmp.*", "img", "examples")
    for room in (*ROOMS, "resources"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=unfinished)
    follow_in_a_shell(BOOK / "driver.md", tmp_path, environment(tmp_path, tmp_path))
    assert len((tmp_path / "drivers" / "toy" / "servo.py").read_text("utf-8").splitlines()) <= 80


def test_every_recipe_is_followed():
    followed = {"dynamixel", "feetech", "bam", "studies", "mujoco", "isaaclab", "erob", "driver"}
    assert {page.stem for page in BOOK.glob("*.md")} == followed
    for page in BOOK.glob("*.md"):
        assert {block.language for block in blocks(page)} <= {"sh", "python", "toml", "text"}, page.name


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("M1  2.61 mrad\n", "M1 2.0 mrad", True),
        ("M1  2.61 mrad\n", "M1 1.0 mrad", False),
        ("M1  2.61 mrad\n", "M2 2.6 mrad", False),
        ("x = -0.19 rad", "x = 0.19 rad", False),
        ("offset 0.001", "offset 0.01", True),
        ("a\nb\n", "b\na", False),
        ("from /dev/pts/3 it is", "from /dev/… it is", True),
    ],
)
def test_what_a_page_shows_is_held_to_loosely(printed, shown, same):
    if same:
        hold_to(printed, shown)
    else:
        with pytest.raises(AssertionError):
            hold_to(printed, shown)
