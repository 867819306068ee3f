"""Import of logs from other tools: one registry of formats and one rule for errors.

Everything is read and checked before anything is written. If the user names a file that cannot be imported, the import
stops with one line and leaves no trace. In a folder, files of other kinds are skipped and reported; damaged ones stop
the import. From a session, all readable runs are taken and the others reported. Runs that are equal to one in the
session, or to one imported before, are skipped and reported.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core.base.errors import InputError, ServoBenchError
from core.identification.coverage.findings import Misread
from core.motion.recording import Recording
from sessions.documents import DOCUMENT_NAMES
from sessions.errors import shown
from sessions.importers.bam_json import UnclearServoError
from sessions.importers.kinds import UnknownTableError
from sessions.importers.names import guess_pattern, servo_of, stem
from sessions.importers.sources import NO_TABLES, Source, find_sources, is_table, read_source
from sessions.importers.table_runs import TableImport, suggested_command
from sessions.opening import check_creatable
from sessions.run_file.schema import recording_sha256
from sessions.source_contents import Contents, missing_documents, store_contents
from sessions.store import Session

__all__ = ["ImportEvent", "TableImport", "UnclearServoError", "UnknownTableError", "import_paths"]


MOST_NAMED = 8
"""Files that a suggested command names; if there are more that are all of a folder, it names the folder."""


@dataclass(frozen=True)
class ImportEvent:
    """Progress of an import: one event for each file read, then one for each run stored."""

    done: int
    """Number of files read, or of runs stored, so far."""
    total: int
    file: str
    """The file read, or the id of the stored run."""
    skipped: str = ""
    """Reason why the file, or a run in it, was skipped; empty if it was taken."""
    damage: str = ""
    """Sentence about damaged runs of the session being read, which are left out; see `Selection.damage`."""
    note: str = ""
    """Sentence on rows of the file that were left out or mended."""
    stage: Literal["read", "store"] = "read"


def import_paths(
    paths: Iterable[str | Path],
    session: Session | str | Path,
    progress: Callable[[ImportEvent], None] | None = None,
    tables: TableImport = NO_TABLES,
    look: Callable[[Sequence[Recording], bool], list[Misread]] | None = None,
) -> list[str]:
    """Import files and folders into a session.

    Sessions bring their annotations, and those of their documents that this session does not have yet.

    Args:
        paths: BAM logs (.json, .json.gz), lists of such files (.json), ServoBench CSV (.csv, .csv.gz), runs and
            exported sessions (.h5), session folders, tables of other programs (.csv, .tsv, .npz, .parquet), or folders
            of all these, walked in sorted order.
        session: Session to import into. A path that does not exist yet becomes a session once everything has been read.
        progress: Called with each event.
        tables: Meaning of the columns of tables.
        look: Function that returns what explains tables better than they were read; None for `misread`.
            Notes of events name it.

    Returns:
        The ids of the new runs, in the order of the files.

    Raises:
        ServoBenchError: if something cannot be imported; then everything stays as it was.
        UnknownTableError: for a table if `tables` names no columns.
        UnclearServoError: for a log whose servo does not run on its supply, unless `tables` names the variant.
    """
    target = _target(session)
    tell = progress or _ignore
    given = [Path(path) for path in paths]
    sources = find_sources(given, _home(session))
    contents: list[Contents] = []
    passed_over: list[Exception] = []
    unknown_tables: list[Path] = []
    known = _Known(target)
    duplicates = 0
    auto = tables.goal_shift == "auto"
    suspects = _suspects(_readable(sources, tables), look) if auto else {}
    taken: dict[Path, Sequence[Recording]] = {}
    for done, source in enumerate(sources, start=1):
        try:
            rows = sum(one.rows for one in suspects.get(source.path, [])) if auto else tables.goal_shift
            found = read_source(source, replace(tables, goal_shift=rows))
        except UnknownTableError as error:
            tables_named = [each.path for each in sources if is_table(each.path)]
            raise _with_remedy(error, given, tables_named, tables, _home(session)) from None
        if isinstance(found, Contents):
            for name in _left_out(found, contents, target):
                place = str(source.path / f"{name}.json")
                tell(ImportEvent(done - 1, len(sources), place, f"the session has its own {name.replace('_', ' ')}"))
            fresh, skipped = known.take(found.recordings, shown(source.path.name))
            for reason in skipped:
                tell(ImportEvent(done - 1, len(sources), str(source.path), reason))
            duplicates += len(skipped)
            contents.append(replace(found, recordings=fresh))
            taken[source.path] = fresh
            tell(ImportEvent(done, len(sources), str(source.path), damage=found.damage, note=_notes(fresh)))
        else:
            passed_over.append(found)
            if isinstance(found, UnknownTableError):
                unknown_tables.append(source.path)
            tell(ImportEvent(done, len(sources), str(source.path), str(found)))
    # Only duplicates is a success without new runs; nothing at all is an error.
    total = sum(len(found.recordings) for found in contents)
    if not total and not duplicates:
        for unknown in (one for one in passed_over if isinstance(one, UnknownTableError)):
            raise _with_remedy(unknown, given, unknown_tables, tables, _home(session))
        raise InputError("nothing to import: no recording in the files and folders given")

    suspects = suspects if auto else _suspects(taken, look, shifts=not tables.goal_shift)
    _say(suspects, auto, len(sources), tell)

    def stored(done: int, identity: str) -> None:
        tell(ImportEvent(done, total, identity, stage="store"))

    if target is not None:
        return store_contents(target, contents, stored)
    return _import_into_new(_home(session), contents, stored)


def _ignore(event: ImportEvent) -> None:
    """Ignore an event."""


def _readable(sources: Iterable[Source], tables: TableImport) -> dict[Path, Sequence[Recording]]:
    """Return the recordings of those sources that can be read."""
    runs: dict[Path, Sequence[Recording]] = {}
    for source in sources:
        with contextlib.suppress(ServoBenchError):
            found = read_source(source, tables)
            runs |= {source.path: found.recordings} if isinstance(found, Contents) else {}
    return runs


def _suspects(
    runs: Mapping[Path, Sequence[Recording]],
    look: Callable[[Sequence[Recording], bool], list[Misread]] | None,
    *,
    shifts: bool = True,
) -> dict[Path, list[Misread]]:
    """Return what explains more than the tables among the sources as they were read, see `misread`."""
    of = [(path, run) for path, found in runs.items() if is_table(path) for run in found]
    of = [(path, run) for path, run in of if run.provenance.get("format") == "table" and not run.joint]
    suspects: dict[Path, list[Misread]] = {}
    if of and look is None:
        from core.identification.misread import misread as look
    for one in look([run for _, run in of], shifts) if look and of else ():
        for path in dict.fromkeys(of[place][0] for place in one.places):
            suspects.setdefault(path, []).append(one)
    return suspects


def _say(
    suspects: Mapping[Path, Sequence[Misread]], auto: bool, count: int, tell: Callable[[ImportEvent], None]
) -> None:
    for path, found in suspects.items():
        for one in found:
            tell(ImportEvent(count, count, str(path), note=one.moved if auto and one.rows else one.warning))


def _with_remedy(
    error: UnknownTableError, given: list[Path], unknown: list[Path], tables: TableImport, session: Path
) -> UnknownTableError:
    """Add what the names of the tables state to an error, and the command that imports them."""
    stems = [stem(path) for path in unknown]
    error.pattern = guess_pattern(stems, [*tables.facts])
    error.servo = servo_of(stems)[1]
    command = suggested_command(error, _briefly(given, session), tables, session)
    error.args = (f"{error}; say what they mean: {command}",)
    return error


def _briefly(paths: list[Path], session: Path) -> list[Path]:
    """Return the folder of many files if they are all that can be imported from it, else the paths."""
    folder = paths[0].parent
    if len(paths) <= MOST_NAMED or any(path.parent != folder for path in paths):
        return paths
    return [folder] if {each.path for each in find_sources([folder], session)} == set(paths) else paths


class _Known:
    """Recordings seen so far, by their content; the name of the motion does not count as content."""

    def __init__(self, session: Session | None) -> None:
        self._labels: dict[tuple[str, str], str] = {}  # by content and joint: joints at rest are alike
        self._trajectories: dict[str, set[str]] = {}
        for run in session.runs() if session is not None else ():
            self._labels[run.content_sha256, run.joint] = f"run {run.id}"
            self._trajectories.setdefault(run.sha256, set()).add(run.trajectory)

    def take(self, recordings: Iterable[Recording], file: str) -> tuple[list[Recording], list[str]]:
        """Return the new recordings of a file, and a line for each of the others; remember the new ones."""
        fresh: list[Recording] = []
        skipped: list[str] = []
        for recording in recordings:
            names = self._trajectories.setdefault(recording_sha256(recording)[0], set())
            contents = [(recording_sha256(replace(recording, trajectory=name))[1], recording.joint) for name in names]
            label = next((self._labels[content] for content in contents if content in self._labels), None)
            if label is None:
                names.add(recording.trajectory)
                self._labels[recording_sha256(recording)[1], recording.joint] = file
                fresh.append(recording)
            else:
                skipped.append(f"same content as {label}")
        return fresh, skipped


def _notes(runs: Iterable[Recording]) -> str:
    """Return what was left out or mended of the runs of a file, each phrase once."""
    phrases = [phrase for run in runs for phrase in run.provenance.get("left_out", "").split("; ")]
    return "; ".join(filter(None, dict.fromkeys(phrases)))


def _left_out(found: Contents, before: list[Contents], target: Session | None) -> list[str]:
    """Return the names of documents that are not taken over because a different one is there already."""
    taken = missing_documents(target, [*before, found])
    return [
        name
        for name, data in found.documents.items()
        if data != (taken[name] if target is None or name in taken else target.document(name))
    ]


def _home(session: Session | str | Path) -> Path:
    return session.path if isinstance(session, Session) else Path(session)


def _target(session: Session | str | Path) -> Session | None:
    """Return the session to import into, None if it is to be created; raises SessionError."""
    if isinstance(session, Session):
        return session
    if (Path(session) / "session.json").exists():
        return Session.open(session)
    check_creatable(Path(session))
    return None


def _import_into_new(folder: Path, contents: list[Contents], stored: Callable[[int, str], None]) -> list[str]:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    session: Session | None = None
    try:
        session = Session.create(folder)
        return store_contents(session, contents, stored)
    except BaseException:
        with contextlib.suppress(OSError):
            # A session that another program has made here meanwhile is not ours to remove.
            if session is not None:
                for name in ("session", *DOCUMENT_NAMES):
                    (folder / f"{name}.json").unlink(missing_ok=True)
                shutil.rmtree(folder / "runs", ignore_errors=True)
            for place in missing:
                place.rmdir()
        raise
