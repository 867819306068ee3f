"""A run under way: `NNNN_….h5.part`, facts as attributes and one table `samples` in SWMR mode.

Each row carries a CRC-32 of its bytes, so that after a crash exactly the rows that reached the disk whole are
taken; fletcher32 would give up a whole chunk for one torn row, so only finished files use it.

HDF5 does not survive a write that fails: the process may crash when the objects concerned are released. So HDF5
only ever writes where room has been reserved before; a full disk is met by the reservation, with HDF5 in good
order.

How the run ended is a line behind the end of the closed file, so that a run that is complete but cannot be sealed (a
full disk) is not taken for one that crashed.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from core.recording import CHANNELS, REQUIRED_CHANNELS, SAMPLE_DTYPE
from sessions.errors import UnreadableError
from sessions.facts import EXIT_STATUSES, RunFacts, storable
from sessions.schema import CHANNEL_DTYPES, MAX_SAMPLES, check_channels, read_facts, reading, write_facts
from sessions.superblock import ClosedView
from sessions.trial import read_values, survive

PART, FRESH, ASIDE = ".part", ".new", ".tmp"
"""Endings after `.h5`: a run under way, one that has no sample yet, a finished file not yet in place."""

ROW_DTYPE = np.dtype([*CHANNEL_DTYPES.items(), ("checksum", "<u4")])
"""One row of a part file: the channels of SAMPLE_DTYPE and the CRC-32 of their bytes."""

CHUNK_ROWS = 1024
ROOM = 2**20
"""Room kept free behind the end of a file for HDF5's own needs [bytes]; a chunk and its index take a tenth of it."""

CHECKSUM_BYTES = 4
END_MARK = b"\nServoBench end "
MOST_END_BYTES = 16_384
"""Longest line about the end; a reason of `sessions.facts.MAX_TEXT` takes at most 12,000 bytes in JSON."""

_UNWRITABLE: list[tuple[h5py.File, h5py.Dataset]] = []
"""Files HDF5 failed to write; releasing them would end the process, so they are kept."""


class Part:
    """The part file of one run, open for its writer."""

    def __init__(self, path: Path, facts: RunFacts) -> None:
        """Create the file, readable after any crash from here on; raises what the disk or HDF5 raises.

        It gets its name only once it is complete, so a process killed before leaves a `.new` without any data.
        """
        fresh = path.with_suffix(FRESH)
        self._file: h5py.File | None = None
        try:
            write_reserved(fresh, image(lambda file: _lay_out(file, facts), libver="latest"))
            self._file = h5py.File(fresh, "r+", libver="latest")
            self._table: Any = self._file["samples"]
            self._reserved = os.path.getsize(fresh)
            self._file.swmr_mode = True
            self._table.flush()
            fresh.rename(path)
        except BaseException:
            self.close()
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise
        self._path = path

    def append(self, rows: NDArray[Any]) -> None:
        """Bring rows of SAMPLE_DTYPE to the disk; raises OSError if there is no room and what HDF5 raises."""
        assert self._file is not None
        stored = np.empty(len(rows), ROW_DTYPE)
        for name in CHANNEL_DTYPES:
            stored[name] = rows[name]
        stored["checksum"] = _checksums(stored)
        needed = self._file.id.get_filesize() + stored.nbytes + ROOM
        if needed > self._reserved:
            reserve(self._file.id.get_vfd_handle(), needed + ROOM)
            self._reserved = needed + ROOM
        try:
            end = self._table.shape[0]
            self._table.resize((end + len(stored),))
            self._table[end:] = stored
            self._table.flush()
        except (OSError, RuntimeError, ValueError):
            _UNWRITABLE.append((self._file, self._table))
            raise

    def keep(self) -> None:
        """Write the file again if somebody has deleted it, or its folder, under the open run; raises OSError."""
        if self._file is None or self._path.exists():
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, place = self._file.id.get_vfd_handle(), 0
        with self._path.open("xb") as copy:
            while block := os.pread(descriptor, ROOM, place):
                place += copy.write(block)

    def close(self) -> None:
        """Let go of the file; what is on the disk stays, whatever HDF5 says."""
        if self._file is not None:
            with contextlib.suppress(OSError, RuntimeError, ValueError):
                self._file.close()


def image(fill: Callable[[h5py.File], None], **options: Any) -> bytes:
    """Return the bytes of an HDF5 file made in memory, where no write can fail."""
    with h5py.File("image", "w", driver="core", backing_store=False, **options) as file:
        fill(file)
        file.flush()
        return file.id.get_file_image()


