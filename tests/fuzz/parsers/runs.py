"""Finished runs, exported sessions, and parts of runs that a crash left behind.

Files of HDF5 come in two ways: as bytes, and as what a recipe makes of a sound file. None has the line of SHA-256 that
would refuse it at once: whoever changes a file can leave it out. A part comes as bytes, and as any header with the
right checksum.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np

from sessions import Session
from sessions.importers.sources import Source, read_source
from sessions.run_file import sandbox
from sessions.source_contents import contents_of
from sessions.store import Session as Store
from sessions.writing.part import read_part
from sessions.writing.recovery import recover
from tests.forked_trial import tried
from tests.fuzz.hdf5 import cooked
from tests.fuzz.mutation import changed_bytes
from tests.fuzz.parser import SEEDS, Parser, from_file, scratch

NAME = "0001_sin_sin_kp400"
MOST_BYTES = 65_536
LONGEST_TRIAL = 5
"""[s]"""


def _run(path: Path) -> None:
    """In a session's folder it is listed and loaded; from elsewhere it is imported."""
    session = _session_around(path, f"{NAME}.h5")
    assert len(session.runs()) + len(session.problems()) == 1
    read_source(Source(path, named=True))


def _part(path: Path) -> None:
    """A part is recovered or set aside, and never lost; read by itself it is refused or understood."""
    session = _session_around(path, f"{NAME}.h5.part")
    runs = session.path / "runs"
    kept = [file for file in runs.rglob("*") if file.suffix in (".h5", ".part") or ".part." in file.name]
    assert len(kept) == 1, f"{[file.name for file in runs.rglob('*')]}"
    session.load_all()
    facts, rows = read_part(path)
    assert facts.id
    assert np.all(np.isfinite(rows["skipped_cycles"]))


def _exported(path: Path) -> None:
    session = Session.open(path)
    session.runs()
    session.problems()
    contents_of(session)


def _session_around(path: Path, name: str) -> Store:
    folder = scratch() / "session"
    shutil.rmtree(folder, ignore_errors=True)
    session = Session.create(folder)
    shutil.copy(path, folder / "runs" / name)
    session.recovery = recover(folder / "runs")
    return session


def _cooked(seed: str, read: Callable[[bytes], object]) -> Callable[[bytes], object]:
    @cache
    def base() -> bytes:
        return (SEEDS / seed).read_bytes()

    def parse(recipe: bytes) -> object:
        # What HDF5 itself wrote does not end a process: no need for the half second of a trial.
        with mock.patch("sessions.run_file.sandbox._started", return_value=0):
            return read(cooked(base(), recipe))

    return parse


def _as_bytes(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
    def parse(data: bytes) -> object:
        sandbox._tried.cache_clear()
        with mock.patch("sessions.run_file.sandbox._started", lambda path, _limit: tried(path, LONGEST_TRIAL)):
            return read(data)

    return parse


def _with_header(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
    def parse(header: bytes) -> object:
        rest = (SEEDS / "part_bytes" / "sound").read_bytes().partition(b"\n")[2]
        return read(b"%08x %s\n" % (zlib.crc32(header), header) + rest)

    return parse


def _changed_recipe(data: bytes, rng: Random) -> bytes:
    return changed_bytes(data, rng) if rng.randrange(4) else rng.randbytes(rng.choice((4, 8, 16, 32)))


_READ_PART = from_file("left.h5.part", _part)
_READ_HDF5 = {
    "run": from_file("run.h5", _run),
    "exported": from_file("session.h5", _exported),
}
PARSERS = (
    Parser(name="part_bytes", parse=_READ_PART, longest=MOST_BYTES),
    Parser(name="part_header", parse=_with_header(_READ_PART)),
    *(Parser(name=f"{kind}_bytes", parse=_as_bytes(read), longest=MOST_BYTES) for kind, read in _READ_HDF5.items()),
    *(
        Parser(name=f"{kind}_edited", parse=_cooked(f"{kind}_bytes/sound", read), mutate=_changed_recipe, longest=256)
        for kind, read in _READ_HDF5.items()
    ),
)
