"""What fixtures compute once for all processes and runs of tests: fits and recordings, kept in the user's cache."""

import fcntl
import functools
import inspect
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "servobench" / "tests"
MOST = 8
"""Versions of the program whose results stay."""


@functools.cache
def version_of_sources() -> str:
    """Checksum of the program, its data and what tests share: what is kept of another version is not found."""
    files = {path for room in ("core", "drivers", "sessions", "resources") for path in (ROOT / room).rglob("*")}
    files |= {path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")}
    told = (path for path in sorted(files) if path.is_file() and "__pycache__" not in path.parts)
    value = 0
    for path in told:
        value = zlib.crc32(path.read_bytes(), zlib.crc32(str(path.relative_to(ROOT)).encode(), value))
    return f"{value:08x}"


def kept(make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` filled, for this version of the program and of the file `make` is in.

    It belongs to all tests: one that changes it takes a copy. If several processes need it at once, one makes it.
    """
    source = Path(inspect.getsourcefile(make) or "").read_bytes()
    version = CACHE / version_of_sources()
    folder = version / f"{make.__module__}.{make.__qualname__}-{zlib.crc32(source):08x}"
    version.mkdir(parents=True, exist_ok=True)
    os.utime(version)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _forget_old()
            unfinished = folder.with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder


def _forget_old() -> None:
    for version in sorted(CACHE.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST]:
        shutil.rmtree(version, ignore_errors=True)
