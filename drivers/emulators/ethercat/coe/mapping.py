"""The process data of one direction: the mapped objects and the layout of their values in memory (ETG.1000.6)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from drivers.emulators.ethercat.coe.dictionary import Abort, AbortCode, ObjectEntry, Type

MOST_ENTRIES = 10
MOST_BYTES = 64
"""Largest process data in one direction [bytes]."""


@dataclass(frozen=True)
class ProcessImage:
    """Objects packed one after the other."""

    layout: struct.Struct
    entries: tuple[ObjectEntry, ...]

    def decode(self, memory: bytearray, start: int) -> None:
        """Read the objects' values from memory."""
        for entry, value in zip(self.entries, self.layout.unpack_from(memory, start), strict=True):
            entry.value = value

    def encode(self, memory: bytearray, start: int) -> None:
        """Write the objects' values to memory."""
        self.layout.pack_into(memory, start, *[entry.number for entry in self.entries])


class PdoMapping:
    """A mapping object and the object that assigns it to a sync manager; both can be written in PREOP."""

    def __init__(
        self,
        mapping: int,
        assignment: int,
        direction: str,
        default: Sequence[int],
        find: Callable[[int, int], ObjectEntry],
    ) -> None:
        """Create a mapping.

        Args:
            mapping: Index of the mapping object.
            assignment: Index of the object that assigns it.
            direction: "rx" or "tx".
            default: Initial entries, 0xIIIISSLL.
            find: Returns an entry, or raises Abort.
        """
        self._mapping = mapping
        self._direction = direction
        self._find = find
        kind = "RxPDO" if direction == "rx" else "TxPDO"

        def entry(index: int, sub: int, what: str, type: Type, value: int, check: Callable[[int], None]) -> ObjectEntry:
            return ObjectEntry(index, sub, f"{kind} {what}", type, "rwp", value, check=check)

        self._count = entry(mapping, 0, "mapping", Type.U8, len(default), self._check_count)
        padded = [*default, *[0] * (MOST_ENTRIES - len(default))]
        self._slots = [
            entry(mapping, n, "mapping", Type.U32, value, self._check_slot) for n, value in enumerate(padded, 1)
        ]
        self._assigned = entry(assignment, 0, "assignment", Type.U8, 1, self._check_assigned)
        self._choice = entry(assignment, 1, "assignment", Type.U16, mapping, self._check_choice)
        self._assigned.high = 1

    @property
    def entries(self) -> list[ObjectEntry]:
        """Entries for the dictionary."""
        return [self._count, *self._slots, self._assigned, self._choice]

    @property
    def length(self) -> int:
        """Length of the assigned process data [bytes]."""
        return sum(slot.number & 0xFF for slot in self._mapped()) // 8 if self._assigned.number else 0

    def image(self) -> ProcessImage:
        """Return the process data as mapped now."""
        layout, entries = "<", []
        for slot in self._mapped() if self._assigned.number else ():
            index, sub, bits = _parts(slot.number)
            if index:
                entries.append(self._find(index, sub))
                layout += entries[-1].type.code
            else:
                layout += f"{bits // 8}x"
        return ProcessImage(struct.Struct(layout), tuple(entries))

    def _mapped(self) -> list[ObjectEntry]:
        return self._slots[: self._count.number]

    def _check_slot(self, value: int) -> None:
        if self._count.number:
            raise Abort(AbortCode.COUNT_NOT_ZERO)
        index, sub, bits = _parts(value)
        if not value:
            return
        if not index:
            if sub or bits % 8:
                raise Abort(AbortCode.NOT_MAPPABLE)
            return
        entry = self._find(index, sub)
        if entry.mapping != self._direction or entry.type.bits != bits:
            raise Abort(AbortCode.NOT_MAPPABLE)

    def _check_count(self, count: int) -> None:
        if count > MOST_ENTRIES:
            raise Abort(AbortCode.TOO_HIGH)
        slots = self._slots[:count]
        if not all(slot.number for slot in slots):
            raise Abort(AbortCode.NOT_MAPPABLE)
        if sum(slot.number & 0xFF for slot in slots) > 8 * MOST_BYTES:
            raise Abort(AbortCode.PDO_TOO_LONG)

    def _check_assigned(self, count: int) -> None:
        if count and self._choice.number != self._mapping:
            raise Abort(AbortCode.NOT_MAPPABLE)

    def _check_choice(self, value: int) -> None:
        if self._assigned.number:
            raise Abort(AbortCode.COUNT_NOT_ZERO)
        if value not in (0, self._mapping):
            raise Abort(AbortCode.NOT_MAPPABLE)


def _parts(value: int) -> tuple[int, int, int]:
    """Return index, subindex and length in bits of a mapping entry."""
    return value >> 16, value >> 8 & 0xFF, value & 0xFF
