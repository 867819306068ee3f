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
from sessions.importers.bam_json import read_bam
from sessions.importers.kinds import NotARecordingError, RunList
from sessions.importers.own_csv import read_csv
from sessions.importers.table_runs import TableImport, read_run
from sessions.importers.tables import OPENERS
from sessions.opening import SESSION_NAME
from sessions.run_file.schema import RUN_FORMAT, opened, read_recording, text_attribute
from sessions.source_contents import Contents, contents_of
from sessions.store import Session

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read, after decompression."""

READERS: dict[str, Callable[[bytes, str], Recording | RunList]] = {".json": read_bam, ".csv": read_csv}
"""Ending (also followed by .gz) to the reader of (content, file name)."""

ENDINGS = (*dict.fromkeys((*READERS, *OPENERS)),)
"""Endings of files that hold one recording; each may be followed by .gz."""

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
        if stat.S_ISDIR(mode) and not _is_session(path):
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
        if path.is_dir():
            return contents_of(Session.open(path))
        if path.suffix == HDF5_ENDING:
            return _read_hdf5(path)
        found = _read_file(path, tables)
        if isinstance(found, RunList):
            if not source.named:
                return NotARecordingError("a list of recordings, not a recording")
            return Contents([_read_listed(path, name, tables) for name in found.names])
    except NotARecordingError as error:
        if source.named:
            raise _of_file(error, path) from None
        return error
    return Contents([found])


def _walk(folder: Path, target: Path) -> Iterator[Path]:
    """Yield known files and whole sessions in a folder, sorted, without hidden ones and the target."""

    def refuse(error: OSError) -> None:
        raise InputError(f"{shown(folder)}: cannot be listed ({cause(error)})") from None

    for place, folders, files in os.walk(folder, onerror=refuse):
        visible = sorted(Path(place, name) for name in folders if not name.startswith("."))
        descend = [path for path in visible if path.resolve() != target]
        yield from (path for path in descend if _is_session(path))
        folders[:] = [path.name for path in descend if not _is_session(path)]
        for name in sorted(files):
            path = Path(place, name)
            if not name.startswith(".") and _ending(path) is not None and path.is_file():
                yield path


def is_table(path: Path) -> bool:
    """Return True for a file that is read as a table if no reader knows it."""
    return _ending(path) in OPENERS and path.is_file()


def _is_session(folder: Path) -> bool:
    return (folder / SESSION_NAME).is_file()


def _ending(path: Path) -> str | None:
    """Return the ending by which a file is read; None if unknown."""
    name = path.name.lower()
    if name.endswith(HDF5_ENDING):
        return HDF5_ENDING
    name = name.removesuffix(".gz")
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def _read_hdf5(path: Path) -> Contents:
    with opened(path) as file:
        if text_attribute(file, "format") == RUN_FORMAT:
            return Contents([read_recording(file)])
    return contents_of(Session.open(path))


def _read_listed(path: Path, name: str, tables: TableImport) -> Recording:
    """Read a recording that a list names, relative to the list."""
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


def _read_file(path: Path, tables: TableImport) -> Recording | RunList:
    ending = _ending(path)
    if ending is None or ending == HDF5_ENDING:
        known = ", ".join((*ENDINGS, *(f"{known}.gz" for known in ENDINGS), HDF5_ENDING))
        raise InputError(f"{shown(path)}: unknown kind of file; known endings are {known}")
    content = read_bounded(path)
    try:
        found = _read_content(content, path, ending, tables)
    except NotARecordingError:
        raise
    except InputError as error:
        raise InputError(f"{shown(path)}: {cause(error)}") from None
    if isinstance(found, Recording):
        carried = servo_provenance(found.settings.servo)
        provenance = {"source_sha256": hashlib.sha256(content).hexdigest(), **carried, **found.provenance}
        return replace(found, provenance=provenance)
    return found


def _read_content(content: bytes, path: Path, ending: str, tables: TableImport) -> Recording | RunList:
    with contextlib.suppress(NotARecordingError) if ending in OPENERS else contextlib.nullcontext():
        if ending in READERS:
            return READERS[ending](content, path.name)
    return read_run(content, path, ending, tables)


def _of_file(error: NotARecordingError, path: Path) -> NotARecordingError:
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
