"""Packages that several files of tests use: each process builds them once, and installs the wheel once."""

import json
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packages.installed import environment, link_packages

ROOT = Path(__file__).parents[2]


def hatch(folder, *words):
    """Run hatchling in a folder and return what it prints."""
    command = [sys.executable, "-m", "hatchling", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    """The source distribution, unpacked."""
    pytest.importorskip("hatchling", reason="builds packages: pip install 'servobench[test]'")
    pytest.importorskip("hatch_vcs", reason="builds packages: pip install 'servobench[test]'")
    folder = tmp_path_factory.mktemp("sdist")
    hatch(ROOT, "build", "-t", "sdist", "-d", folder)
    (archive,) = folder.iterdir()
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    archive.unlink()
    (unpacked,) = folder.iterdir()
    return unpacked


@pytest.fixture(scope="session")
def wheel(sdist, tmp_path_factory):
    """The wheel, built from the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    hatch(sdist, "build", "-t", "wheel", "-d", folder)
    (path,) = folder.glob("*.whl")
    return path


@dataclass(frozen=True)
class Site:
    """A virtual environment after `pip install WHEEL`, in which nothing can be written."""

    python: Path
    packages: Path


@pytest.fixture(scope="session")
def site(wheel, tmp_path_factory):
    """What the wheel asks for is linked from the tests' own environment, since a test needs no package index.

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
    packages = Path(folder)
    places = [packages, *packages.rglob("*")]
    link_packages(asked, packages)
    subprocess.run([*pip, "check"], check=True, stdout=subprocess.DEVNULL)
    for each in places:
        each.chmod(0o555 if each.is_dir() else 0o444)
    yield Site(python, packages)
    for each in places:
        each.chmod(0o755)


@pytest.fixture(scope="session")
def person(tmp_path_factory):
    """Environment variables of a user; what is compiled once stays for the other tests."""
    return environment(tmp_path_factory.mktemp("home"), MPLBACKEND="agg")
