"""Recovery after a crash: parts without an owner are sealed like any other run.

Their exit status is "crashed", unless the run had ended and only its file could not be written.

Nothing that may hold a sample is ever deleted: a part that cannot be read, or that holds fewer than two samples, is
moved to `runs/damaged/` and reported once. A part that cannot be sealed now (full or read-only disk) stays for the
next opening.
"""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from core.base.errors import ServoBenchError
from sessions.errors import EmptyRunError, SessionError, UnreadableError, cause, shown
from sessions.header import RunFacts, is_run_id
from sessions.run_file.schema import opened, read_facts, read_recording
from sessions.run_file.summary import read_summary
from sessions.writing.locks import COMMITTED, STAGED, RunLock, number_of
from sessions.writing.part import ASIDE, PART, read_part
from sessions.writing.sealing import seal
from sessions.writing.staging import finish

LOG = logging.getLogger(__name__)
ENDINGS = (PART, ASIDE, STAGED, COMMITTED, ".lock")
"""Endings of files that a process leaves behind when it dies."""
CRASH_REASON = "the recording process ended without finishing this run; recovered from its part file"


@dataclass(frozen=True)
class RecoveredRun:
    """A run that was sealed with exit status "crashed"."""

    id: str
    trajectory: str
    samples: int
    seconds: float
    """Time from the first to the last saved sample [s]."""
    started: str
    """ISO 8601; empty if unknown."""


@dataclass(frozen=True)
class DamagedPart:
    """A part that could not be read."""

    file: str
    """Its name, which shows run and trajectory."""
    size: int
    """[bytes]"""
    written: str
    """Time of the last write, ISO 8601; empty if unknown."""
    kept_as: str
    """Current place inside the runs folder."""
    reason: str
    """Reason why it was not recovered, one line."""


@dataclass(frozen=True)
class RecoveryReport:
    """Findings on opening a session; each text is one line for the user."""

    runs: tuple[RecoveredRun, ...] = ()
    parts: tuple[DamagedPart, ...] = ()
    """Parts that were moved to runs/damaged/."""
    postponed: tuple[str, ...] = ()
    """Parts that could not be sealed now and stay where they are, with the reason."""
    recording: tuple[int, ...] = ()
    """Numbers of the runs that a living process is recording."""
    completed: tuple[str, ...] = ()
    """Ids of runs that had ended earlier but whose files could be written only now."""

    @property
    def recovered(self) -> tuple[str, ...]:
        """Ids of the runs that were recovered."""
        return tuple(run.id for run in self.runs)

    @property
    def damaged(self) -> tuple[str, ...]:
        """Files that were moved to runs/damaged/ and the reasons, one line each."""
        return tuple(f"{part.reason}; the file was moved to {part.kept_as}" for part in self.parts)

    @property
    def messages(self) -> tuple[str, ...]:
        """Everything the user should know, one line each."""
        return (
            *(f"run {identity} was recovered after a crash" for identity in self.recovered),
            *(f"run {identity} had ended earlier, and its file was written now" for identity in self.completed),
            *self.damaged,
            *self.postponed,
        )


def recover(runs: Path) -> RecoveryReport:
    """Seal or set aside everything in a runs folder that no living process owns; never raises for bad files."""
    recovered: list[RecoveredRun] = []
    damaged: list[DamagedPart] = []
    postponed: list[str] = []
    recording: list[int] = []
    completed: list[str] = []
    for number in _left_behind(runs):
        try:
            lock = RunLock.seize(runs, number)
        except OSError as error:
            postponed.append(f"run {number:04d} cannot be recovered now ({cause(error)})")
            continue
        if lock is None:
            recording.append(number)
            continue
        # First complete or remove runs that were being added together under this number.
        try:
            with contextlib.suppress(OSError):
                finish(runs, number)
            for part in _files_of(runs, number, PART):
                _recover_part(part, recovered, completed, damaged, postponed)
            for unfinished in _files_of(runs, number, ASIDE):
                with contextlib.suppress(OSError):
                    unfinished.unlink(missing_ok=True)
        finally:
            lock.release()
    report = RecoveryReport(tuple(recovered), tuple(damaged), tuple(postponed), tuple(recording), tuple(completed))
    for message in (*report.damaged, *report.postponed):
        LOG.warning(message)
    return report


def _left_behind(runs: Path) -> list[int]:
    try:
        with os.scandir(runs) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(ENDINGS)]
    except OSError:
        return []
    return sorted({number for name in names if (number := number_of(name)) is not None})


def _files_of(runs: Path, number: int, ending: str) -> list[Path]:
    return sorted(path for path in runs.glob(f"*{ending}") if number_of(path.name) == number)


def _recover_part(
    part: Path,
    recovered: list[RecoveredRun],
    completed: list[str],
    damaged: list[DamagedPart],
    postponed: list[str],
) -> None:
    final = part.with_name(part.name.removesuffix(PART))
    identity = final.name.removesuffix(".h5")
    try:
        if _is_sealed(final, part):
            part.unlink()
            return
        if not is_run_id(identity):
            raise UnreadableError(f"{shown(part)}: this is not the name of a run")
        facts, rows = read_part(part)
        if final.exists():
            raise UnreadableError(f"{shown(part)}: another run already has the name {shown(final.name)}")
        facts = replace(facts, id=identity)
        complete = bool(facts.exit_status)
        if not complete:
            last = float(np.nanmax(rows["time"])) if np.any(np.isfinite(rows["time"])) else 0.0
            facts = replace(facts, exit_status="crashed", reason=CRASH_REASON, finished=_later(facts, last))
        seal(final, facts, rows)
        saved = _saved(final)
        # Only after the finished file was read back; until then the part is the only copy.
        part.unlink()
        if complete:
            completed.append(identity)
        else:
            recovered.append(saved)
    except (UnreadableError, EmptyRunError) as error:
        _set_aside(part, error, damaged, postponed)
    except (SessionError, OSError) as error:
        postponed.append(f"run {identity} was not recovered yet: {cause(error)}")


def _is_sealed(final: Path, part: Path) -> bool:
    """Return True if the process died after putting the finished run in place, just before removing its part."""
    try:
        with opened(final) as file:
            read_recording(file)
            uid = read_facts(file).uid
        return read_part(part)[0].uid == uid
    except ServoBenchError:
        return False


def _later(facts: RunFacts, seconds: float) -> str:
    try:
        moment = datetime.fromisoformat(facts.started) + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat(timespec="milliseconds")


def _saved(final: Path) -> RecoveredRun:
    """Return the facts in the file of a run that was just sealed; raises SessionError."""
    with opened(final) as file:
        run = read_summary(file, final.name)
    return RecoveredRun(run.id, run.trajectory, run.samples, run.duration, run.started)


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _set_aside(part: Path, error: Exception, damaged: list[DamagedPart], postponed: list[str]) -> None:
    folder = part.parent / "damaged"
    target = folder / part.name
    try:
        folder.mkdir(exist_ok=True)
        extra = 1
        while target.exists():
            extra += 1
            target = folder / f"{part.name}.{extra}"
        status = part.stat()
        part.rename(target)
    except OSError as refusal:
        postponed.append(f"{error}; it cannot be moved to {shown(folder)} ({cause(refusal)})")
    else:
        kept_as = shown(f"{folder.name}/{target.name}")
        damaged.append(DamagedPart(shown(part.name), status.st_size, _moment(status.st_mtime), kept_as, str(error)))
