"""Wheel and source distribution: complete, nothing more, at work where only what the wheel asks for is installed."""

import email
import json
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.packages.conftest import hatch
from tests.packages.installed import environment, link_packages, output, wait_until, window

ROOT = Path(__file__).parents[2]
ROOMS = ("bench_gui", "core", "drivers", "resources", "sessions")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKBENCH = ("gui", "dynamixel", "ethercat")
"""Extras of the window and the buses."""
SHARED = {
    "share/applications/servobench.desktop": "resources/packaging/servobench.desktop",
    "share/icons/hicolor/scalable/apps/servobench.svg": "resources/icons/servobench.svg",
}
BRIEFLY_DEMO = (
    "import bench_gui.headless.demo as demo; asked = demo.IdentificationRequest; "
    "demo.IdentificationRequest = lambda **words: asked(**{**words, 'trials': 100, 'models': ('m1', 'm6')})\n"
    "import sys; from bench_gui.cli import main; sys.exit(main())"
)
"""How well the demo searches, and for how many models, is no matter of packages."""


def sources():
    """Every file of the rooms that belongs to the product; an index is made when a session is opened."""
    files = (path for room in ROOMS for path in (ROOT / room).rglob("*") if path.is_file())
    names = (path.relative_to(ROOT) for path in (ROOT / "servobench.py", *files))
    return {
        name.as_posix()
        for name in names
        if "__pycache__" not in name.parts and name.suffix != ".part" and name.name != "index.json"
    }


def same(requirements):
    """However they are written."""
    return {str(Requirement(text)).lower() for text in requirements}


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Packages of the wheel's window and buses, and no other."""
    folder = tmp_path_factory.mktemp("others")
    extras = PROJECT["optional-dependencies"]
    link_packages([text for name in WORKBENCH for text in extras[name]], folder)
    return folder


def test_the_wheel_holds_the_rooms_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = {name for name in names if ".dist-info/" in name}
    shared = {name for name in names if ".data/" in name}
    assert names - about - shared == {name for name in sources() if not name.startswith("resources/packaging/")}
    assert {name.partition(".data/data/")[2] for name in shared} == set(SHARED)
    assert {name.partition(".dist-info/")[2] for name in about} >= {"licenses/LICENSE", "licenses/NOTICE"}


def test_the_source_distribution_holds_what_builds_the_wheel(sdist):
    names = {path.relative_to(sdist).as_posix() for path in sdist.rglob("*") if path.is_file()}
    rest = {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "NOTICE", "PKG-INFO", ".gitignore"}
    assert names - rest == sources()
    assert rest - names <= {".gitignore"}


def test_the_wheel_says_what_the_project_says(wheel, sdist):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(metadata))
        entries = archive.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    asked = [text for text in about.get_all("Requires-Dist", ()) if "extra ==" not in text]
    assert same(asked) == same(PROJECT["dependencies"])
    assert f"servobench-{about['Version']}" == sdist.name
    for program in ("bench", "servobench"):
        assert f"{program} = bench_gui.cli:main" in entries


@pytest.mark.skipif(not shutil.which("git"), reason="asks git")
def test_a_version_is_a_tag(tmp_path):
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copyfile(ROOT / name, tmp_path / name)

    def git(*words):
        author = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")
        subprocess.run(["git", *author, *words], cwd=tmp_path, check=True, capture_output=True)

    assert hatch(tmp_path, "version") == "0.1.0.dev0"  # no git
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert hatch(tmp_path, "version") == "0.1.0.dev1"  # no tag
    git("tag", "v1.2.3")
    assert hatch(tmp_path, "version") == "1.2.3"
    (tmp_path / "README.md").write_text("changed")
    assert hatch(tmp_path, "version") == "1.2.4.dev0+dirty"  # changed since, and no word of the day


@pytest.mark.exhaustive("an installed wheel")
def test_the_demo_passes_with_what_the_wheel_asks_for_where_nothing_can_be_written(site, person, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in site.packages.rglob("*")}
    demo = ["demo", "--fast", "-o", tmp_path / "demo", "--json"]
    outcome = json.loads(output([site.python, "-c", BRIEFLY_DEMO, *demo], person))
    errors = {row["model"]: row["truth_mrad"] for row in outcome["models"]}
    assert min(errors.values()) < 0.6 * errors["m1"]
    page = Path(outcome["report"]).read_text("utf-8")
    assert page.count("<svg") >= 8
    for name in ("www.w3.org", "purl.org", "creativecommons.org"):
        page = page.replace(f"http://{name}", "")
    assert "http://" not in page
    assert "https://" not in page
    found = doctor(site, person)
    assert found["servobench"]["text"].endswith(f"wheel in {site.packages}")
    assert found["compiled code"]["text"].startswith("kept in ~/")
    assert list(Path(person["HOME"]).rglob("*.nbi"))
    assert {path: path.stat().st_mtime_ns for path in site.packages.rglob("*")} == before


def doctor(site, person):
    return {finding["subject"]: finding for finding in json.loads(output([bench(site), "doctor", "--json"], person))}


def bench(site):
    """The installed program."""
    return site.python.parent / "bench"


@pytest.mark.exhaustive("an installed wheel")
def test_nothing_needs_a_folder_for_compiled_code(site, tmp_path):
    person = environment(tmp_path)
    for folder in (tmp_path / "ServoBench", tmp_path):
        folder.chmod(0o555)
    found = doctor(site, person)
    assert "NUMBA_CACHE_DIR" in found["simulation kernel"]["remedy"]
    assert "SERVOBENCH_HOME" in found["sessions and settings"]["remedy"]
    tmp_path.chmod(0o755)


@pytest.mark.exhaustive("an installed wheel")
def test_the_window_opens_on_an_example_of_ones_own(site, others, person, qapp, monkeypatch):
    variables = {**person, "PYTHONPATH": str(others)}
    with window([bench(site), "--example"], variables, monkeypatch) as program:
        copy = Path(person["HOME"]) / "ServoBench/example_xl330"
        wait_until(copy.exists, program)  # the window answers before it has made its copy
        assert copy.stat().st_mode & 0o200
        assert (copy / "runs").stat().st_mode & 0o200
