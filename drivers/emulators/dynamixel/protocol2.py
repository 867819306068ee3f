"""Protocol 2.0 on the wire: FF FF FD 00 ID LENGTH(2) INSTRUCTION PARAMETERS CRC(2) (ROBOTIS e-manual "Protocol 2.0").

FF FF FD within a packet is stuffed: another FD follows it. A packet without stuffing is dropped, because a servo takes
the pattern for the next packet's header. A packet with a wrong CRC is dropped too, because its receiver is unknown.
Only the answers to fast reads are not stuffed.
"""

from __future__ import annotations

from enum import IntEnum

from drivers.emulators.dynamixel.packet import Instruction, Packet, Reader

HEADER = b"\xff\xff\xfd"
STUFFED = b"\xff\xff\xfd\xfd"
LONGEST = 1024
"""Longest packet that a servo accepts or sends [bytes]."""
ALERT = 0x80
"""Bit of the error byte for a hardware problem, see the servo's hardware error status."""
_POLYNOMIAL = 0x8005


class Error(IntEnum):
    """Numbers in a status packet's error byte."""

    NONE = 0
    RESULT_FAIL = 1
    INSTRUCTION = 2
    CRC = 3
    DATA_RANGE = 4
    DATA_LENGTH = 5
    DATA_LIMIT = 6
    ACCESS = 7


def _crc_of(byte: int) -> int:
    value = byte << 8
    for _ in range(8):
        value = (value << 1) ^ (_POLYNOMIAL if value & 0x8000 else 0)
    return value & 0xFFFF


_CRCS = tuple(_crc_of(byte) for byte in range(256))


def crc(data: bytes | bytearray, value: int = 0) -> int:
    """Return the CRC-16 with the polynomial 8005, most significant bit first, continued from a value."""
    for byte in data:
        value = (value << 8 & 0xFF00) ^ _CRCS[value >> 8 ^ byte]
    return value


def stuff(body: bytes) -> bytes:
    """Append an FD to each FF FF FD of a packet's instruction and parameters."""
    return body.replace(HEADER, STUFFED)


def unstuff(body: bytes) -> bytes | None:
    """Return the body before `stuff`; None for a body without stuffing."""
    if body.count(HEADER) != body.count(STUFFED):
        return None
    return body.replace(STUFFED, HEADER)


def status(id: int, error: int, parameters: bytes = b"") -> bytes:
    """Build a status packet."""
    return _packet(id, bytes((Instruction.STATUS, error)) + parameters)


def write(id: int, address: int, data: bytes) -> bytes:
    """Build the instruction packet that writes registers."""
    return _packet(id, bytes((Instruction.WRITE,)) + address.to_bytes(2, "little") + data)


def _packet(id: int, content: bytes) -> bytes:
    body = stuff(content)
    packet = HEADER + bytes((0, id)) + (len(body) + 2).to_bytes(2, "little") + body
    return packet + crc(packet).to_bytes(2, "little")


class FastStatus:
    """The one status packet that several servos build together: each adds error, ID, data and the CRC so far."""

    def __init__(self, lengths: list[int]) -> None:
        """Start the packet.

        Args:
            lengths: Bytes of data of every servo in it.
        """
        length = 1 + sum(length + 4 for length in lengths)
        self._sent = HEADER + bytes((0, 0xFE)) + length.to_bytes(2, "little") + bytes((Instruction.STATUS,))
        self._first = True

    def part(self, id: int, error: int, data: bytes) -> bytes:
        """Return the part that the next servo sends."""
        part = bytes((error, id)) + data
        whole = self._sent + part
        check = crc(whole).to_bytes(2, "little")
        self._sent = whole + check
        part = whole + check if self._first else part + check
        self._first = False
        return part


class Reader2(Reader):
    """Finds protocol 2 packets."""

    @property
    def header(self) -> bytes:
        """Three bytes; the next one is not an FD."""
        return HEADER

    def _parse(self, buffer: bytearray) -> Packet | bool | None:
        if len(buffer) < 7:
            return None
        id, length = buffer[4], buffer[5] | buffer[6] << 8
        if buffer[3] != 0 or id > 0xFE or id == 0xFD or not 3 <= length <= LONGEST - 7:
            del buffer[:3]
            return True
        end = 7 + length
        if len(buffer) < end:
            return None
        if crc(buffer[: end - 2]) != buffer[end - 2] | buffer[end - 1] << 8:
            self.broken += 1
            del buffer[:3]
            return True
        body = unstuff(bytes(buffer[7 : end - 2]))
        del buffer[:end]
        if body is None:
            self.broken += 1
            return True
        return Packet(id, body[0], body[1:])
