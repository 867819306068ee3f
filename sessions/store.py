"""A session: one folder a person can zip and send, or one exported file.

    session.json          format, creator, created, uid, title
    runs/NNNN_….h5        one immutable HDF5 file per run
    runs/NNNN_….h5.part   a run under way; recovered on opening once its process is dead
    runs/damaged/         parts that could not be read, kept for whoever can
    index.json            list of the runs, a cache rebuilt whenever it does not fit them

Runs are never written again. What a person adds later (notes, tags, exclusion and trimming, points placed by
hand) belongs beside them in files of its own, keyed by run id; files this module does not know are left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py

from core.atomic import write_atomically
from core.recording import Recording
from sessions.errors import NewerFormatError, SessionError, UnreadableError, cause, shown
from sessions.facts import EXIT_STATUSES, RunFacts, creator_version, is_run_id, now, run_id
from sessions.index import Listing, RunIndex
from sessions.locks import RunLock, claim_numbers
from sessions.recovery import RecoveryReport, recover
from sessions.schema import (
    FORMAT_VERSION,
    SESSION_FORMAT,
    check_format,
    hard_member,
    opened,
    read_recording,
    reading,
    text_attribute,
)
from sessions.sealing import write_run
from sessions.summary import RunSummary, read_summary
from sessions.writer import SessionSink

SESSION_NAME = "session.json"
CLAIM_BLOCK = 64
"""Run numbers taken at once when many runs are added; each holds a file descriptor."""


class Session:
    """Runs of one bench. Get one by `create`, `open` or `open_or_create`."""

    def __init__(self, path: Path, facts: dict[str, Any], recovery: RecoveryReport) -> None:
        self.path = path
        self.uid: str = facts["uid"]
        self.title: str = facts["title"]
        self.created: str = facts["created"]
        """ISO 8601 with zone."""
        self.recovery = recovery
        """What the last recovery found."""
        self.read_only = path.is_file()
        """Whether this is an exported file, to which nothing can be added."""
        self._index = None if self.read_only else RunIndex(path)
        self._listing: Listing | None = None

    @classmethod
    def create(cls, path: str | Path, title: str = "") -> Session:
        """Create a session in a new or empty folder; raises SessionError."""
        folder = Path(path)
        check_creatable(folder)
        facts = {
            "format": SESSION_FORMAT,
            "format_version": FORMAT_VERSION,
            "creator": "ServoBench",
            "creator_version": creator_version(),
            "created": now(),
            "uid": str(uuid.uuid4()),
            "title": title,
        }
        try:
            (folder / "runs").mkdir(parents=True, exist_ok=True)
            write_atomically(folder / SESSION_NAME, (json.dumps(facts, indent=2) + "\n").encode("ascii"))
        except OSError as error:
            raise SessionError(f"{shown(folder)}: no session can be created here ({cause(error)})") from None
        return cls(folder, facts, RecoveryReport())

    @classmethod
    def open(cls, path: str | Path) -> Session:
        """Open a session folder, recovering what a crash left behind, or an exported .h5 file read-only.

        Raises SessionError for anything that is no session or cannot be read.
        """
        place = Path(path)
        try:
            is_file, exists = place.is_file(), place.exists()
        except (OSError, ValueError) as error:
            raise SessionError(f"{shown(place)}: the session cannot be opened ({cause(error)})") from None
        if is_file:
            return cls(place, _exported_facts(place), RecoveryReport())
        if not exists:
            raise SessionError(f"{shown(place)}: there is no such session")
        facts = _folder_facts(place)
        return cls(place, facts, recover(place / "runs"))

    @classmethod
    def open_or_create(cls, path: str | Path, title: str = "") -> Session:
        """Open the session at a path or create it if there is nothing yet; raises SessionError."""
        return cls.create(path, title) if _is_creatable(Path(path)) else cls.open(path)

    def runs(self) -> list[RunSummary]:
        """Return the finished runs as they are on the disk now, by number; raises SessionError."""
        return list(self._refreshed().runs)

    def problems(self) -> list[str]:
        """One line for each file that should be a run and cannot be read."""
        return list(self._refreshed().problems)

    def load(self, run_id: str) -> Recording:
        """Read one run; raises SessionError if there is none of this id or it is damaged."""
        with self.run_group(run_id) as group:
            return read_recording(group)

    def load_all(self, ids: Iterable[str] | None = None) -> list[Recording]:
        """Read the runs of these ids, or all; raises SessionError."""
        return [self.load(identity) for identity in self._chosen(ids)]

    def add(self, recording: Recording, exit_status: str | None = None) -> str:
        """Store a run that exists already and return its id here; raises SessionError.

        exit_status: None keeps the one in the recording's provenance, "success" if it has none.
        """
        return self.add_all([recording], exit_status)[0]

    def add_all(
        self,
        recordings: Iterable[Recording],
        exit_status: str | None = None,
        stored: Callable[[int, str], None] | None = None,
    ) -> list[str]:
        """Store runs, all of them or, if one cannot be written, none; return their ids. Raises SessionError.

        stored: called after each run with the number of runs stored so far and its id.
        """
        if self.read_only:
            raise SessionError(f"{shown(self.path)}: an exported session is read-only; import it into a session folder")
        if exit_status is not None and exit_status not in EXIT_STATUSES:
            raise SessionError(f"exit status {exit_status!r} is none of {', '.join(EXIT_STATUSES)}")
        chosen = list(recordings)
        added: list[str] = []
        locks: list[RunLock] = []
        try:
            for number, recording in enumerate(chosen):
                if not locks:
                    locks = claim_numbers(self._runs_folder, min(CLAIM_BLOCK, len(chosen) - number))
                lock = locks.pop(0)
                try:
                    identity = run_id(lock.number, recording.trajectory, recording.settings.kp)
                    facts = RunFacts.from_recording(identity, recording, exit_status)
                    write_run(self._runs_folder / f"{identity}.h5", facts, dict(recording.channels))
                    added.append(identity)
                    if stored is not None:
                        stored(len(added), identity)
                finally:
                    lock.release()
        except BaseException as error:
            self.discard(added)
            if isinstance(error, OSError):
                message = f"{shown(self.path)}: the runs cannot be added ({cause(error)})"
                raise SessionError(message) from None
            raise
        finally:
            for lock in locks:
                lock.release()
        return added

    def discard(self, ids: Iterable[str]) -> None:
        """Take back runs that were added a moment ago by an operation that then failed."""
        for identity in ids:
            with contextlib.suppress(OSError):
                (self._runs_folder / f"{identity}.h5").unlink(missing_ok=True)

    def sink(self) -> SessionSink:
        """Return a picklable description of where a recorder's samples go; raises SessionError."""
        if self.read_only:
            raise SessionError(f"{shown(self.path)}: an exported session is read-only; record into a session folder")
        return SessionSink(str(self._runs_folder.absolute()))

    def recover(self) -> RecoveryReport:
        """Look again for runs that a dead process left behind, e.g. after a recorder died."""
        if not self.read_only:
            self.recovery = recover(self._runs_folder)
        return self.recovery

    def data_hash(self, ids: Iterable[str] | None = None) -> str:
        """SHA-256 of the evidence in these runs, or in all: channels, benches, settings and trajectories.

        Independent of the runs' ids, order, times, uids and place, so that it names the data a result came from.
        Raises SessionError for an unknown id.
        """
        known = {run.id: run for run in self.runs()}
        contents: list[str] = []
        for identity in self._chosen(ids, list(known)):
            if identity not in known:
                raise SessionError(f"{shown(self.path)}: there is no run {shown(str(identity))}")
            contents.append(known[identity].content_sha256)
        return hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()

    @contextlib.contextmanager
    def run_group(self, run_id: str) -> Iterator[h5py.Group]:
        """Open the HDF5 group of one run for the modules of this package; raises SessionError."""
        if not is_run_id(run_id):
            raise SessionError(f"{shown(self.path)}: {shown(str(run_id))!r} is no run id")
        path = self.path if self.read_only else self._runs_folder / f"{run_id}.h5"
        if not path.exists():
            raise SessionError(f"{shown(self.path)}: there is no run {run_id}")
        with opened(path, checked=not self.read_only) as file:
            if not self.read_only:
                yield file
                return
            runs = hard_member(file, "runs", h5py.Group)
            if run_id not in runs:
                raise SessionError(f"{shown(self.path)}: there is no run {run_id}")
            yield hard_member(runs, run_id, h5py.Group)

    @property
    def _runs_folder(self) -> Path:
        return self.path / "runs"

    def _refreshed(self) -> Listing:
        if self._index is not None:
            return self._index.listing()
        if self._listing is None:
            self._listing = _exported_listing(self.path)
        return self._listing

    def _chosen(self, ids: Iterable[str] | None, known: list[str] | None = None) -> list[str]:
        if ids is None:
            return known if known is not None else [run.id for run in self.runs()]
        return [ids] if isinstance(ids, str) else list(ids)


