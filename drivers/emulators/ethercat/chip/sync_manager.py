"""A sync manager: guards one buffer of a slave's memory that master and slave share (ETG.1000.4, §6.6)."""

from __future__ import annotations

import struct
from collections.abc import Callable

from drivers.emulators.ethercat.chip import registers

_REGISTERS = struct.Struct("<HHBBBB")
_FULL = 0x08
_WRITTEN_ONCE = 0x30
_REPEAT = 0x02

MAILBOX = 0x02
"""Mode in the control byte's lowest two bits; 0 is a buffer of three."""
MASTER_WRITES = 0x04
"""Bit in the control byte."""
WATCHED = 0x40
"""Bit in the control byte: writing feeds the process data watchdog."""


class SyncManager:
    """One sync manager; its eight registers are in the slave's memory, from which `load` reads them."""

    def __init__(self, memory: bytearray, number: int) -> None:
        self._memory = memory
        self._base = registers.SYNC_MANAGER + number * registers.SYNC_MANAGER_SIZE
        self.start = self.end = 0
        self.control = 0
        self.active = False
        """True if the master switched it on."""
        self.blocked = False
        """True if the slave blocks it: no access is possible then."""
        self.full = False
        """For a mailbox: True if it holds a message that was not taken yet."""
        self._opened = False
        self._repeat = False
        self.on_written: Callable[[], None] | None = None
        """Called when the master wrote the last byte."""
        self.on_read: Callable[[], None] | None = None
        """Called when the master read the last byte of a mailbox."""
        self.on_repeat: Callable[[], None] | None = None
        """Called when the master missed the last message."""

    @property
    def length(self) -> int:
        """Length of the buffer [bytes]."""
        return self.end - self.start

    @property
    def is_mailbox(self) -> bool:
        """True if it passes messages one by one."""
        return self.control & 0x03 == MAILBOX

    @property
    def master_writes(self) -> bool:
        """Direction."""
        return bool(self.control & MASTER_WRITES)

    def load(self) -> None:
        """Apply the registers that the master wrote."""
        start, length, control, _, activate, _ = _REGISTERS.unpack_from(self._memory, self._base)
        active = bool(activate & 1)
        if (start, start + length, control, active) != (self.start, self.end, self.control, self.active):
            self.start, self.end, self.control, self.active = start, start + length, control, active
            self._set_full(False)
        repeat = bool(activate & _REPEAT)
        if repeat != self._repeat:
            self._repeat = repeat
            if self.on_repeat is not None and active:
                self.on_repeat()
        self._show()

    def block(self, blocked: bool) -> None:
        """Block or open it from the slave's side; a mailbox is empty afterwards."""
        self.blocked = blocked
        self._set_full(False)
        self._show()

    def touches(self, start: int, end: int) -> bool:
        """Return True if an access to these bytes concerns it."""
        return self.active and start < self.end and self.start < end

    def admits(self, start: int, end: int, write: bool) -> bool:
        """Return True if the master may make this access now."""
        if self.blocked or start < self.start or end > self.end or write != self.master_writes:
            return False
        if not self.is_mailbox:
            return True
        if self.full == write:
            return False
        self._opened = self._opened or start == self.start
        return self._opened

    def accessed(self, end: int, write: bool) -> None:
        """Handle an access of the master up to `end`."""
        if end < self.end:
            return
        self._opened = False
        if self.is_mailbox:
            self._set_full(write)
        elif write:
            self._memory[self._base + 5] |= _WRITTEN_ONCE
        listener = self.on_written if write else self.on_read if self.is_mailbox else None
        if listener is not None:
            listener()

    # The slave's side of a mailbox.

    def take(self) -> bytes:
        """Empty the mailbox and return its content."""
        self._set_full(False)
        return bytes(self._memory[self.start : self.end])

    def put(self, message: bytes) -> None:
        """Fill the mailbox."""
        self._memory[self.start : self.end] = message.ljust(self.length, b"\x00")
        self._set_full(True)

    def _set_full(self, full: bool) -> None:
        self.full, self._opened = full, False
        self._memory[self._base + 5] = _FULL if full else 0

    def _show(self) -> None:
        self._memory[self._base + 7] = int(self.blocked) | (_REPEAT if self._repeat else 0)
