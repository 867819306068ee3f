"""Discovery of what to import: from paths to sources, and from sources to recordings, by the ending of the file.

A new format is one reader in READERS. A reader gets a file's content, already bounded, and returns recordings. It
raises NotARecordingError for a file of another kind (skipped in a folder, refused when named) and InputError for an
invalid one. A table (`sessions.importers.tables`) that no reader knows is read by the columns that the user names.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from core.base.errors import InputError
from core.motion.recording import Recording
from core.servo.catalogue import servo_provenance
from sessions.documents import unblocked
from sessions.errors import cause, shown
from sessions.importers.bags import ENDINGS as BAGS
from sessions.importers.bags import METADATA, BagTable
from sessions.importers.bam_json import UnclearServoError, read_bam
from sessions.importers.datasets import INFO, open_dataset
from sessions.importers.kinds import NotARecordingError, RunList
from sessions.importers.own_csv import read_csv
from sessions.importers.sage import STATES, open_sage
from sessions.importers.table_runs import TableImport, read_runs
from sessions.importers.tables import OPENERS, Table, open_table
from sessions.opening import SESSION_NAME
from sessions.run_file.schema import RUN_FORMAT, opened, read_recording, text_attribute
from sessions.source_contents import Contents, contents_of
from sessions.store import Session

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read, after decompression."""

READERS: dict[str, Callable[[bytes, str, str], Recording | RunList]] = {".json": read_bam, ".csv": read_csv}
"""Ending (also followed by .gz) to the reader of (content, file name, servo that the user names)."""

ENDINGS = (*dict.fromkeys((*READERS, *OPENERS)),)
"""Endings of files that are read whole; each may be followed by .gz."""
FOLDERS: dict[Path, Callable[[Path], Table]] = {INFO: open_dataset, Path(METADATA): BagTable, STATES: open_sage}
"""File that marks a folder as one source, and what opens it."""

HDF5_ENDING = ".h5"
NO_TABLES = TableImport()


@dataclass(frozen=True)
class Source:
    """One file, exported session or session folder to import."""

    path: Path
    named: bool
    """True if the user or a list named it; False if it was found in a folder."""


def find_sources(paths: list[Path], target: Path) -> list[Source]:
    """Return the sources in files and folders; folders are walked in sorted order.

    Args:
        paths: Files and folders.
        target: The session to import into, which cannot be a source.

    Raises:
        InputError: for a path that does not exist.
    """
    sources: list[Source] = []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            raise InputError(f"{shown(path)}: cannot be imported ({cause(error)})") from None
        if path.resolve() == target.resolve():
            raise InputError(f"{shown(path)}: a session cannot be imported into itself")
        if stat.S_ISDIR(mode) and not _is_whole(path):
            sources += (Source(found, named=False) for found in _walk(path, target.resolve()))
        else:
            sources.append(Source(path, named=True))
    return sources


def read_source(source: Source, tables: TableImport = NO_TABLES) -> Contents | NotARecordingError:
    """Read a source, or return the reason to skip it.

    Raises:
        ServoBenchError: if the source is invalid.
    """
    path = source.path
    try:
        if _is_session(path):
            return contents_of(Session.open(path))
        if path.suffix == HDF5_ENDING:
            return _read_hdf5(path)
        found = _read_file(path, tables)
        if isinstance(found, RunList):
            if not source.named:
                return NotARecordingError("a list of recordings, not a recording")
            return Contents([run for name in found.names for run in _read_listed(path, name, tables)])
    except NotARecordingError as error:
        if source.named:
            raise _of_file(error, path) from None
        return error
    return Contents(found)


def _walk(folder: Path, target: Path) -> Iterator[Path]:
    """Yield known files and whole sessions in a folder, sorted, without hidden ones and the target."""

    def refuse(error: OSError) -> None:
        raise InputError(f"{shown(folder)}: cannot be listed ({cause(error)})") from None

    for place, folders, files in os.walk(folder, onerror=refuse):
        visible = sorted(Path(place, name) for name in folders if not name.startswith("."))
        descend = [path for path in visible if path.resolve() != target]
        yield from (path for path in descend if _is_whole(path))
        folders[:] = [path.name for path in descend if not _is_whole(path)]
        for name in sorted(files):
            path = Path(place, name)
            if not name.startswith(".") and _ending(path) is not None and path.is_file():
                yield path


def is_table(path: Path) -> bool:
    """Return True for a file that is read as a table if no reader knows it."""
    return _opener(path) is not None or (_ending(path) in OPENERS and path.is_file())


