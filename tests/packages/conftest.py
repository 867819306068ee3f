"""Packages that several files of tests install: each process builds them once."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def hatch(folder, *words):
    """Run hatchling in a folder and return what it prints."""
    command = [sys.executable, "-m", "hatchling", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    """The source distribution, unpacked."""
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
