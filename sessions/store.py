"""A session: one folder a person can zip and send, or one exported file.

    session.json          format, creator, created, uid, title
    runs/NNNN_….h5        one immutable HDF5 file per run
    runs/NNNN_….h5.part   a run under way; recovered on opening once its process is dead
    runs/damaged/         parts that could not be read, kept for whoever can
    index.json            list of the runs, a cache rebuilt whenever it does not fit them
    annotations.json …    what a person adds beside the runs, see sessions.documents

Runs are never written again: notes, tags, exclusion, trimming and points placed by hand are documents beside them.
Files this module does not know are left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py

from core.atomic import write_atomically
from core.identification.runs.split import Divisible
from core.recording import STATUS_WORDS, Recording
from core.sealed import sealed_text
from core.tabular import Tabular
from core.words import counted
from sessions import documents
from sessions.annotations import Annotation, annotations_from, revised
from sessions.errors import UNUSABLE, SessionError, UnreadableError, cause, shown
from sessions.facts import EXIT_STATUSES, RunFacts, creator_version, is_run_id, now, run_id
from sessions.index import Listing, RunIndex
from sessions.opening import (
    SESSION_NAME,
    check_creatable,
    exported_document,
    exported_facts,
    exported_listing,
    folder_facts,
    is_creatable,
)
from sessions.run_file.schema import (
    FORMAT_VERSION,
    SESSION_FORMAT,
    hard_member,
    opened,
    read_facts,
    read_recording,
)
from sessions.run_file.summary import RunSummary
from sessions.selection import Selection, fit_runs, selection_of
from sessions.writing.locks import RunLock, claim_numbers
from sessions.writing.recovery import RecoveryReport, recover
from sessions.writing.sealing import write_run
from sessions.writing.staging import publish, stage, unstage
from sessions.writing.writer import SessionSink

CLAIM_BLOCK = 64
"""Run numbers taken at once when many runs are added; each holds a file descriptor."""


class Session(Tabular):
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

    def heading(self) -> str:
        """Return folder and number of runs."""
        return f"{self.path.name}, {counted(len(self.runs()), 'run')}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the conditions of each run."""
        runs = self.runs()
        return {
            "run": [run.id for run in runs],
            "motion": [run.trajectory for run in runs],
            "mass [kg]": [run.mass for run in runs],
            "length [m]": [run.length for run in runs],
            "kp": [run.kp for run in runs],
            "duration [s]": [run.duration for run in runs],
            "status": [STATUS_WORDS.get(run.exit_status, run.exit_status) for run in runs],
        }

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
            write_atomically(folder / SESSION_NAME, sealed_text(facts).encode())
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
            return cls(place, exported_facts(place), RecoveryReport())
        if not exists:
            raise SessionError(f"{shown(place)}: there is no such session")
        facts = folder_facts(place)
        return cls(place, facts, recover(place / "runs"))

    @classmethod
    def open_or_create(cls, path: str | Path, title: str = "") -> Session:
        """Open the session at a path or create it if there is nothing yet; raises SessionError."""
        return cls.create(path, title) if is_creatable(Path(path)) else cls.open(path)

    def runs(self, on_progress: Callable[[int, int], object] = lambda read, total: None) -> list[RunSummary]:
        """Return the finished runs as they are on the disk now, by number; raises SessionError.

        on_progress: as for `RunIndex.listing`, since without an index every run's file is read.
        """
        return list(self._refreshed(on_progress).runs)

    def forget(self) -> None:
        """Hold nothing of the runs in memory; they are read again when they are asked for."""
        if self._index is not None:
            self._index.forget()
        self._listing = None

    def damaged(self) -> dict[str, str]:
        """Return the id of each run whose file cannot be read, and why in one line."""
        return dict(self._refreshed().damaged)

    def damage(self) -> str:
        """Sentence about the runs that cannot be read and are not excluded; raises SessionError.

        Where the annotations cannot be read, no run counts as excluded.
        """
        noted: Mapping[str, Annotation] = {}
        with contextlib.suppress(*UNUSABLE):
            noted = self.annotations()
        return selection_of((), self.runs(), self.damaged(), noted).damage

    def problems(self) -> list[str]:
        """One line for each file that should be a run or a document and cannot be read."""
        return [*self.damaged().values(), *self.document_problems()]

    def document_problems(self) -> list[str]:
        """One line for each document that cannot be read."""
        found: list[str] = []
        for name in documents.DOCUMENT_NAMES:
            try:
                self.document(name)
            except SessionError as error:
                found.append(str(error))
        return found

    def load(self, run_id: str) -> Recording:
        """Read one run; raises SessionError if there is none of this id or it is damaged."""
        with self.run_group(run_id) as group:
            return read_recording(group)

    def provenance(self, run_id: str) -> Mapping[str, Any]:
        """What a run's recording says of its origin, without reading its samples; raises SessionError."""
        with self.run_group(run_id) as group:
            return read_facts(group).provenance

    def load_all(self, ids: Iterable[str] | None = None) -> list[Recording]:
        """Read the runs of these ids, or all, as they were recorded; raises SessionError."""
        return [self.load(identity) for identity in self._chosen(ids)]

    def document(self, name: str) -> Any | None:
        """Return what a document of documents.DOCUMENT_NAMES holds, None if there is none.

        Raises SessionError if it is damaged or cannot be read.
        """
        documents.check_name(name)
        if self.read_only:
            return exported_document(self.path, name)
        return documents.read_document(self.path, name)

    def set_document(self, name: str, data: Any | None) -> None:
        """Replace a document by JSON data as a whole, or remove it with None; a damaged one is kept aside.

        Raises SessionError for data that JSON cannot hold, for a document of a newer version and if the disk refuses.
        """
        documents.check_name(name)
        self._require_folder()
        content = None if data is None else documents.encoded(name, data, self.path)
        with documents.writing(self.path):
            documents.replace_document(self.path, name, content)

    def annotations(self) -> dict[str, Annotation]:
        """What is noted about runs, by run id; raises SessionError if it cannot be read."""
        return annotations_from(self.document("annotations"))

    def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Note this about a run instead of what was noted before; an empty annotation removes it.

        Raises SessionError for an unknown run or if the disk refuses, InputError for a trim the run does not allow.
        """
        self.revise([run_id], lambda _run, _old: annotation)

    def revise(self, ids: Iterable[str], change: Callable[[str, Annotation], Annotation]) -> None:
        """Change what is noted about runs, all of them or none; what others write meanwhile is kept.

        change: from a run's id and the annotation on the disk now to the new one; may raise. Raises as `annotate`.
        """
        self._require_folder()
        chosen = self._chosen(ids)
        self._require_runs(chosen)

        def checked(identity: str, old: Annotation) -> Annotation:
            new = change(identity, old)
            if new.trimmed and (new.trim_begin, new.trim_end) != (old.trim_begin, old.trim_end):
                self.load(identity).trimmed(new.trim_begin, new.trim_end)
            return new

        self._revise(chosen, checked)

    def annotate_added(self, noted: Mapping[str, Annotation]) -> None:
        """Note this about runs within `adding`, by their ids; raises SessionError."""
        if noted:
            self._revise(list(noted), lambda identity, _: noted[identity])

    def _revise(self, chosen: list[str], change: Callable[[str, Annotation], Annotation]) -> None:
        with documents.writing(self.path):
            try:
                document = self.document("annotations")
            except UnreadableError:
                document = documents.salvaged_document(self.path, "annotations")
            document = revised(document, chosen, change)
            content = documents.encoded("annotations", document, self.path) if document else None
            documents.replace_document(self.path, "annotations", content)

    def fit_ids(self, ids: Iterable[str] | None = None) -> list[str]:
        """Runs a fit uses: of all, those that ended well; of these, all; never excluded ones. Raises SessionError."""
        if ids is None:
            return fit_runs(self.runs(), self.annotations())
        chosen = self._chosen(ids)
        self._require_runs(chosen)
        return fit_runs((), self.annotations(), chosen)

    def missing(self, ids: Iterable[str]) -> list[str]:
        """One line for each of these runs that is gone or cannot be read, in their order; raises SessionError."""
        there = {run.id for run in self.runs()}
        damaged = self.damaged()
        return [
            damaged.get(identity, f"{shown(self.path)}: run {shown(identity)} is gone")
            for identity in ids
            if identity not in there
        ]

    def selection(self, used: Sequence[Divisible], asked: Container[str] | None = None) -> Selection:
        """Say which runs of the session these recordings are, and what became of the others; raises SessionError.

        asked: as for `selection_of`.
        """
        return selection_of(used, self.runs(), self.damaged(), self.annotations(), asked)

    def load_for_fit(self, ids: Iterable[str] | None = None, channels: Container[str] | None = None) -> list[Recording]:
        """Read these runs, or those of `fit_ids`, each only the part it is trimmed to.

        channels: all that is kept of each, so that many runs take less memory; None keeps every channel. Raises
        SessionError, and InputError for a trim that does not fit the run.
        """
        noted = self.annotations()
        chosen = self.fit_ids() if ids is None else self._chosen(ids)
        return [_fit_part(self.load(identity), noted.get(identity, Annotation()), channels) for identity in chosen]

    def readable(self, ids: Iterable[str] | None = None) -> Iterator[tuple[str, Recording]]:
        """Read these runs, or all, one after the other; those that turn out to be damaged are left out.

        Yields id and recording. `damaged` lists what was left out. Raises SessionError.
        """
        for identity in self._chosen(ids):
            with contextlib.suppress(*UNUSABLE):
                yield identity, self.load(identity)

    def load_readable(self, ids: Iterable[str], channels: Container[str] | None = None) -> list[Recording]:
        """As `load_for_fit`, without the runs that turn out to be damaged; `damaged` lists them from then on."""
        noted = self.annotations()
        return [_fit_part(run, noted.get(identity, Annotation()), channels) for identity, run in self.readable(ids)]

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
        with self.adding(recordings, exit_status, stored) as ids:
            return ids

    @contextlib.contextmanager
    def adding(
        self,
        recordings: Iterable[Recording],
        exit_status: str | None = None,
        stored: Callable[[int, str], None] | None = None,
    ) -> Iterator[list[str]]:
        """Write runs that appear together when the block ends, or never if it raises or the process dies in it.

        Yields their ids. Arguments and errors as for `add_all`.
        """
        self._require_folder()
        if exit_status is not None and exit_status not in EXIT_STATUSES:
            raise SessionError(f"exit status {exit_status!r} is none of {', '.join(EXIT_STATUSES)}")
        chosen = list(recordings)
        added: list[str] = []
        locks: list[RunLock] = []
        owner: RunLock | None = None
        staged: Path | None = None
        try:
            for number, recording in enumerate(chosen):
                if not locks:
                    count = min(CLAIM_BLOCK, len(chosen) - number)
                    locks = claim_numbers(self._runs_folder, count, documents.noted_numbers(self.path))
                lock = locks.pop(0)
                if staged is None:
                    owner = lock
                    staged = stage(self._runs_folder, lock.number)
                try:
                    identity = run_id(lock.number, recording.trajectory, recording.settings.kp)
                    facts = RunFacts.from_recording(identity, recording, exit_status)
                    write_run(staged / f"{identity}.h5", facts, dict(recording.channels))
                    added.append(identity)
                    if stored is not None:
                        stored(len(added), identity)
                finally:
                    if lock is not owner:
                        lock.release()
            yield added
            if staged is not None:
                publish(staged)
        except OSError as error:
            raise SessionError(f"{shown(self.path)}: the runs cannot be added ({cause(error)})") from None
        finally:
            if staged is not None:
                unstage(staged)
            for lock in (*locks, *([owner] if owner is not None else [])):
                lock.release()

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
        """SHA-256 of the evidence in these runs, or in all: channels, benches, settings, trajectories and trims.

        Independent of the runs' ids, order, times, uids and place, so that it names the data a result came from.
        Raises SessionError for an unknown id.
        """
        known = {run.id: run for run in self.runs()}
        noted = self.annotations()
        contents: list[str] = []
        for identity in self._chosen(ids, list(known)):
            if identity not in known:
                raise SessionError(f"{shown(self.path)}: there is no run {shown(str(identity))}")
            contents.append(_evidence(known[identity], noted.get(identity, Annotation())))
        return hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()

    @contextlib.contextmanager
    def run_group(self, run_id: str) -> Iterator[h5py.Group]:
        """Open the HDF5 group of one run for the modules of this package; raises SessionError.

        A run that turns out to be damaged is among `damaged` from then on.
        """
        if not is_run_id(run_id):
            raise SessionError(f"{shown(self.path)}: {shown(str(run_id))!r} is no run id")
        path = self.path if self.read_only else self._runs_folder / f"{run_id}.h5"
        if not path.exists():
            raise SessionError(f"{shown(self.path)}: there is no run {run_id}")
        try:
            with opened(path, checked=not self.read_only) as file:
                if not self.read_only:
                    yield file
                    return
                runs = hard_member(file, "runs", h5py.Group)
                if run_id not in runs:
                    raise SessionError(f"{shown(self.path)}: there is no run {run_id}")
                yield hard_member(runs, run_id, h5py.Group)
        except UNUSABLE as error:
            self._note_damaged(run_id, str(error))
            raise

    def _require_folder(self) -> None:
        if self.read_only:
            raise SessionError(f"{shown(self.path)}: an exported session is read-only; import it into a session folder")

    def _require_runs(self, ids: list[str]) -> None:
        """Raise SessionError unless there is a run of each id, readable or not."""
        exported = {run.id for run in self.runs()} if self.read_only else set()
        for identity in ids:
            if identity not in exported and not (is_run_id(identity) and self._run_file(identity).exists()):
                raise SessionError(f"{shown(self.path)}: there is no run {shown(str(identity))}")

    def _run_file(self, identity: str) -> Path:
        return self._runs_folder / f"{identity}.h5"

    @property
    def _runs_folder(self) -> Path:
        return self.path / "runs"

    def _refreshed(self, on_progress: Callable[[int, int], object] = lambda read, total: None) -> Listing:
        if self._index is not None:
            return self._index.listing(on_progress)
        if self._listing is None:
            self._listing = exported_listing(self.path)
        return self._listing

    def _note_damaged(self, identity: str, why: str) -> None:
        if self._index is not None:
            self._index.note_damaged(identity, why)
        elif (listing := self._refreshed()) and identity not in listing.damaged:
            runs = tuple(run for run in listing.runs if run.id != identity)
            self._listing = Listing(runs, {**listing.damaged, identity: why})

    def _chosen(self, ids: Iterable[str] | None, known: list[str] | None = None) -> list[str]:
        if ids is None:
            return known if known is not None else [run.id for run in self.runs()]
        return [ids] if isinstance(ids, str) else list(ids)


def _fit_part(whole: Recording, annotation: Annotation, channels: Container[str] | None) -> Recording:
    """The part of a run that it is trimmed to, with these channels alone; raises InputError."""
    part = whole.trimmed(annotation.trim_begin, annotation.trim_end)
    if channels is None:
        return part
    kept = {name: values for name, values in part.channels.items() if name in channels}
    return replace(part, channels=kept, unread=tuple(set(part.channels) - set(kept)))


def _evidence(run: RunSummary, annotation: Annotation) -> str:
    """Hash of what a fit sees of a run: of all of it, or of the part it is trimmed to."""
    begin = annotation.trim_begin or None
    end = annotation.trim_end if annotation.trim_end is not None and annotation.trim_end < run.duration else None
    if begin is None and end is None:
        return run.content_sha256
    part = json.dumps({"content": run.content_sha256, "trim": [begin, end]})
    return hashlib.sha256(part.encode()).hexdigest()