def _opener(path: Path) -> Callable[[Path], Table] | None:
    """Return what opens a data set, bag or motion of a robot; None for everything else."""
    if path.is_dir():
        return next((opener for mark, opener in FOLDERS.items() if (path / mark).is_file()), None)
    return BagTable if _ending(path) in BAGS else None


def _is_whole(folder: Path) -> bool:
    """Return True for a folder that is one source."""
    return _is_session(folder) or _opener(folder) is not None


def _is_session(folder: Path) -> bool:
    return (folder / SESSION_NAME).is_file()


def _ending(path: Path) -> str | None:
    """Return the ending by which a file is read; None if unknown."""
    name = path.name.lower()
    if name.endswith(HDF5_ENDING):
        return HDF5_ENDING
    if (bag := next((ending for ending in BAGS if name.endswith(ending)), None)) is not None:
        return bag
    name = name.removesuffix(".gz")
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def _read_hdf5(path: Path) -> Contents:
    with opened(path) as file:
        if text_attribute(file, "format") == RUN_FORMAT:
            return Contents([read_recording(file)])
    return contents_of(Session.open(path))


def _read_listed(path: Path, name: str, tables: TableImport) -> list[Recording]:
    """Read the recordings of a file that a list names, relative to the list."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or "\\" in name or "\0" in name:
        raise InputError(f"{shown(path)}: {shown(name)!r} must name a file in the folder of the list or below it")
    try:
        found = _read_file(path.parent / place, tables)
    except NotARecordingError as error:
        raise InputError(f"{shown(path)}: {shown(name)}: {error}") from None
    if isinstance(found, RunList):
        raise InputError(f"{shown(path)}: {shown(name)} is a list itself, not a recording")
    return found


def _read_file(path: Path, tables: TableImport) -> list[Recording] | RunList:
    if (opener := _opener(path)) is not None:
        return _read_container(opener, path, tables)
    ending = _ending(path)
    if ending is None or ending == HDF5_ENDING:
        known = ", ".join((*ENDINGS, *(f"{known}.gz" for known in ENDINGS), HDF5_ENDING, *BAGS))
        raise InputError(f"{shown(path)}: unknown kind of file; known endings are {known}")
    content = read_bounded(path)
    try:
        found = _read_content(content, path, ending, tables)
    except NotARecordingError:
        raise
    except UnclearServoError as error:
        raise _of_file(error, path) from None
    except InputError as error:
        raise InputError(f"{shown(path)}: {cause(error)}") from None
    return found if isinstance(found, RunList) else _from(found, hashlib.sha256(content).hexdigest())


def _read_container(opener: Callable[[Path], Table], path: Path, tables: TableImport) -> list[Recording]:
    try:
        found = read_runs(opener(path), path, tables)
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        digest = hashlib.sha256()
        for each in files:
            with each.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except NotARecordingError:
        raise
    except (InputError, OSError) as error:
        raise InputError(f"{shown(path)}: {cause(error)}") from None
    return _from(found, digest.hexdigest())


def _from(found: list[Recording], digest: str) -> list[Recording]:
    """Return recordings with their origin; digest: SHA-256 of what they were read from."""
    return [
        replace(run, provenance={"source_sha256": digest, **servo_provenance(run.settings.servo), **run.provenance})
        for run in found
    ]


def _read_content(content: bytes, path: Path, ending: str, tables: TableImport) -> list[Recording] | RunList:
    with contextlib.suppress(NotARecordingError) if ending in OPENERS else contextlib.nullcontext():
        if ending in READERS:
            found = READERS[ending](content, path.name, str(tables.facts.get("servo", "")))
            return found if isinstance(found, RunList) else [found]
    try:
        table = open_table(content, ending)
    except InputError as error:
        if tables.columns:
            raise
        raise NotARecordingError(f"not a recording: {error}") from None
    return read_runs(table, path, tables)


def _of_file(error: InputError, path: Path) -> InputError:
    error.args = (f"{shown(path)}: {error}",)
    return error


def read_bounded(path: Path) -> bytes:
    """Return a file's content, decompressed if it is gzip.

    Raises:
        InputError: if it cannot be read or is larger than MAX_BYTES.
    """
    try:
        with open(path, "rb", opener=unblocked) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(f"{shown(path)}: not a file")
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream = gzip.GzipFile(fileobj=file) if zipped else file
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"{shown(path)}: cannot be read ({cause(error)})") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{shown(path)}: larger than {MAX_BYTES // 2**20} MB; split it")
    return content
