"""Protocol 1.0 on the wire: FF FF ID LENGTH INSTRUCTION|ERROR PARAMETERS CHECKSUM (ROBOTIS e-manual "Protocol 1.0")."""

from __future__ import annotations

from enum import IntFlag

from drivers.emulators.dynamixel.packet import Instruction, Packet, Reader

HEADER = b"\xff\xff"


class Error(IntFlag):
    """Bits of a status packet's error byte."""

    VOLTAGE = 0x01
    ANGLE_LIMIT = 0x02
    OVERHEATING = 0x04
    RANGE = 0x08
    CHECKSUM = 0x10
    OVERLOAD = 0x20
    INSTRUCTION = 0x40


def checksum(body: bytes | bytearray) -> int:
    """Return the checksum of everything between header and checksum: the complement of the sum, low byte."""
    return ~sum(body) & 0xFF


def status(id: int, error: int, parameters: bytes = b"") -> bytes:
    """Build a status packet, or an instruction packet with its number in place of the error."""
    body = bytes((id, len(parameters) + 2, error)) + parameters
    return HEADER + body + bytes((checksum(body),))


def write(id: int, address: int, data: bytes) -> bytes:
    """Build the instruction packet that writes registers."""
    return status(id, Instruction.WRITE, bytes((address,)) + data)


class Reader1(Reader):
    """Finds protocol 1 packets. One with a wrong checksum is passed on as not intact: its servo answers it."""

    @property
    def header(self) -> bytes:
        """Two bytes; the next one is not a third FF."""
        return HEADER

    def _parse(self, buffer: bytearray) -> Packet | bool | None:
        if len(buffer) < 4:
            return None
        id, length = buffer[2], buffer[3]
        if id == 0xFF or length < 2:
            # A header of FF FF FF begins one byte later; a length below 2 is invalid.
            del buffer[0]
            return True
        if len(buffer) < 4 + length:
            return None
        body = bytes(buffer[2 : 3 + length])
        if checksum(body) != buffer[3 + length]:
            self.broken += 1
            del buffer[: 4 + length]
            return Packet(id, body[2], b"", intact=False)
        del buffer[: 4 + length]
        return Packet(id, body[2], body[3:])
