"""Logs of other tools become runs: one registry of formats, one rule for everything that can go wrong.

Everything is read and checked before anything is written. A file named explicitly that cannot be imported stops
the import with one line and leaves no trace; in a folder, files of other kinds are passed over and reported,
damaged ones stop the import just the same.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.errors import InputError
from core.recording import Recording
from sessions.importers.sources import Source, find_sources, read_source
from sessions.store import Session, check_creatable

__all__ = ["ImportEvent", "import_paths"]


@dataclass(frozen=True)
class ImportEvent:
    """Progress of an import: one event for each file read, then one for each run stored."""

    done: int
    """Files read, or runs stored, so far."""
    total: int
    file: str
    """The file read, or the id of the run stored."""
    skipped: str = ""
    """Why the file was passed over; empty when it was taken."""
    stage: Literal["read", "store"] = "read"


def import_paths(
    paths: Iterable[str | Path],
    session: Session | str | Path,
    progress: Callable[[ImportEvent], None] | None = None,
) -> list[str]:
    """Import files and folders into a session and return the new runs' ids, in the order of the files.

    paths: BAM logs (.json, .json.gz), lists of such files (.json), our CSV (.csv, .csv.gz), our runs and exported
    sessions (.h5), session folders, or folders of all these, walked in sorted order. session: where to; a path that
    does not exist yet becomes a session once everything has been read. Raises ServoBenchError and then leaves
    everything as it was.
    """
    target = _target(session)
    sources = find_sources([Path(path) for path in paths], _home(session))
    recordings: list[Recording] = []
    for done, source in enumerate(sources, start=1):
        skipped = _read_into(recordings, source)
        if progress is not None:
            progress(ImportEvent(done, len(sources), str(source.path), skipped))
    if not recordings:
        raise InputError("nothing to import: no recording in the files and folders given")

    def stored(done: int, identity: str) -> None:
        if progress is not None:
            progress(ImportEvent(done, len(recordings), identity, stage="store"))

    if target is not None:
        return target.add_all(recordings, stored=stored)
    return _import_into_new(_home(session), recordings, stored)


def _read_into(recordings: list[Recording], source: Source) -> str:
    """Read a source's recordings; return why it was skipped, if it was."""
    found = read_source(source)
    if isinstance(found, str):
        return found
    recordings += found
    return ""


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


def _import_into_new(folder: Path, recordings: list[Recording], stored: Callable[[int, str], None]) -> list[str]:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        return Session.create(folder).add_all(recordings, stored=stored)
    except BaseException:
        with contextlib.suppress(OSError):
            (folder / "session.json").unlink(missing_ok=True)
            shutil.rmtree(folder / "runs")
            for place in missing:
                place.rmdir()
        raise