def write_reserved(path: Path, content: bytes, room: int = ROOM) -> None:
    """Write a new file with room behind it; raises OSError and leaves no file then."""
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
            reserve(file.fileno(), len(content) + room)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def reserve(descriptor: int, size: int) -> None:
    """Make sure that an open file can be written up to a size [bytes]; raises OSError.

    A system that cannot promise room is taken at its word.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)


def write_end(path: Path, exit_status: str, reason: str, finished: str) -> None:
    """Note in a closed part how its run ended; raises OSError, which costs no sample."""
    content = json.dumps([exit_status, storable(reason), finished]).encode("ascii")
    with path.open("rb+") as file:
        file.seek(0, os.SEEK_END)
        file.write(END_MARK + b"%08x " % zlib.crc32(content) + content + b"\n")


def _read_end(path: Path) -> dict[str, str]:
    """Return the facts of `write_end`, none if the process died before or the line is torn."""
    with path.open("rb") as file:
        file.seek(max(0, os.path.getsize(path) - MOST_END_BYTES))
        _, mark, line = file.read().rpartition(END_MARK)
    if not mark or not line.endswith(b"\n") or line[:8] != b"%08x" % zlib.crc32(line[9:-1]):
        return {}
    end = json.loads(line[9:-1])
    if not isinstance(end, list) or len(end) != 3 or not all(isinstance(text, str) for text in end):
        return {}
    return dict(zip(("exit_status", "reason", "finished"), end, strict=True)) if end[0] in EXIT_STATUSES else {}


@contextlib.contextmanager
def part_opened(path: Path, checked: bool = True) -> Iterator[h5py.File]:
    """Open a part whose writer has closed it or died; raises UnreadableError.

    checked: whether the part is tried in another process first. Its own writer may skip this.
    """
    with reading(path):
        if checked:
            survive(path)
        with ClosedView(path) as view, h5py.File(view, "r") as file:
            yield file


def read_part(path: Path, checked: bool = True) -> tuple[RunFacts, NDArray[Any]]:
    """Read a part: facts and its longest run of whole rows, of SAMPLE_DTYPE; raises UnreadableError, NewerFormatError.

    checked: see `part_opened`. The exit status is empty if the process died before the run ended.
    """
    with part_opened(path, checked) as file:
        facts = replace(read_facts(file), **{"exit_status": "", **_read_end(path)})
        table = file["samples"]
        if not isinstance(table, h5py.Dataset) or not _holds_rows(table.dtype) or table.ndim != 1:
            raise UnreadableError("the table of samples is missing or of a wrong type")
        if table.shape[0] > MAX_SAMPLES:
            raise UnreadableError(f"{table.shape[0]} samples cannot be")
        rows = read_values(table, "the table of samples")
    wrong = np.flatnonzero(rows["checksum"] != _checksums(rows))
    whole = rows[: wrong[0]] if wrong.size else rows
    result = np.empty(len(whole), SAMPLE_DTYPE)
    for name, kind in CHANNEL_DTYPES.items():
        result[name] = whole[name] if name in whole.dtype.names else (np.nan if kind.kind == "f" else 0)
    return facts, result


def _holds_rows(dtype: np.dtype[Any]) -> bool:
    """Tell whether rows are of this version, or of one that knew fewer channels; raises NewerFormatError."""
    names = dtype.names or ()
    check_channels(set(names) - {"checksum"})
    known = [name for name in CHANNEL_DTYPES if name in names or name in REQUIRED_CHANNELS]
    return dtype == np.dtype([*((name, CHANNEL_DTYPES[name]) for name in known), ("checksum", "<u4")])


def _lay_out(file: h5py.File, facts: RunFacts) -> None:
    """Facts and an empty table, with texts of fixed length only.

    Texts of variable length lie in a heap without checksums, and HDF5 may read a damaged heap for ever.
    """
    write_facts(file, facts)
    table = file.create_dataset("samples", (0,), ROW_DTYPE, maxshape=(None,), chunks=(CHUNK_ROWS,), track_times=False)
    table.attrs["units"] = ",".join([*(channel.unit for channel in CHANNELS), "1"])
    table.attrs["description"] = "one row per sample; checksum is the CRC-32 of the row's other bytes"
    for attributes in (file.attrs, table.attrs, file["provenance"].attrs):
        for name, text in [(name, value.encode()) for name, value in attributes.items() if isinstance(value, str)]:
            attributes.create(name, np.bytes_(text), dtype=h5py.string_dtype("utf-8", max(1, len(text))))


def _checksums(rows: NDArray[Any]) -> NDArray[np.uint32]:
    """CRC-32 of each row's bytes without the checksum."""
    data = memoryview(np.ascontiguousarray(rows).tobytes())
    size = rows.dtype.itemsize
    checked = (data[start : start + size - CHECKSUM_BYTES] for start in range(0, len(data), size))
    return np.fromiter(map(zlib.crc32, checked), np.uint32, len(rows))