def check_creatable(folder: Path) -> None:
    """Raise SessionError unless a session can be created at this path: nothing, or an empty folder."""
    if not _is_creatable(folder):
        what = "already a session" if (folder / SESSION_NAME).exists() else "not an empty folder"
        raise SessionError(f"{shown(folder)}: this is {what}; name a new folder for the session")


def _is_creatable(folder: Path) -> bool:
    try:
        if not folder.is_dir():
            return not folder.exists() and not folder.is_symlink()
        # A folder with an empty `runs` is a creation that was interrupted.
        return all(entry.name == "runs" and not any(entry.iterdir()) for entry in folder.iterdir())
    except (OSError, ValueError) as error:
        raise SessionError(f"{shown(folder)}: the folder cannot be read ({cause(error)})") from None


def _folder_facts(folder: Path) -> dict[str, Any]:
    place = folder / SESSION_NAME
    try:
        with place.open("rb") as file:
            facts = json.loads(file.read(1_000_000))
    except FileNotFoundError:
        raise SessionError(f"{shown(folder)}: this is no session, it has no {SESSION_NAME}") from None
    except OSError as error:
        raise SessionError(f"{shown(place)}: the session cannot be opened ({cause(error)})") from None
    except (ValueError, RecursionError):
        raise UnreadableError(
            f"{shown(place)}: damaged; delete it, create a session elsewhere and import the files in runs/"
        ) from None
    return _checked_facts(facts, place)


