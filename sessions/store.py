"""Sessions: one folder that can be zipped and sent, or one exported file.

    session.json          format, creator, created, uid, title
    runs/NNNN_….h5        one immutable HDF5 file per run
    runs/NNNN_….h5.part   a run being recorded; recovered on opening once its process has ended
    runs/damaged/         parts that could not be read, kept for a later rescue
    index.json            list of the runs, a cache that is rebuilt whenever it is out of date
    annotations.json …    what the user adds to the runs, see sessions.documents

A run's file is never modified: notes, tags, exclusion, trimming and points placed by hand are separate documents.
Unknown files are left alone.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py

from core.base.atomic import sweep, sweep_tree, write_atomically
from core.base.errors import InputError
from core.base.sealed import sealed_text
from core.base.words import counted
from core.document.table import Tabular
from core.identification.runs.split import Divisible
from core.motion.recording import STATUS_WORDS, Recording, RunHeader
from core.practice.placement import points_from_json
from sessions import documents
from sessions.annotations import Annotation, annotations_from, revised
from sessions.errors import UNUSABLE, SessionError, UnreadableError, cause, shown
from sessions.header import EXIT_STATUSES, RunFacts, creator_version, is_run_id, now, run_id
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
from sessions.results.folder import FOLDER
from sessions.run_file.schema import (
    FORMAT_VERSION,
    SESSION_FORMAT,
    hard_member,
    opened,
    read_facts,
    read_recording,
)
from sessions.run_file.summary import RunSummary
from sessions.selection import Selection, data_hash, fit_runs, selection_of
from sessions.servo_kind import kind_of, require_one_kind
from sessions.writing.locks import COMMITTED, RunLock, claim_numbers, number_of
from sessions.writing.part import PART, read_part_facts
from sessions.writing.recovery import RecoveryReport, recover
from sessions.writing.sealing import write_run
from sessions.writing.staging import publish, stage, unstage
from sessions.writing.writer import SessionSink

CLAIM_BLOCK = 64
"""Run numbers claimed at once when many runs are added; each holds a file descriptor."""


class Session(Tabular):
    """Runs of one servo on one bench, created by `create`, `open` or `open_or_create`.

    Example:
        >>> session = sb.example()
        >>> recordings = session.load_for_fit()
        >>> len(recordings)
        8
    """

    def __init__(self, path: Path, facts: dict[str, Any], recovery: RecoveryReport) -> None:
        self.path = path
        self.uid: str = facts["uid"]
        self.title: str = facts["title"]
        self.created: str = facts["created"]
        """ISO 8601 with zone."""
        self.recovery = recovery
        """Result of the last recovery."""
        self.read_only = path.is_file()
        """True for an exported file, to which nothing can be added."""
        self._index = None if self.read_only else RunIndex(path)
        self._listing: Listing | None = None

    def heading(self) -> str:
        """Return the folder's name and the number of runs."""
        return f"{self.path.name}, {counted(len(self.runs()), 'run')}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the conditions of the runs, by column title."""
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
        """Create a session in a new or empty folder.

        Raises:
            SessionError: if the folder holds something or cannot be written.
        """
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
        except BaseException as error:
            with contextlib.suppress(OSError):
                (folder / SESSION_NAME).unlink(missing_ok=True)
                (folder / "runs").rmdir()
            if isinstance(error, OSError):
                raise SessionError(f"{shown(folder)}: no session can be created here ({cause(error)})") from None
            raise
        return cls(folder, facts, RecoveryReport())

    @classmethod
    def open(cls, path: str | Path) -> Session:
        """Open a session folder, recovering what a crash left behind, or an exported .h5 file (read-only).

        Raises:
            SessionError: if it is not a session or cannot be read.
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
        sweep(place)
        sweep_tree(place / FOLDER)
        return cls(place, facts, recover(place / "runs"))

    @classmethod
    def open_or_create(cls, path: str | Path, title: str = "") -> Session:
        """Open the session at a path, or create it if nothing is there.

        Raises:
            SessionError: if it is not a session, or cannot be read or created.
        """
        return cls.create(path, title) if is_creatable(Path(path)) else cls.open(path)

    def runs(self, on_progress: Callable[[int, int], object] = lambda read, total: None) -> list[RunSummary]:
        """Return the finished runs that are on the disk now, by number.

        Args:
            on_progress: See `RunIndex.listing`; without an index, every run's file is read.

        Raises:
            SessionError: if the runs cannot be listed.
        """
        return list(self._refreshed(on_progress).runs)

    def forget(self) -> None:
        """Drop everything held in memory about the runs; the next access reads it again."""
        if self._index is not None:
            self._index.forget()
        self._listing = None

    def damaged(self) -> dict[str, str]:
        """Return the runs whose files cannot be read: id to the reason, one line."""
        return dict(self._refreshed().damaged)

    def damage(self) -> str:
        """Return a sentence about the runs that cannot be read and are not excluded; empty without any.

        If the annotations cannot be read, no run counts as excluded.

        Raises:
            SessionError: if the runs cannot be listed.
        """
        noted: Mapping[str, Annotation] = {}
        with contextlib.suppress(*UNUSABLE):
            noted = self.annotations()
        return selection_of((), self.runs(), self.damaged(), noted).damage

    def problems(self) -> list[str]:
        """Return one line per run file or document that cannot be read."""
        return [*self.damaged().values(), *self.document_problems()]

    def document_problems(self) -> list[str]:
        """Return one line per document that cannot be read."""
        found: list[str] = []
        for name in documents.DOCUMENT_NAMES:
            try:
                self.document(name)
            except SessionError as error:
                found.append(str(error))
        return found

    def load(self, run_id: str) -> Recording:
        """Read one run.

        Raises:
            SessionError: if there is no run of this id or it is damaged.
        """
        with self.run_group(run_id) as group:
            return read_recording(group)

    def provenance(self, run_id: str) -> Mapping[str, Any]:
        """Read the provenance of a run without its samples.

        Raises:
            SessionError: if there is no run of this id or it is damaged.
        """
        with self.run_group(run_id) as group:
            return read_facts(group).provenance

    def load_all(self, ids: Iterable[str] | None = None) -> list[Recording]:
        """Read the runs of these ids, or all runs, as they were recorded.

        Raises:
            SessionError: if a run does not exist or is damaged.
        """
        return [self.load(identity) for identity in self._chosen(ids)]

    def document(self, name: str) -> Any | None:
        """Return the content of a document, None if there is none.

        Args:
            name: One of `documents.DOCUMENT_NAMES`.

        Raises:
            SessionError: if the document is damaged or cannot be read.
        """
        documents.check_name(name)
        if self.read_only:
            return exported_document(self.path, name)
        return documents.read_document(self.path, name)

    def set_document(self, name: str, data: Any | None) -> None:
        """Replace a whole document; a damaged one is kept aside.

        Args:
            name: One of `documents.DOCUMENT_NAMES`.
            data: JSON data; None removes the document.

        Raises:
            SessionError: if JSON cannot hold the data, the document is of a newer version, or the disk refuses.
        """
        documents.check_name(name)
        self._require_folder()
        content = None if data is None else documents.encoded(name, data, self.path)
        with documents.writing(self.path):
            documents.replace_document(self.path, name, content)

    def annotations(self) -> dict[str, Annotation]:
        """Return the annotations of the runs by run id.

        Raises:
            SessionError: if they cannot be read.
        """
        return annotations_from(self.document("annotations"))

    def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Replace the annotation of a run; an empty annotation removes it.

        Raises:
            SessionError: for an unknown run, or if the disk refuses.
            InputError: for a trim that the run does not allow.
        """
        self.revise([run_id], lambda _run, _old: annotation)

    def revise(self, ids: Iterable[str], change: Callable[[str, Annotation], Annotation]) -> None:
        """Change the annotations of runs, all or none; what other processes write meanwhile is kept.

        Args:
            ids: Runs to change.
            change: Called with a run's id and its annotation on the disk; returns the new one. May raise.

        Raises:
            SessionError: for an unknown run, or if the disk refuses.
            InputError: for a trim that a run does not allow.
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
        """Annotate runs within `adding`, by their ids.

        Raises:
            SessionError: if the disk refuses.
        """
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
        """Return the ids of the runs that a fit uses.

        Args:
            ids: Runs asked for: all of them are used, except excluded ones. None for all runs that ended well and are
                not excluded.

        Raises:
            SessionError: for an unknown run, or if the session cannot be read.
        """
        if ids is None:
            return fit_runs(self.runs(), self.annotations())
        chosen = self._chosen(ids)
        self._require_runs(chosen)
        return fit_runs((), self.annotations(), chosen)

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Return one line per run of these ids that is gone or cannot be read, in their order.

        Raises:
            SessionError: if the runs cannot be listed.
        """
        there = {run.id for run in self.runs()}
        damaged = self.damaged()
        return [
            damaged.get(identity, f"{shown(self.path)}: run {shown(identity)} is gone")
            for identity in ids
            if identity not in there
        ]

    def selection(self, used: Sequence[Divisible], asked: Container[str] | None = None) -> Selection:
        """Return which runs of the session these recordings are, and why the others are not used.

        Args:
            used: Recordings, or summaries of runs.
            asked: Ids of the runs that were asked for; None for all.

        Raises:
            SessionError: if the session cannot be read.
        """
        return selection_of(used, self.runs(), self.damaged(), self.annotations(), asked)

    def load_for_fit(self, ids: Iterable[str] | None = None, channels: Container[str] | None = None) -> list[Recording]:
        """Read runs for a fit, each trimmed as annotated.

        Args:
            ids: Runs to read; None for those of `fit_ids`.
            channels: Channels to keep, so that many runs take less memory; None keeps all.

        Raises:
            SessionError: if a run does not exist or is damaged.
            InputError: for a trim that does not fit the run.
        """
        noted = self.annotations()
        chosen = self.fit_ids() if ids is None else self._chosen(ids)
        return [_fit_part(self.load(identity), noted.get(identity, Annotation()), channels) for identity in chosen]

    def readable(self, ids: Iterable[str] | None = None) -> Iterator[tuple[str, Recording]]:
        """Read the runs of these ids, or all runs, one after the other; skip damaged ones.

        `damaged` lists the skipped runs.

        Yields:
            Id and recording of each run.

        Raises:
            SessionError: if a run does not exist.
        """
        for identity in self._chosen(ids):
            with contextlib.suppress(*UNUSABLE):
                yield identity, self.load(identity)

    def load_readable(self, ids: Iterable[str], channels: Container[str] | None = None) -> list[Recording]:
        """As `load_for_fit`, but skip runs that turn out to be damaged; `damaged` lists them from then on."""
        noted = self.annotations()
        return [_fit_part(run, noted.get(identity, Annotation()), channels) for identity, run in self.readable(ids)]

    def add(self, recording: Recording, exit_status: str | None = None) -> str:
        """Store an existing run.

        Args:
            recording: The run.
            exit_status: None keeps the status in the recording's provenance, or "success" if there is none.

        Returns:
            The run's id in this session.

        Raises:
            AnotherServoError: if the session has runs of another kind of servo.
            SessionError: if the run cannot be written.
        """
        return self.add_all([recording], exit_status)[0]

    def add_all(
        self,
        recordings: Iterable[Recording],
        exit_status: str | None = None,
        stored: Callable[[int, str], None] | None = None,
    ) -> list[str]:
        """Store runs: all of them, or none if one cannot be written.

        Args:
            recordings: The runs.
            exit_status: See `add`.
            stored: Called after each run with the number of runs stored so far and the run's id.

        Returns:
            The ids of the runs in this session.

        Raises:
            AnotherServoError: if these runs and those of the session are not of one kind of servo.
            SessionError: if a run cannot be written.
        """
        with self.adding(recordings, exit_status, stored) as ids:
            return ids

    @contextlib.contextmanager
    def adding(
        self,
        recordings: Iterable[Recording],
        exit_status: str | None = None,
        stored: Callable[[int, str], None] | None = None,
    ) -> Generator[list[str]]:
        """Write runs that appear together when the block ends, or never if it raises or the process dies in it.

        Arguments and errors as for `add_all`.

        Yields:
            The ids of the runs.
        """
        self._require_folder()
        if exit_status is not None and exit_status not in EXIT_STATUSES:
            raise SessionError(f"exit status {exit_status!r} is not one of {', '.join(EXIT_STATUSES)}")
        chosen = list(recordings)
        kinds: dict[str, str] = {}
        for run in chosen:
            kinds.setdefault(kind_of(run.settings, run.provenance), run.id)
        require_one_kind(self.path, self._kinds(), kinds)
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
                # The first run's lock marks the staged folder as alive, so it is held until the end.
                finally:
                    if lock is not owner:
                        lock.release()
            yield added
            if staged is not None:
                publish(staged)
        except OSError as error:
            come = "are stored, and appear when the session is opened again"
            what = come if self.are_committed(added) else "cannot be added"
            raise SessionError(f"{shown(self.path)}: the runs {what} ({cause(error)})") from None
        finally:
            if staged is not None:
                unstage(staged)
            for lock in (*locks, *([owner] if owner is not None else [])):
                lock.release()

    def are_committed(self, ids: Sequence[str]) -> bool:
        """Return True if runs of `adding` are part of the session, even if they appear only when it is opened again."""
        if not ids:
            return False
        number = number_of(ids[0])
        return self._run_file(ids[0]).exists() or (self._runs_folder / f".{number:04d}{COMMITTED}").exists()

    def require_servo(self, header: RunHeader) -> None:
        """Check that a run with this header may be recorded here.

        Raises:
            AnotherServoError: if the session has runs of another kind of servo.
            SessionError: if the runs cannot be listed.
        """
        require_one_kind(self.path, self._kinds(), {kind_of(header.settings, header.provenance): header.trajectory})

    def sink(self) -> SessionSink:
        """Return a picklable description of the place where a recorder stores its samples.

        It refuses runs of another kind of servo than those that the session has now.

        Raises:
            SessionError: if this is an exported session, or the runs cannot be listed.
        """
        if self.read_only:
            raise SessionError(f"{shown(self.path)}: an exported session is read-only; record into a session folder")
        return SessionSink(str(self._runs_folder.absolute()), tuple(sorted(self._kinds())))

    @property
    def gone(self) -> bool:
        """True while its folder or file is not there, e.g. deleted or on a drive that was unplugged."""
        return not (self.path if self.read_only else self.path / SESSION_NAME).exists()

    def recover(self) -> RecoveryReport:
        """Recover runs that a dead process left behind, e.g. after a recorder died."""
        if not self.read_only:
            self.recovery = recover(self._runs_folder)
        return self.recovery

    def data_hash(self, ids: Iterable[str] | None = None) -> str:
        """Return the SHA-256 of the evidence in these runs, or in all.

        The evidence is channels, benches, settings, trajectories and trims. The hash identifies the data that a result
        was made from. It does not depend on the runs' ids, order, times, uids and place.

        Raises:
            SessionError: for an unknown id.
        """
        known = {run.id: run for run in self.runs()}
        used = self._chosen(ids, list(known))
        if lost := [identity for identity in used if identity not in known]:
            raise SessionError(f"{shown(self.path)}: there is no run {shown(str(lost[0]))}")
        return data_hash([known[identity] for identity in used], self.annotations())

    @contextlib.contextmanager
    def run_group(self, run_id: str) -> Generator[h5py.Group]:
        """Open the HDF5 group of one run, for the modules of this package.

        A run that turns out to be damaged is among `damaged` from then on.

        Raises:
            SessionError: if there is no run of this id or it is damaged.
        """
        if not is_run_id(run_id):
            raise SessionError(f"{shown(self.path)}: {shown(str(run_id))!r} is not a run id")
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

    def _kinds(self) -> set[str]:
        """Return the kinds of servo of the runs and placed points, including a run that is being recorded."""
        found: set[str] = set()
        # Parts come first: one that ends meanwhile is among the runs then.
        for part in self._runs_folder.glob(f"*{PART}"):
            with contextlib.suppress(SessionError):
                facts = read_part_facts(part)
                found.add(kind_of(facts.settings, facts.provenance))
        with contextlib.suppress(SessionError, InputError):
            found |= {point.kind for point in points_from_json(self.document("placed_points")) if point.kind}
        return found | {run.kind for run in self.runs()}

    def _require_folder(self) -> None:
        if self.read_only:
            raise SessionError(f"{shown(self.path)}: an exported session is read-only; import it into a session folder")

    def _require_runs(self, ids: list[str]) -> None:
        """Raise SessionError unless there is a run of each id, readable or not."""
        exported = {run.id for run in self.runs()} if self.read_only else set[str]()
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
    """Return a run trimmed as annotated, with these channels only; raises InputError."""
    part = whole.trimmed(annotation.trim_begin, annotation.trim_end)
    if channels is None:
        return part
    kept = {name: values for name, values in part.channels.items() if name in channels}
    return replace(part, channels=kept, unread=tuple(set(part.channels) - set(kept)))
