"""The slave information interface: the image of a slave's EEPROM (ETG.2010), and the registers that read it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from drivers.emulators.ethercat.chip import registers as r

SIZE = 2048
"""[bytes]"""
_CATEGORIES = 0x80
"""Byte at which the categories begin."""
_MAILBOX_COE = 0x04
_STRINGS, _GENERAL, _FMMU, _SYNC_MANAGER, _TX_PDO, _RX_PDO, _END = 10, 30, 40, 41, 50, 51, 0xFFFF

_READ, _WRITE, _RELOAD = 1, 2, 4
_EIGHT_BYTES = 0x40
_TWO_ADDRESS_BYTES = 0x80
_CHECKSUM_ERROR = 0x0800
_ACKNOWLEDGE_ERROR = 0x2000
_WRITE_ERROR = 0x4000


@dataclass(frozen=True)
class BufferPlan:
    """A buffer that the slave wants."""

    start: int
    length: int
    control: int
    """Control byte of its sync manager."""
    kind: int
    """1 for the mailbox to the slave, 2 for the mailbox from it, 3 for outputs, 4 for inputs."""


@dataclass(frozen=True)
class PdoPlan:
    """A process data object as mapped after power-on."""

    index: int
    entries: tuple[int, ...]
    """0xIIIISSLL: index, subindex, length in bits."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Identity of a slave."""

    vendor: int
    product: int
    revision: int
    serial: int
    name: str


def make_image(
    identity: Identity, buffers: Sequence[BufferPlan], outputs: PdoPlan, inputs: PdoPlan, coe_details: int
) -> bytearray:
    """Return the EEPROM of a slave with two mailboxes and two process data buffers, in the order of their kinds."""
    image = bytearray(b"\xff" * SIZE)
    image[:_CATEGORIES] = bytes(_CATEGORIES)
    struct.pack_into("<HHH", image, 0, 0x0005, 0, 0)  # PDI control
    struct.pack_into("<H", image, 14, checksum(bytes(image[:14])))
    struct.pack_into("<IIII", image, 0x10, identity.vendor, identity.product, identity.revision, identity.serial)
    received, sent = buffers[0], buffers[1]
    places = received.start, received.length, sent.start, sent.length
    struct.pack_into("<HHHHH", image, 0x30, *places, _MAILBOX_COE)
    struct.pack_into("<HH", image, 0x7C, SIZE * 8 // 1024 - 1, 1)
    name = identity.name.encode("ascii")
    general = struct.pack("<BBBBBB10xHH12x", 0, 0, 1, 1, 0, coe_details, 0x0033, 0)
    categories = (
        (_STRINGS, bytes([1, len(name)]) + name),
        (_GENERAL, general),
        (_FMMU, bytes([1, 2])),
        (_SYNC_MANAGER, b"".join(struct.pack("<HHBBBB", b.start, b.length, b.control, 0, 1, b.kind) for b in buffers)),
        (_TX_PDO, _pdo(inputs, 3)),
        (_RX_PDO, _pdo(outputs, 2)),
    )
    place = _CATEGORIES
    for kind, content in categories:
        content += bytes(len(content) % 2)
        struct.pack_into("<HH", image, place, kind, len(content) // 2)
        image[place + 4 : place + 4 + len(content)] = content
        place += 4 + len(content)
    struct.pack_into("<H", image, place, _END)
    return image


def _pdo(plan: PdoPlan, sync_manager: int) -> bytes:
    entries = b"".join(
        struct.pack("<HBBBBH", entry >> 16, entry >> 8 & 0xFF, 0, 0, entry & 0xFF, 0) for entry in plan.entries
    )
    return struct.pack("<HBBBBH", plan.index, len(plan.entries), sync_manager, 0, 0, 0) + entries


def checksum(content: bytes) -> int:
    """Return the CRC-8 of the configuration area: polynomial x⁸ + x² + x + 1, starting with 0xFF."""
    crc = 0xFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x07 if crc & 0x80 else crc << 1) & 0xFF
    return crc


class SiiInterface:
    """The registers 0x0500 … 0x050F."""

    def __init__(self, memory: bytearray, eeprom: bytearray) -> None:
        self._memory = memory
        self._eeprom = eeprom
        self._error = 0 if self.word(7) & 0xFF == checksum(bytes(eeprom[:14])) else _CHECKSUM_ERROR
        self._show(self._error)

    def word(self, address: int) -> int:
        """Return a word of the EEPROM."""
        return int.from_bytes(self._eeprom[2 * address : 2 * address + 2], "little")

    def execute(self) -> None:
        """Execute the command in the control register."""
        control: int
        control, address = struct.unpack_from("<HI", self._memory, r.SII_CONTROL)
        command = control >> 8 & 0x07
        place = 2 * address
        if command == 0:
            self._show(self._error)
        elif self._memory[r.SII_ACCESS] & 1 or place + 2 > len(self._eeprom) or command not in (_READ, _WRITE, _RELOAD):
            # The slave's own processor owns it, or the address does not exist.
            self._show(_ACKNOWLEDGE_ERROR)
        elif command == _READ:
            self._memory[r.SII_DATA : r.SII_DATA + 8] = self._eeprom[place : place + 8].ljust(8, b"\xff")
            self._show(0)
        elif command == _WRITE and not control & 1:
            self._show(_WRITE_ERROR)
        elif command == _WRITE:
            self._eeprom[place : place + 2] = self._memory[r.SII_DATA : r.SII_DATA + 2]
            self._show(0)
        else:
            self._error = 0 if self.word(7) & 0xFF == checksum(bytes(self._eeprom[:14])) else _CHECKSUM_ERROR
            self._show(self._error)

    def _show(self, errors: int) -> None:
        struct.pack_into("<H", self._memory, r.SII_CONTROL, _EIGHT_BYTES | _TWO_ADDRESS_BYTES | errors)
