"""The sink of a recorder: samples reach a part file at most half a second after they were taken.

`SessionSink` is sent to the recorder's process as plain data. Its `open` creates the run there and returns the
`RunWriter`, which owns the file until `finish`. Both follow the protocols in core.motion.recording.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.motion.recording import SAMPLE_DTYPE, RunHeader
from sessions.documents import noted_numbers
from sessions.errors import EmptyRunError, SessionError, cause, shown
from sessions.header import EXIT_STATUSES, RunFacts, now, run_id
from sessions.servo_kind import kind_of, require_one_kind
from sessions.writing.locks import claim_numbers
from sessions.writing.part import PART, Part, read_part
from sessions.writing.sealing import seal

FLUSH_INTERVAL = 0.5
"""Longest time that samples stay in memory only [s]."""


@dataclass(frozen=True)
class SessionSink:
    """Picklable description of the place where a recorder stores its samples."""

    runs_folder: str
    kinds: tuple[str, ...] = ()
    """Kinds of servo that the session has runs of, see `sessions.servo_kind`."""

    def open(self, header: RunHeader) -> RunWriter:
        """Create the next run's file.

        Raises:
            AnotherServoError: if the session has runs of another kind of servo.
            SessionError: if the disk refuses.
        """
        runs = Path(self.runs_folder)
        require_one_kind(runs.parent, self.kinds, {kind_of(header.settings, header.provenance): header.trajectory})
        return RunWriter(runs, header)


class RunWriter:
    """One run being written to the disk."""

    def __init__(self, runs: Path, header: RunHeader) -> None:
        try:
            self._lock = claim_numbers(runs, 1, noted_numbers(runs.parent))[0]
        except OSError as error:
            raise SessionError(f"{shown(runs)}: no run can be recorded here ({cause(error)})") from None
        self.id = run_id(self._lock.number, header.trajectory, header.settings.kp)
        self._final = runs / f"{self.id}.h5"
        self._part_path = runs / f"{self.id}.h5{PART}"
        self._pending: list[NDArray[Any]] = []
        self._finished = False
        self._failure = ""
        self.rows_flushed = 0
        """Number of rows that survive if the process dies now."""
        try:
            self._part = Part(self._part_path, RunFacts.from_header(self.id, header))
        except (OSError, RuntimeError, ValueError) as error:
            self._lock.release()
            raise SessionError(f"{shown(self._part_path)}: the run cannot be created ({cause(error)})") from None
        except BaseException:
            self._lock.release()
            raise
        self._last_flush = self._last_append = time.monotonic()

    def append(self, rows: NDArray[Any]) -> None:
        """Take rows; they are on disk within FLUSH_INTERVAL of further appending.

        Args:
            rows: (k,) of SAMPLE_DTYPE.

        Raises:
            InputError: for rows of another type.
            SessionError: if the disk refuses them. No more rows are accepted then, and `finish` seals the rows flushed
                before.
        """
        self._require_open()
        if rows.dtype != SAMPLE_DTYPE or rows.ndim != 1:
            raise InputError(f"run {self.id}: rows of type {rows.dtype} and shape {rows.shape} are not samples")
        self._pending.append(rows.copy())
        moment, before = time.monotonic(), self._last_append
        self._last_append = moment
        # The next rows will come about as much later as these came after the last ones, which may be too late to flush.
        if moment + (moment - before) - self._last_flush >= FLUSH_INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write all rows taken so far to the disk.

        Raises:
            SessionError: if the disk refuses.
        """
        self._require_open()
        self._last_flush = time.monotonic()
        if not self._pending:
            return
        rows = np.concatenate(self._pending)
        try:
            self._part.append(rows)
        except OSError as error:
            self._failure = (
                f"{shown(self._part_path)}: samples cannot be written ({cause(error)}); "
                f"{self.rows_flushed} samples before them are safe"
            )
            raise SessionError(self._failure) from None
        self._pending.clear()
        self.rows_flushed += len(rows)

    def finish(self, exit_status: str, reason: str = "") -> str:
        """Seal the run and return its id.

        Args:
            exit_status: "success", "abort", "fail" or "crashed".
            reason: Reason for the exit status.

        Raises:
            EmptyRunError: if fewer than two samples came; the run is then gone.
            SessionError: if the last samples cannot be written; the run is then sealed without them as failed. Also if
                the finished file cannot be written; the samples then stay in the part file and are recovered on the
                next opening.
        """
        if exit_status not in EXIT_STATUSES:
            raise InputError(f"run {self.id}: exit status {exit_status!r} is not one of {', '.join(EXIT_STATUSES)}")
        refusal = None
        if self._failure:
            self._require_unfinished()
        else:
            try:
                self.flush()
            except SessionError as error:
                refusal = error
                exit_status, reason = "fail", "; ".join(text for text in (reason, cause(error)) if text)
        self._finished = True
        finished = now()
        # The ending is noted in the part first, so that a run that cannot be sealed now does not count as a crash.
        self._part.finish(exit_status, reason, finished)
        try:
            # Read back from the disk, not from memory: this finds a disk that lost samples.
            facts, rows = read_part(self._part_path)
            if len(rows) < self.rows_flushed:
                raise SessionError(
                    f"{shown(self._part_path)}: {len(rows)} of {self.rows_flushed} samples read back: check the disk"
                )
            seal(self._final, replace(facts, exit_status=exit_status, reason=reason, finished=finished), rows)
            self._remove_part()
        except EmptyRunError:
            self._remove_part()
            raise
        except SessionError as error:
            if not self._part_path.exists():
                raise SessionError(
                    f"{shown(self._part_path)}: the file was deleted while it was recorded, and with it "
                    f"{self.rows_flushed} samples"
                ) from None
            raise SessionError(
                f"{error}; its {self.rows_flushed} samples stay in {self._part_path.name} and become a run when the "
                "session is opened and there is room"
            ) from None
        finally:
            self._lock.release()
        if refusal is not None:
            raise refusal
        return self.id

    def _remove_part(self) -> None:
        with contextlib.suppress(OSError):
            self._part_path.unlink(missing_ok=True)

    def _require_open(self) -> None:
        self._require_unfinished()
        if self._failure:
            raise SessionError(self._failure)

    def _require_unfinished(self) -> None:
        if self._finished:
            raise SessionError(f"run {self.id}: it is finished and no longer open for samples")
