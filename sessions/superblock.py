"""Read the file of a SWMR writer that died, without SWMR.

A SWMR reader takes a checksum that does not fit for a write under way and tries again, with growing pauses and
practically for ever; after a crash nobody will complete that write. The ordinary reader fails at once, but
refuses a file whose first block says that a writer has it open. So this view of the file shows that block as it
would be after closing: no writer, end of file where the file ends. The file itself is not touched.

Layout of the block: HDF5 File Format Specification, section II.A "Disk Format: Level 0A", superblock version 3.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

from sessions.errors import UnreadableError

SUPERBLOCK = struct.Struct("<8s4B4QI")
"""Signature; version, sizes of offsets and lengths, consistency flags; base, extension, end of file, root; checksum."""

_START = b"\x89HDF\r\n\x1a\n"
_WORD = 0xFFFFFFFF


class ClosedView(io.FileIO):
    """A file in which nobody is writing any more, for h5py.File(ClosedView(path), "r").

    Raises UnreadableError if the file does not start with a sound superblock of version 3.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "r")
        try:
            block = self.read(SUPERBLOCK.size) or b""
            size = self.seek(0, io.SEEK_END)
            self._block = closed_superblock(block, size)
            self.seek(0)
        except BaseException:
            self.close()
            raise

    def readinto(self, buffer: Any, /) -> int:
        """Read as FileIO does, the superblock excepted."""
        start = self.tell()
        view = memoryview(buffer).cast("B")
        count = super().readinto(view) or 0
        shown = self._block[start : start + count]
        view[: len(shown)] = shown
        return count


def closed_superblock(block: bytes, file_size: int) -> bytes:
    """Return a superblock with cleared consistency flags and the end of file set; raises UnreadableError."""
    if len(block) < SUPERBLOCK.size:
        raise UnreadableError(f"the file ends after {len(block)} bytes")
    start, version, offsets, lengths, _, base, extension, _, root, checksum = SUPERBLOCK.unpack(block)
    if start != _START or (version, offsets, lengths) != (3, 8, 8) or checksum != lookup3(block[:-4]):
        raise UnreadableError("the first block of the file is damaged")
    body = SUPERBLOCK.pack(start, version, offsets, lengths, 0, base, extension, file_size, root, 0)[:-4]
    return body + struct.pack("<I", lookup3(body))


def lookup3(data: bytes) -> int:
    """Bob Jenkins' lookup3 `hashlittle` with initial value 0, the checksum of HDF5's metadata; data: not empty."""
    a = b = c = (0xDEADBEEF + len(data)) & _WORD
    blocks = -(-len(data) // 12)
    words = struct.unpack(f"<{3 * blocks}I", data.ljust(12 * blocks, b"\0"))
    for first in range(0, 3 * (blocks - 1), 3):
        a, b, c = a + words[first] & _WORD, b + words[first + 1] & _WORD, c + words[first + 2] & _WORD
        a = (a - c & _WORD) ^ _turned(c, 4)
        c = c + b & _WORD
        b = (b - a & _WORD) ^ _turned(a, 6)
        a = a + c & _WORD
        c = (c - b & _WORD) ^ _turned(b, 8)
        b = b + a & _WORD
        a = (a - c & _WORD) ^ _turned(c, 16)
        c = c + b & _WORD
        b = (b - a & _WORD) ^ _turned(a, 19)
        a = a + c & _WORD
        c = (c - b & _WORD) ^ _turned(b, 4)
        b = b + a & _WORD
    a, b, c = a + words[-3] & _WORD, b + words[-2] & _WORD, c + words[-1] & _WORD
    c = (c ^ b) - _turned(b, 14) & _WORD
    a = (a ^ c) - _turned(c, 11) & _WORD
    b = (b ^ a) - _turned(a, 25) & _WORD
    c = (c ^ b) - _turned(b, 16) & _WORD
    a = (a ^ c) - _turned(c, 4) & _WORD
    b = (b ^ a) - _turned(a, 14) & _WORD
    return (c ^ b) - _turned(b, 24) & _WORD


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
