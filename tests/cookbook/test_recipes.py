"""Every recipe of the help, followed to the letter, does what it says it does."""

import importlib.util
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from tests.cookbook.recipe import blocks, follow, hold_to
from tests.cookbook.warm_bench import warm_bench
from tests.drivers.own_network import way

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "resources" / "help" / "cookbook"
STAND_INS = Path(__file__).parent / "stand_ins"
ROOMS = ("core", "drivers", "sessions", "bench_gui")


def environment(folder, *places):
    """Where `bench` is the program in the first of these places, and Python finds modules in all of them."""
    command = folder / ".bin" / "bench"
    command.parent.mkdir()
    start = "import sys; from bench_gui.cli import main; sys.exit(main())"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{start}' \"$@\"\n")
    command.chmod(command.stat().st_mode | stat.S_IEXEC)
    return {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, places)),
        "SERVOBENCH_HOME": str(folder / ".home"),
    }


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """The folder of a `bench` that starts fast, where allowed in a network of its own; the driver's recipe starts it
    as ever."""
    folder = tmp_path_factory.mktemp("warm")
    with warm_bench(folder, way()):
        yield folder


def quickly(warm, folder, *places):
    """The environment with the `bench` that starts fast."""
    usual = environment(folder, *places)
    return {**usual, "PATH": f"{warm}{os.pathsep}{usual['PATH']}"}


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("dynamixel", (ROOT,)),
        ("bam", (ROOT,)),
        ("studies", (ROOT,)),
        pytest.param("mujoco", (ROOT,), marks=needs("mujoco")),
        pytest.param("isaaclab", (ROOT, STAND_INS), marks=needs("torch")),
    ],
)
def test_recipe(name, places, warm, tmp_path):
    follow(BOOK / f"{name}.md", tmp_path, quickly(warm, tmp_path, *places))


@pytest.mark.parametrize("name", ["own_recordings", "python"])
def test_page_with_examples(name, warm, tmp_path):
    follow(BOOK.parent / f"{name}.md", tmp_path, quickly(warm, tmp_path, ROOT))


@pytest.mark.skipif(not way(), reason="no network of its own: the kernel refuses `unshare -n` and `-Urn`")
def test_erob_recipe(warm, tmp_path):
    follow(BOOK / "erob.md", tmp_path, quickly(warm, tmp_path, ROOT))


def test_driver_recipe(tmp_path):
    """In a copy of the program, which is what a checkout is, with what is compiled already."""
    # Processes beside this one write under such names, and rename what is complete.
    unfinished = shutil.ignore_patterns("*.pyc.*", "*.tmp.*", "img", "examples")
    for room in (*ROOMS, "resources"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=unfinished)
    follow(BOOK / "driver.md", tmp_path, environment(tmp_path, tmp_path))
    assert len((tmp_path / "drivers" / "toy" / "servo.py").read_text("utf-8").splitlines()) <= 80


def test_every_recipe_is_followed():
    followed = {"dynamixel", "bam", "studies", "mujoco", "isaaclab", "erob", "driver"}
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
