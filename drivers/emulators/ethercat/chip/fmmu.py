"""A fieldbus memory management unit, which maps a slave's memory into the master's logical memory, bit by bit."""

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
    """Number of bytes of logical memory that it covers."""
    first_bit: int
    last_bit: int
    """First bit in the first of them, last bit in the last of them."""
    physical: int
    physical_bit: int
    reads: bool
    writes: bool

    @classmethod
    def load(cls, memory: bytearray, base: int) -> Fmmu | None:
        """Return the unit in these registers; None if it is switched off or covers nothing."""
        logical, length, first, last, physical, bit, kind, active = _REGISTERS.unpack_from(memory, base)
        if not active & 1 or not length or not kind & 3:
            return None
        return cls(logical, length, first & 7, last & 7, physical, bit & 7, bool(kind & 1), bool(kind & 2))

    @property
    def whole_bytes(self) -> bool:
        """True if it moves whole bytes."""
        return self.first_bit == 0 and self.last_bit == 7 and self.physical_bit == 0

    def overlap(self, logical: int, length: int) -> tuple[int, int]:
        """Return the range of indices that it covers among `length` bytes at this logical address; may be empty."""
        start = max(self.logical, logical)
        end = min(self.logical + self.length, logical + length)
        return start - logical, max(start, end) - logical

    def bits(self, logical: int, length: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield each covered bit of those bytes: (index, bit) there, (address, bit) in the slave's memory."""
        count = (self.length - 1) * 8 + self.last_bit - self.first_bit + 1
        for n in range(count):
            place = (self.logical - logical) * 8 + self.first_bit + n
            if 0 <= place < length * 8:
                home = self.physical * 8 + self.physical_bit + n
                yield place >> 3, place & 7, home >> 3, home & 7
