"""Instruction packets common to both protocols, and the search for them in a stream of bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum

BROADCAST = 0xFE
"""ID that addresses every servo on the bus."""
BYTE_GAP = 0.02
"""Longest pause within a packet before it is dropped [s]."""


class Instruction(IntEnum):
    """Instruction of a packet; the numbers are the same in both protocols."""

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
"""Instructions that write registers."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One instruction packet without header, length, stuffing and checksum."""

    id: int
    instruction: int
    parameters: bytes
    intact: bool = True
    """True if its checksum was right. Only protocol 1 passes broken packets on, since they are answered."""


class Reader(ABC):
    """Finds the packets of one protocol among other bytes on the wire, byte by byte as a servo does."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._last = 0.0
        self.broken = 0
        """Number of packets dropped so far: a wrong checksum, or no stuffing."""

    def feed(self, data: bytes, now: float) -> list[Packet]:
        """Take bytes that arrived at a time [s]; return the packets that are complete now."""
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
        """Drop an incomplete packet."""
        self._bytes.clear()

    def _next(self) -> Packet | bool | None:
        """Take one packet off the front; True if bytes were dropped, None if more bytes are needed."""
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
        """Bytes at the beginning of a packet."""

    @abstractmethod
    def _parse(self, buffer: bytearray) -> Packet | bool | None:
        """Take a packet as `_next` does, with a header at the front of the buffer."""
