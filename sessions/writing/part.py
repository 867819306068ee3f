"""The file of a running recording, `NNNN_….h5.part`: a flat log to which samples are only appended.

    header line      CRC-32 in hexadecimal, then JSON: format, facts of the run, names of its channels
    end line         the same, about how the run ended; blank until then
    rows             of fixed size, see `row_dtype`, each with the CRC-32 of its other bytes

After a crash, exactly the rows before the first torn one are used. The space of the end line is written in advance, so
that a complete run that cannot be sealed (full disk) does not look like a crash.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.atomic import write_atomically
from core.base.guards import is_array, is_object
from core.motion.recording import REQUIRED_CHANNELS, SAMPLE_DTYPE
from core.servo.bench import Bench
from sessions.errors import UnreadableError
from sessions.header import EXIT_STATUSES, RunFacts, checked_settings, creator_version, is_run_id, storable
from sessions.run_file.schema import (
    FORMAT_VERSION,
    MAX_SAMPLES,
    RECORDED_DTYPES,
    check_channels,
    check_version,
    reading,
)

PART, ASIDE = ".part", ".tmp"
"""Endings after `.h5`: a run being recorded, and a finished file not yet in place."""

PART_FORMAT = "servobench-part"
END_ROOM = 2**15
"""Bytes of the end line; a reason of `sessions.header.MAX_TEXT` characters takes at most 24,000 in JSON."""
LONGEST_HEADER = 2**26
"""Longest first line [bytes]; a longer one counts as damage."""


class Part:
    """The part file of one run, open for its writer."""

    def __init__(self, path: Path, facts: RunFacts) -> None:
        """Create the file, readable after any later crash.

        Raises:
            OSError: if the disk refuses.
        """
        header = _checked_line(_header(facts))
        self._path, self._end_line = path, len(header)
        try:
            write_atomically(path, header + b" " * (END_ROOM - 1) + b"\n")
            self._file = path.open("r+b", buffering=0)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows of SAMPLE_DTYPE to the disk, all or none.

        Raises:
            OSError: if the disk refuses.
        """
        stored = np.empty(len(rows), row_dtype(RECORDED_DTYPES))
        for name in RECORDED_DTYPES:
            stored[name] = rows[name]
        stored["checksum"] = _checksums(stored)
        end = self._file.seek(0, os.SEEK_END)
        try:
            self._write(stored.tobytes())
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            raise

    def finish(self, exit_status: str, reason: str, finished: str) -> None:
        """Note how the run ended and close the file. If the disk refuses the note, no sample is lost.

        The file is written again if it, or its folder, was deleted during the run.
        """
        with contextlib.suppress(OSError), self._file:
            with contextlib.suppress(OSError):
                self._file.seek(self._end_line)
                self._write(_checked_line([exit_status, storable(reason), finished]))
            if not self._path.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file.seek(0)
                with self._path.open("xb") as copy:
                    shutil.copyfileobj(self._file, copy)

    def close(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[self._file.write(left) :]


def read_part(path: Path) -> tuple[RunFacts, NDArray[Any]]:
    """Read a part that no process is writing.

    Returns:
        The facts, and the rows before the first torn one, of SAMPLE_DTYPE. The exit status is empty if the process
        died before the run ended.

    Raises:
        UnreadableError: for a damaged file.
        NewerFormatError: for a file of a newer version.
    """
    with reading(path), path.open("rb") as file:
        facts, dtype = _read_header(file.readline(LONGEST_HEADER))
        end = file.read(END_ROOM).partition(b"\n")[0] + b"\n"
        if os.path.getsize(path) > MAX_SAMPLES * dtype.itemsize:
            raise UnreadableError("there cannot be so many samples")
        stored = np.fromfile(file, dtype)
        return replace(facts, **{"exit_status": "", **_read_end(end)}), _whole(stored)


def read_part_facts(path: Path) -> RunFacts:
    """Read the facts of a run that may still be recorded.

    Raises:
        UnreadableError: for a damaged file.
        NewerFormatError: for a file of a newer version.
    """
    with reading(path), path.open("rb") as file:
        return _read_header(file.readline(LONGEST_HEADER))[0]


def row_dtype(names: Collection[str]) -> np.dtype[Any]:
    """Return the type of a row of these channels and all required ones.

    Raises:
        NewerFormatError: for an unknown channel.
    """
    check_channels(names)
    known = [name for name in RECORDED_DTYPES if name in names or name in REQUIRED_CHANNELS]
    return np.dtype([*((name, RECORDED_DTYPES[name]) for name in known), ("checksum", "<u4")])


def _header(facts: RunFacts) -> dict[str, Any]:
    return {
        "format": PART_FORMAT,
        "format_version": FORMAT_VERSION,
        "creator": f"ServoBench {creator_version()}",
        "id": facts.id,
        "trajectory": facts.trajectory,
        "bench": facts.bench.to_json(),
        "settings": facts.settings.to_json(),
        "provenance": facts.full_provenance(),
        "channels": list(RECORDED_DTYPES),
    }


def _read_header(line: bytes) -> tuple[RunFacts, np.dtype[Any]]:
    """Return the facts of a run and the type of its rows; `reading` converts the errors."""
    header = _checked(line)
    if not is_object(header) or header.get("format") != PART_FORMAT:
        raise UnreadableError("the first line is damaged or not that of a run")
    check_version(header.get("format_version"))
    if not is_run_id(header["id"]):
        raise UnreadableError("the run has no valid id")
    bench, settings = Bench.from_json(header["bench"]), checked_settings(header["settings"])
    facts = RunFacts.from_provenance(header["id"], header["trajectory"], bench, settings, header["provenance"])
    return facts, row_dtype(header["channels"])


def _read_end(line: bytes) -> dict[str, str]:
    """Return the facts of the end line; empty if the process died before it or the line is torn."""
    end = _checked(line)
    if not is_array(end) or len(end) != 3 or not all(isinstance(text, str) for text in end):
        return {}
    return dict(zip(("exit_status", "reason", "finished"), end, strict=True)) if end[0] in EXIT_STATUSES else {}


def _checked_line(data: object) -> bytes:
    """Return data as one line of JSON, preceded by its CRC-32."""
    content = json.dumps(data).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(content), content)


def _checked(line: bytes) -> Any:
    """Return the data of a `_checked_line`; None for a torn or blank line."""
    if not line.endswith(b"\n") or line[:8] != b"%08x" % zlib.crc32(line[9:-1]):
        return None
    return json.loads(line[9:-1])


def _whole(stored: NDArray[Any]) -> NDArray[Any]:
    """Return the rows before the first one with a wrong checksum, in SAMPLE_DTYPE; raises UnreadableError."""
    names = [name for name in stored.dtype.names or () if name != "checksum"]
    if stored.dtype != row_dtype(names):
        raise UnreadableError("the table of samples has the wrong type")
    wrong = np.flatnonzero(stored["checksum"] != _checksums(stored))
    whole = stored[: wrong[0]] if wrong.size else stored
    result = np.empty(len(whole), SAMPLE_DTYPE)
    for name, kind in RECORDED_DTYPES.items():
        result[name] = whole[name] if name in names else (np.nan if kind.kind == "f" else 0)
    return result


def _checksums(rows: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each row's bytes without the checksum, which comes last."""
    data, size = memoryview(rows.tobytes()), rows.dtype.itemsize
    checked = (data[start : start + size - 4] for start in range(0, len(data), size))
    return np.fromiter(map(zlib.crc32, checked), np.uint32, len(rows))
