"""Identification from a session's runs to files, the same for the window and for `bench identify`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.base.errors import IdentificationError, ServoBenchError
from core.base.sealed import warn_once
from core.identification.diagnosis import diagnosed
from core.identification.identify import IdentificationRequest, Progress, identify
from core.identification.result import Identification, ModelResult
from core.identification.runs.split import Split, split_recordings
from core.identification.search.study import JOURNAL, StorageError
from core.identification.workload import FITTED
from core.motion.recording import READ_CHANNELS, Recording, require_loads
from sessions.results.folder import RECORD, RESULT, OnProgress, working_on
from sessions.results.identification import load_identification, save_identification
from sessions.results.record import IdentificationRecord, begin_record, check_resumable, read_record
from sessions.selection import Selection
from sessions.store import Session


@dataclass(frozen=True, eq=False)
class KeptIdentification:
    """Result of an identification and its files."""

    identification: Identification
    files: tuple[Path, ...]
    problem: str = ""
    """Reason why the files could not be written; empty if they were."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Callbacks of a running identification. `should_stop` and `should_yield` are polled between generations."""

    loaded: Callable[[Sequence[Recording], Split], None] = lambda recordings, split: None
    progressed: Callable[[Progress], None] = lambda progress: None
    recalled: Callable[[Progress], None] = lambda progress: None
    """As `progressed`, for stored generations of an earlier search."""
    staged: OnProgress = lambda share, text: None
    """Called with the share done and the next stage outside the searches."""
    should_stop: Callable[[], bool] = lambda: False
    should_yield: Callable[[], bool] = lambda: False


def run_identification(
    recordings: Sequence[Recording],
    request: IdentificationRequest,
    folder: Path,
    watch: Watch,
    *,
    selection: Selection | None = None,
    resume: bool = False,
    storage: str = "",
) -> KeptIdentification:
    """Identify from recordings and store everything in a folder.

    Args:
        recordings: Runs to use.
        request: Settings, with the hash of the recordings' data.
        folder: Folder to store in.
        watch: Callbacks.
        selection: Stored in the provenance of every model.
        resume: Continue the identification in the folder.
        storage: Storage of the studies, see `identify`.

    Raises:
        IdentificationError: if the folder holds another identification, or, with `resume`, another request or runs
            that have changed since.
    """
    runs = tuple(recording.id for recording in recordings)
    # Runs that cannot be used, or an impossible split, leave no folder behind.
    require_loads(*recordings)
    split = split_recordings(recordings, request.validation, request.seed)
    with working_on(folder):
        record = _record(folder, runs, request, resume)
        request = replace(request, contact=record.request.contact)
        try:
            watch.loaded(recordings, split)
            found = identify(
                request,
                recordings,
                folder=folder,
                storage=storage,
                resume=resume,
                known=_earlier(folder) if resume else (),
                on_progress=watch.progressed,
                on_recorded=watch.recalled,
                on_stage=watch.staged,
                should_stop=watch.should_stop,
                should_yield=watch.should_yield,
            )
        except ServoBenchError as error:
            # A search cut short by a full disk or a lost database can be continued. This record may fail, too.
            with contextlib.suppress(IdentificationError):
                record.ended("stopped" if isinstance(error, StorageError) else "failed")
            raise
        if not found.stopped:
            watch.staged(FITTED, "comparing headers, clocks and residuals with the result")
            found = diagnosed(found, recordings, request.threads, watch.should_stop)
        if selection is not None:
            found = found.with_provenance({"selection": selection.to_json()})
        try:
            files = tuple(save_identification(found, folder))
            record.ended("stopped" if found.stopped else "finished")
        except ServoBenchError as error:
            return KeptIdentification(found, (), str(error))
    return KeptIdentification(found, files)


def _record(folder: Path, runs: tuple[str, ...], request: IdentificationRequest, resume: bool) -> IdentificationRecord:
    if (folder / JOURNAL).exists() and not resume:
        raise IdentificationError(f"{folder} already holds an identification; choose another folder or resume it")
    if resume and (folder / RECORD).exists():
        record = read_record(folder)
        check_resumable(record, request, runs)
        return record.ended("")
    return begin_record(folder, runs, request)


def _earlier(folder: Path) -> tuple[ModelResult, ...]:
    """Return the models that an earlier stop kept in a folder; empty if there are none that can be read."""
    try:
        return load_identification(folder).results
    except IdentificationError as error:
        if (folder / RESULT).exists():
            warn_once(f"{error}; the models of the earlier stop are left out")
        return ()


def load_again(record: IdentificationRecord, session: Session) -> list[Recording]:
    """Return the recordings of a record.

    Raises:
        IdentificationError: if they have changed since it was begun.
    """
    lost = session.missing(record.runs)
    excluded = [] if lost else sorted(set(record.runs) - set(session.fit_ids(record.runs)))
    if lost or excluded:
        what = lost[0] if lost else f"{', '.join(excluded)} excluded"
        raise IdentificationError(
            f"the runs have changed since this identification was begun ({what}); begin a new one"
        )
    return session.load_for_fit(record.runs, READ_CHANNELS)
