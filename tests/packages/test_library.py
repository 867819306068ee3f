"""The program without extras: a library for notebooks and scripts, and the headless commands. No Qt, no bus library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.misc.appdirs import user_cache_dir

from bench_gui.cli import COMMANDS
from tests.packages.installed import LONG, environment, link_packages, output

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "docs" / "notebooks"
ROOMS = ("bench_gui", "core", "drivers", "resources", "sessions")
EXTRAS = ("PySide6", "pyqtgraph", "rapidfuzz", "dynamixel_sdk", "serial", "pysoem", "mujoco", "dask", "pyarrow")
ASK = """
import contextlib, io, json, sys
from bench_gui.cli import main

def answer(words):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()

answers = [answer(words) for words in json.loads(sys.argv[1])]
from importlib.util import find_spec
found = [name for name in sys.argv[2:] if find_spec(name)]
print(json.dumps([answers, found]))
"""
HELP = [(name, "--help") for name in COMMANDS]
WORKING = [
    ("evaluate", "example", "--model", "xl330:m6", "--json"),
    ("export", "mx106:m6", "--to", "urdf", "-o", "out"),
    ("drive-backdrive", "--model", "mx106:m6", "-o", "diagram.svg"),
    ("record", "--servo", "simulated:mx106", "--fast", "--trajectory", "sin_sin", "--duration", "1", "-o", "lab"),
]
LACKING = {
    (): "'servobench[gui]'",
    ("scan", "dynamixel"): "'servobench[dynamixel]'",
    ("record", "--servo", "dynamixel:/dev/ttyUSB0:1", "-o", "elsewhere"): "'servobench[dynamixel]'",
    ("scan", "ethercat", "interface=lo"): "'servobench[ethercat]'",
    ("arm", "validate", "-o", "out"): "'servobench[mujoco]'",
}
"""Commands to the extra they need."""
UNCHECKED = ("export", "mx106:m6", "--to", "mujoco-hook", "--check", "-o", "hook")
DOCTOR = ("doctor", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def answers(folder, tmp_path_factory):
    """Exit code, output and errors of each command, in a process that finds only what the package requires."""
    required = tmp_path_factory.mktemp("required")
    link_packages(["servobench"], required)
    compiled = os.environ.get("NUMBA_CACHE_DIR") or user_cache_dir("servobench", appauthor=False)
    variables = environment(tmp_path_factory.mktemp("home"), PYTHONPATH=f"{ROOT}:{required}", NUMBA_CACHE_DIR=compiled)
    asked = [*HELP, *WORKING, *LACKING, UNCHECKED, DOCTOR]
    # Without `site` nothing of this environment is found.
    command = [sys.executable, "-S", "-P", "-c", ASK, json.dumps(asked), *EXTRAS]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stderr
    made, found = json.loads(done.stdout)
    assert found == []
    return dict(zip(asked, made, strict=True))


def test_every_command_shows_its_help(answers):
    assert [words[0] for words in HELP if not answers[words][1].startswith(f"usage: bench {words[0]}")] == []
    assert {answers[words][0] for words in HELP} == {0}


def test_commands_without_hardware_work(answers, folder):
    for words in WORKING:
        assert answers[words][0] == 0, answers[words]
    assert len(json.loads(answers[WORKING[0]][1])["runs"]) == 8
    assert list(folder.glob("out/*.urdf"))
    assert "<svg" in (folder / "diagram.svg").read_text("utf-8")
    assert list(folder.glob("lab/runs/*.h5"))


@pytest.mark.parametrize("words", LACKING, ids=" ".join)
def test_what_an_extra_is_needed_for_names_it_in_one_line(answers, words):
    code, out, err = answers[words]
    assert (code, out) == (1, "")
    (line,) = err.splitlines()
    assert f"pip install {LACKING[words]}" in line


def test_an_export_is_made_without_its_check(answers):
    code, out, _ = answers[UNCHECKED]
    assert code == 0
    assert "not checked" in out
    assert "'servobench[mujoco]'" in out


def test_the_doctor_reports_absent_extras_as_notes(answers):
    code, out, _ = answers[DOCTOR]
    assert code == 0, out
    found = {finding["subject"]: finding for finding in json.loads(out)}
    for package, extra in {
        "PySide6-Essentials": "gui",
        "pyqtgraph": "gui",
        "dynamixel-sdk": "dynamixel",
        "pyserial": "dynamixel",
        "pysoem": "ethercat",
        "mujoco": "mujoco",
        "distributed": "cluster",
        "pyarrow": "parquet",
    }.items():
        assert found[package]["status"] == "note"
        assert f"'servobench[{extra}]'" in found[package]["remedy"]


@pytest.mark.exhaustive("an installed wheel")
@pytest.mark.parametrize("notebook", ["recordings_to_mujoco", "which_model"])
def test_a_notebook_runs_beside_packages_of_the_same_names(notebook, site, person, tmp_path):
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("MINE = True\n")
    if "mujoco" in notebook:
        pytest.importorskip("mujoco", reason="needs MuJoCo: pip install 'servobench[mujoco]'")
        (tmp_path / "extra").mkdir()
        link_packages(["mujoco"], tmp_path / "extra")
    variables = {**person, "PYTHONPATH": str(tmp_path / "extra")}
    program = Path(__file__).with_name("notebook.py")
    assert "mrad" in output([site.python, program, NOTEBOOKS / f"{notebook}.ipynb"], variables, tmp_path)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_stays_small_and_soon_shows_an_overlay(path):
    code = [
        "".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    before = "\n".join(code).partition(".plot(")[0]
    assert len([line for line in before.splitlines() if line.strip()]) <= 10
    assert path.stat().st_size < 300_000
