"""The package without extras: a library for notebooks and scripts, and the headless commands. No Qt, no bus library."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.installed import LONG, environment, link_packages

pytest.importorskip("hatchling", reason="builds packages: pip install 'servobench[test]'")
pytest.importorskip("hatch_vcs", reason="builds packages: pip install 'servobench[test]'")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "docs" / "notebooks"
EXTRAS = ("PySide6", "pyqtgraph", "rapidfuzz", "dynamixel_sdk", "serial", "pysoem", "mujoco", "dask", "pyarrow")
ROOMS = ("bench_gui", "core", "drivers", "resources", "sessions")


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A virtual environment after `pip install WHEEL`: its Python.

    What the wheel asks for is linked from the tests' own environment, since a test needs no package index.
    `pip check` confirms that nothing is missing.
    """
    place = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-compile", wheel], check=True)
    program = "import json, sysconfig as s, importlib.metadata as m; p = s.get_path('purelib'); "
    program += "print(json.dumps([p, m.requires('servobench')]))"
    folder, asked = json.loads(subprocess.run([python, "-c", program], capture_output=True, check=True).stdout)
    link_packages(asked, Path(folder))
    subprocess.run([*pip, "check"], check=True, stdout=subprocess.DEVNULL)
    return python


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Environment variables of a user; what is compiled once stays for the other tests."""
    return environment(tmp_path_factory.mktemp("home"), MPLBACKEND="agg")


@pytest.fixture(scope="module")
def mujoco(tmp_path_factory):
    """A folder with what the extra `mujoco` adds."""
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install 'servobench[mujoco]'")
    folder = tmp_path_factory.mktemp("mujoco")
    link_packages(["mujoco"], folder)
    return folder


def called(python, words, variables, folder):
    """A finished program."""
    command = [python, *map(str, words)]
    return subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, timeout=LONG)


@pytest.fixture
def bench(site, home, tmp_path):
    """Runs the installed program `bench` in an empty folder."""
    return lambda *words: called(site.parent / "bench", words, home, tmp_path)


def test_no_extra_is_installed(site, home, tmp_path):
    program = f"from importlib.util import find_spec; print([name for name in {EXTRAS} if find_spec(name)])"
    assert called(site, ["-c", program], home, tmp_path).stdout.strip() == "[]"


def test_the_window_names_what_to_install(bench):
    done = bench()
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "pip install 'servobench[gui]'" in line


def test_every_command_shows_its_help(site, home, tmp_path):
    program = """
import contextlib, io
from bench_gui.cli import COMMANDS, main
for name in COMMANDS:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as text:
        main([name, "--help"])
    print(name, text.getvalue().startswith(f"usage: bench {name}"))
"""
    done = called(site, ["-c", program], home, tmp_path)
    assert done.returncode == 0, done.stderr
    shown = dict(line.split() for line in done.stdout.splitlines())
    assert len(shown) > 20
    assert set(shown.values()) == {"True"}


def test_commands_without_hardware_work(bench, tmp_path):
    found = bench("evaluate", "example", "--model", "xl330:m6", "--json")
    assert len(json.loads(found.stdout)["runs"]) == 8
    assert bench("export", "mx106:m6", "--to", "urdf", "-o", "out").returncode == 0
    assert list(tmp_path.glob("out/*.urdf"))
    drawn = bench("drive-backdrive", "--model", "mx106:m6", "-o", "diagram.svg")
    assert drawn.returncode == 0, drawn.stderr
    assert "<svg" in (tmp_path / "diagram.svg").read_text("utf-8")
    recorded = bench("record", "--servo", "simulated:mx106", "--fast", "--trajectory", "sin_sin", "-o", "lab")
    assert recorded.returncode == 0, recorded.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["scan", "dynamixel"], "dynamixel"),
        (["record", "--servo", "dynamixel:/dev/ttyUSB0:1", "-o", "lab"], "dynamixel"),
        (["scan", "ethercat", "interface=lo"], "ethercat"),
    ],
)
def test_commands_of_a_bus_name_what_to_install(bench, words, extra):
    done = bench(*words)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"pip install 'servobench[{extra}]'")


def test_the_doctor_reports_absent_extras_as_notes(bench):
    done = bench("doctor", "--json")
    assert done.returncode == 0, done.stdout
    found = {finding["subject"]: finding for finding in json.loads(done.stdout)}
    for package, extra in {
        "PySide6-Essentials": "gui",
        "pyqtgraph": "gui",
        "dynamixel-sdk": "dynamixel",
        "pyserial": "dynamixel",
        "pysoem": "ethercat",
        "mujoco": "mujoco",
    }.items():
        assert found[package]["status"] == "note"
        assert f"'servobench[{extra}]'" in found[package]["remedy"]


def test_a_first_program_runs_in_an_empty_folder(site, home, tmp_path):
    program = "import servobench as sb; s = sb.example(); print(sb.simulate('xl330:m6', s.load(s.runs()[0].id)).plot())"
    done = called(site, ["-c", program], home, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Axes" in done.stdout


@pytest.mark.parametrize("notebook", ["recordings_to_mujoco", "which_model"])
def test_a_notebook_runs_beside_packages_of_the_same_names(notebook, site, home, tmp_path, request):
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("MINE = True\n")
    path = {"PYTHONPATH": str(request.getfixturevalue("mujoco"))} if "mujoco" in notebook else {}
    program = Path(__file__).with_name("notebook.py")
    done = called(site, [program, NOTEBOOKS / f"{notebook}.ipynb"], home | path, tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "mrad" in done.stdout


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_stays_small_and_soon_shows_an_overlay(path):
    code = [
        "".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    before = "\n".join(code).partition(".plot(")[0]
    assert len([line for line in before.splitlines() if line.strip()]) <= 10
    assert path.stat().st_size < 300_000
