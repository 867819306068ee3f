"""Instruction packets as both protocols understand them, and what is common to finding them in a stream of bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum

BROADCAST = 0xFE
"""Every servo on the bus is meant."""
BYTE_GAP = 0.02
"""A packet whose bytes pause for longer is given up [s]."""


class Instruction(IntEnum):
    """What a packet asks for; the numbers are the same in both protocols."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    FACTORY_RESET = 0x06
    REBOOT = 0x08
    CLEAR = 0x10
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    FAST_SYNC_READ = 0x8A
    BULK_READ = 0x92
    BULK_WRITE = 0x93
    FAST_BULK_READ = 0x9A


WRITING = (Instruction.WRITE, Instruction.REG_WRITE, Instruction.SYNC_WRITE, Instruction.BULK_WRITE)
"""Instructions that put something into registers."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One instruction packet without header, length, stuffing and check sum."""

    id: int
    instruction: int
    parameters: bytes
    intact: bool = True
    """Whether its check sum was right; only protocol 1 hands broken packets on, to have them answered."""


class Reader(ABC):
    """Finds the packets of one protocol among whatever else is on the wire, byte after byte as a servo does."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._last = 0.0
        self.broken = 0
        """Packets that were dropped so far: a wrong check sum, or not stuffed."""

    def feed(self, data: bytes, now: float) -> list[Packet]:
        """Take bytes that came in at a time [s]; returns the packets that are complete now."""
        if now - self._last > BYTE_GAP:
            self._bytes.clear()
        self._last = now
        self._bytes += data
        packets = []
        while (packet := self._next()) is not None:
            if isinstance(packet, Packet):
                packets.append(packet)
        return packets

    def reset(self) -> None:
        """Forget what was begun."""
        self._bytes.clear()

    def _next(self) -> Packet | bool | None:
        """Take one packet off the front, or True when bytes were dropped; None when more bytes are needed."""
        buffer = self._bytes
        begin = buffer.find(self.header)
        if begin < 0:
            # The last bytes may be the beginning of a header.
            del buffer[: max(0, len(buffer) - len(self.header) + 1)]
            return None
        if begin:
            del buffer[:begin]
        return self._parse(buffer)

    @property
    @abstractmethod
    def header(self) -> bytes:
        """What a packet begins with."""

    @abstractmethod
    def _parse(self, buffer: bytearray) -> Packet | bool | None:
        """As `_next`, with a header at the front of the buffer."""
