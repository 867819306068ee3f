"""A ring of rows in shared memory: one process writes, any number of readers, and no one waits.

Each slot holds a row between its sequence number and a checksum over both. A reader uses a slot only if both match. A
row that is being overwritten is therefore never taken for a whole one, in whatever order the processor makes stores
visible. A reader that falls behind by more than the capacity gets the number of rows it lost.

The memory is anonymous (`multiprocessing.RawArray`): it has no name that could be left behind, and it disappears with
the last process that holds it, even a killed one. A ring is passed to a process as an argument of its start.
"""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = 8
_HEAD_WORDS = 8
"""Words of the head: the count of rows written, alone in its cache line."""


class Ring:
    """Shared memory for `capacity` rows of `dtype`. Picklable while a process starts."""

    def __init__(self, context: SpawnContext, dtype: np.dtype[Any], capacity: int) -> None:
        self.dtype = dtype
        self.capacity = capacity
        self._row_words = -(-dtype.itemsize // _WORD)
        self._memory = context.RawArray("B", _WORD * (_HEAD_WORDS + capacity * (self._row_words + 2)))

    @property
    def words(self) -> NDArray[np.uint64]:
        """The whole memory as words: head, then slots of (sequence, row, checksum)."""
        return np.frombuffer(self._memory, dtype=np.uint64)

    @property
    def head(self) -> NDArray[np.uint64]:
        """Number of rows written so far, shape (1,)."""
        return self.words[:1]

    @property
    def slots(self) -> NDArray[np.uint64]:
        """The slots, shape (capacity, row words + 2)."""
        return self.words[_HEAD_WORDS:].reshape(self.capacity, self._row_words + 2)

    @property
    def weights(self) -> NDArray[np.uint64]:
        """Odd factors of the checksum, one per word; odd ones lose no bit modulo 2⁶⁴."""
        index = np.arange(1, self._row_words + 2, dtype=np.uint64)
        return (index * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)


class RingWriter:
    """The single producer."""

    def __init__(self, ring: Ring) -> None:
        self._head = ring.head
        self._slots = ring.slots
        self._weights = ring.weights
        self._capacity = ring.capacity
        self._written = int(self._head[0])
        self._scratch = np.zeros(self._slots.shape[1], dtype=np.uint64)
        self._row = self._scratch[1:-1].view(np.uint8)[: ring.dtype.itemsize].view(ring.dtype)

    def push(self, row: NDArray[Any] | tuple[Any, ...]) -> None:
        """Write one row; takes a few microseconds and never waits."""
        scratch = self._scratch
        self._row[0] = row
        scratch[0] = self._written + 1
        scratch[-1] = np.dot(scratch[:-1], self._weights)
        self._slots[self._written % self._capacity] = scratch
        self._written += 1
        self._head[0] = self._written


@dataclass(frozen=True, eq=False)
class RingRows:
    """Rows (k,) in order, and the number of rows before them that were overwritten unread."""

    rows: NDArray[Any]
    lost: int


class RingReader:
    """One reader with its own place in the stream; it begins with the next row to be written."""

    def __init__(self, ring: Ring, *, from_start: bool = False) -> None:
        self._dtype = ring.dtype
        self._head = ring.head
        self._slots = ring.slots
        self._weights = ring.weights
        self._capacity = ring.capacity
        self._next = 0 if from_start else int(self._head[0])

    def read(self) -> RingRows:
        """Return every row since the last call."""
        head = int(self._head[0])
        first = max(self._next, head - self._capacity)
        copy = self._slots[np.arange(first, head) % self._capacity]
        whole = self._whole(copy, first)
        count = head - first
        if not whole.all():
            # The writer overwrites the oldest rows; the newest row may not be visible yet.
            overwritten = int(self._head[0]) - self._capacity + 1
            pending = np.flatnonzero(~whole & (np.arange(first, head) >= overwritten))
            count = int(pending[0]) if len(pending) else count
        kept = copy[:count][whole[:count]]
        lost = first + count - self._next - len(kept)
        self._next = first + count
        return RingRows(self._rows(kept), lost)

    def latest(self) -> Any:
        """Return the newest row, one record of the dtype, or None; the reader's place stays."""
        for _ in range(100):
            head = int(self._head[0])
            if head == 0:
                return None
            copy = self._slots[np.array([(head - 1) % self._capacity])]
            if self._whole(copy, head - 1)[0]:
                return self._rows(copy)[0]
        return None

    def _whole(self, copy: NDArray[np.uint64], first: int) -> NDArray[np.bool_]:
        expected = np.arange(first + 1, first + 1 + len(copy), dtype=np.uint64)
        return (copy[:, 0] == expected) & (copy[:, -1] == copy[:, :-1] @ self._weights)

    def _rows(self, copy: NDArray[np.uint64]) -> NDArray[Any]:
        row_bytes = np.ascontiguousarray(copy[:, 1:-1]).view(np.uint8)[:, : self._dtype.itemsize]
        return np.ascontiguousarray(row_bytes).view(self._dtype).reshape(-1)
