"""Logs of other tools become runs: one registry of formats, one rule for everything that can go wrong.

Everything is read and checked before anything is written. A file named explicitly that cannot be imported stops
the import with one line and leaves no trace; in a folder, files of other kinds are passed over and reported,
damaged ones stop the import just the same. Of a session the runs that can be read are taken, and the others reported.
Runs of which the session has an equal one, or that come twice, are skipped and reported.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core.errors import InputError
from core.recording import Recording
from sessions.contents import Contents, missing_documents, store_contents
from sessions.errors import shown
from sessions.importers.kinds import UnknownTableError
from sessions.importers.sources import NO_TABLES, find_sources, read_source
from sessions.importers.table_runs import TableImport, suggested_command
from sessions.opening import check_creatable
from sessions.run_file.schema import recording_sha256
from sessions.store import Session

__all__ = ["ImportEvent", "TableImport", "UnknownTableError", "import_paths"]


MOST_NAMED = 8
"""Files that a suggested command names; of more, only the one in question."""


@dataclass(frozen=True)
class ImportEvent:
    """Progress of an import: one event for each file read, then one for each run stored."""

    done: int
    """Files read, or runs stored, so far."""
    total: int
    file: str
    """The file read, or the id of the run stored."""
    skipped: str = ""
    """Why the file, or a run in it, was passed over; empty when it was taken."""
    damage: str = ""
    """Sentence about the runs of the session read that are damaged and left out, see `Selection.damage`."""
    stage: Literal["read", "store"] = "read"


def import_paths(
    paths: Iterable[str | Path],
    session: Session | str | Path,
    progress: Callable[[ImportEvent], None] | None = None,
    tables: TableImport = NO_TABLES,
) -> list[str]:
    """Import files and folders into a session and return the new runs' ids, in the order of the files.

    Sessions bring along what was noted about their runs, and those of their documents that this one does not have.

    paths: BAM logs (.json, .json.gz), lists of such files (.json), our CSV (.csv, .csv.gz), our runs and exported
    sessions (.h5), session folders, tables of other programs (.csv, .tsv, .npz, .parquet), or folders of all these,
    walked in sorted order. session: where to; a path that does not exist yet becomes a session once everything has
    been read. tables: what the columns of tables mean. Raises ServoBenchError and then leaves everything as it was;
    UnknownTableError for a table where `tables` names no columns.
    """
    target = _target(session)
    tell = progress or _ignore
    given = [Path(path) for path in paths]
    sources = find_sources(given, _home(session))
    contents: list[Contents] = []
    passed_over: list[Exception] = []
    known = _Known(target)
    duplicates = 0
    for done, source in enumerate(sources, start=1):
        try:
            found = read_source(source, tables)
        except UnknownTableError as error:
            raise _with_remedy(error, given if len(given) <= MOST_NAMED else [source.path], tables) from None
        if isinstance(found, Contents):
            for name in _left_out(found, contents, target):
                place = str(source.path / f"{name}.json")
                tell(ImportEvent(done - 1, len(sources), place, f"the session has its own {name.replace('_', ' ')}"))
            fresh, skipped = known.take(found.recordings, shown(source.path.name))
            for reason in skipped:
                tell(ImportEvent(done - 1, len(sources), str(source.path), reason))
            duplicates += len(skipped)
            contents.append(replace(found, recordings=fresh))
            tell(ImportEvent(done, len(sources), str(source.path), damage=found.damage))
        else:
            passed_over.append(found)
            tell(ImportEvent(done, len(sources), str(source.path), str(found)))
    total = sum(len(found.recordings) for found in contents)
    if not total and not duplicates:
        for unknown in passed_over:
            if isinstance(unknown, UnknownTableError):
                raise _with_remedy(unknown, given, tables)
        raise InputError("nothing to import: no recording in the files and folders given")

    def stored(done: int, identity: str) -> None:
        tell(ImportEvent(done, total, identity, stage="store"))

    if target is not None:
        return store_contents(target, contents, stored)
    return _import_into_new(_home(session), contents, stored)


def _ignore(event: ImportEvent) -> None:
    """Tell nobody."""


def _with_remedy(error: UnknownTableError, paths: list[Path], tables: TableImport) -> UnknownTableError:
    error.args = (f"{error}; say what they mean: {suggested_command(error, paths, tables)}",)
    return error


class _Known:
    """Recordings that are there already, by their content; what the motion was called makes no other content."""

    def __init__(self, session: Session | None) -> None:
        self._labels: dict[str, str] = {}
        self._trajectories: dict[str, set[str]] = {}
        for run in session.runs() if session is not None else ():
            self._labels[run.content_sha256] = f"run {run.id}"
            self._trajectories.setdefault(run.sha256, set()).add(run.trajectory)

    def take(self, recordings: Iterable[Recording], file: str) -> tuple[list[Recording], list[str]]:
        """Return the recordings of a file that are new, from now on known, and a line for each of the others."""
        fresh: list[Recording] = []
        skipped: list[str] = []
        for recording in recordings:
            names = self._trajectories.setdefault(recording_sha256(recording)[0], set())
            contents = [recording_sha256(replace(recording, trajectory=name))[1] for name in names]
            label = next((self._labels[content] for content in contents if content in self._labels), None)
            if label is None:
                names.add(recording.trajectory)
                self._labels[recording_sha256(recording)[1]] = file
                fresh.append(recording)
            else:
                skipped.append(f"same content as {label}")
        return fresh, skipped


def _left_out(found: Contents, before: list[Contents], target: Session | None) -> list[str]:
    """Documents that are not taken over because another one is there already and differs."""
    taken = missing_documents(target, [*before, found])
    return [
        name
        for name, data in found.documents.items()
        if data != (taken[name] if target is None or name in taken else target.document(name))
    ]


def _home(session: Session | str | Path) -> Path:
    return session.path if isinstance(session, Session) else Path(session)


def _target(session: Session | str | Path) -> Session | None:
    """The session to import into; None when it is to be created. Raises SessionError."""
    if isinstance(session, Session):
        return session
    if (Path(session) / "session.json").exists():
        return Session.open(session)
    check_creatable(Path(session))
    return None


def _import_into_new(folder: Path, contents: list[Contents], stored: Callable[[int, str], None]) -> list[str]:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        return store_contents(Session.create(folder), contents, stored)
    except BaseException:
        with contextlib.suppress(OSError):
            (folder / "session.json").unlink(missing_ok=True)
            shutil.rmtree(folder / "runs")
            for place in missing:
                place.rmdir()
        raise
