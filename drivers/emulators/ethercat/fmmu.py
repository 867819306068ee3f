"""A fieldbus memory management unit: shows a piece of a slave's memory in the master's logical memory, bit by bit."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_REGISTERS = struct.Struct("<IHBBHBBB")


@dataclass(frozen=True, slots=True)
class Fmmu:
    """One unit that is switched on."""

    logical: int
    length: int
    """Bytes of logical memory it touches."""
    first_bit: int
    last_bit: int
    """In the first and in the last of them."""
    physical: int
    physical_bit: int
    reads: bool
    writes: bool

    @classmethod
    def load(cls, memory: bytearray, base: int) -> Fmmu | None:
        """Read its registers; None when it is switched off or touches nothing."""
        logical, length, first, last, physical, bit, kind, active = _REGISTERS.unpack_from(memory, base)
        if not active & 1 or not length or not kind & 3:
            return None
        return cls(logical, length, first & 7, last & 7, physical, bit & 7, bool(kind & 1), bool(kind & 2))

    @property
    def whole_bytes(self) -> bool:
        """Whether it moves bytes, not bits."""
        return self.first_bit == 0 and self.last_bit == 7 and self.physical_bit == 0

    def overlap(self, logical: int, length: int) -> tuple[int, int]:
        """Which of `length` bytes at this logical address it touches, as a range of indices; empty if it does not."""
        start = max(self.logical, logical)
        end = min(self.logical + self.length, logical + length)
        return start - logical, max(start, end) - logical

    def bits(self, logical: int, length: int) -> Iterator[tuple[int, int, int, int]]:
        """Of those bytes each bit it touches: (index, bit) there, (address, bit) in the slave's memory."""
        count = (self.length - 1) * 8 + self.last_bit - self.first_bit + 1
        for n in range(count):
            place = (self.logical - logical) * 8 + self.first_bit + n
            if 0 <= place < length * 8:
                home = self.physical * 8 + self.physical_bit + n
                yield place >> 3, place & 7, home >> 3, home & 7