def _checked_facts(facts: Any, place: Path) -> dict[str, Any]:
    if not isinstance(facts, dict) or facts.get("format") != SESSION_FORMAT:
        raise UnreadableError(f"{shown(place)}: this is no {SESSION_FORMAT} file")
    version = facts.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise UnreadableError(f"{shown(place)}: the format version is missing")
    if version > FORMAT_VERSION:
        raise NewerFormatError(
            f"{shown(place)}: written by a newer ServoBench (format {version}, "
            f"this one reads up to {FORMAT_VERSION}): update ServoBench"
        )
    for name in ("uid", "title", "created"):
        if not isinstance(facts.get(name), str):
            raise UnreadableError(f"{shown(place)}: {name} is missing or no text")
    return facts


def _exported_facts(path: Path) -> dict[str, Any]:
    with opened(path) as file:
        check_format(file, SESSION_FORMAT)
        facts = {name: text_attribute(file, name) for name in ("uid", "title", "created")}
    return _checked_facts({**facts, "format": SESSION_FORMAT, "format_version": FORMAT_VERSION}, path)


def _exported_listing(path: Path) -> Listing:
    found: list[RunSummary] = []
    problems: list[str] = []
    with opened(path, checked=False) as file:
        runs = hard_member(file, "runs", h5py.Group)
        for name in sorted(runs, key=lambda name: (len(name.split("_")[0]), name)):
            try:
                with reading(path):
                    summary = read_summary(hard_member(runs, name, h5py.Group), f"runs/{name}")
                    if summary.id != name:
                        raise UnreadableError(f"{shown(name)} holds run {summary.id}")
                    found.append(summary)
            except SessionError as error:
                problems.append(str(error))
    return Listing(tuple(found), tuple(problems))
