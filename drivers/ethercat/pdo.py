"""Process data: the objects exchanged every cycle, their mapping, and their bytes.

A drive of this kind accepts only images with an even number of bytes, so every 8-bit object is followed by 8 bits of
padding. The order is that of the vendor's own torque example.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

_CODES = {(8, True): "b", (16, False): "H", (16, True): "h", (32, False): "I", (32, True): "i"}


@dataclass(frozen=True)
class ImageEntry:
    """One object in an image."""

    name: str
    """Field of `Outputs` or `Inputs`; empty for padding."""
    index: int
    bits: int
    signed: bool = True

    @property
    def mapping(self) -> bytes:
        """Entry in 0x1600 or 0x1A00: length, subindex 0 and index, little endian."""
        return struct.pack("<BBH", self.bits, 0, self.index)


PAD = ImageEntry("", 0, 8)

CONTROL_WORD = ImageEntry("control_word", 0x6040, 16, signed=False)
TARGET_TORQUE = ImageEntry("target_torque", 0x6071, 16)
TARGET_POSITION = ImageEntry("target_position", 0x607A, 32)
MODE = ImageEntry("mode", 0x6060, 8)

STATUS_WORD = ImageEntry("status_word", 0x6041, 16, signed=False)
POSITION = ImageEntry("position", 0x6064, 32)
VELOCITY = ImageEntry("velocity", 0x606C, 32)
TORQUE = ImageEntry("torque", 0x6077, 16)
MODE_DISPLAY = ImageEntry("mode", 0x6061, 8)
ERROR_CODE = ImageEntry("error_code", 0x603F, 16, signed=False)
SUPPLY = ImageEntry("supply", 0x6079, 32, signed=False)

TORQUE_OUTPUTS = (CONTROL_WORD, TARGET_TORQUE, MODE, PAD)
POSITION_OUTPUTS = (CONTROL_WORD, TARGET_TORQUE, TARGET_POSITION, MODE, PAD)
INPUTS = (STATUS_WORD, POSITION, VELOCITY, TORQUE)
"""Inputs that every drive must offer."""
OPTIONAL_INPUTS = ((MODE_DISPLAY, PAD), (ERROR_CODE,), (SUPPLY,))
"""Inputs that are mapped if the drive has them."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Command for a cycle, in the drive's own units."""

    control_word: int
    target_torque: int
    """Per mille of the rated torque."""
    mode: int
    target_position: int = 0
    """[counts]"""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Answer of a cycle, in the drive's own units; None for an object that was not mapped."""

    status_word: int
    position: int
    """[counts]"""
    velocity: int
    """[counts/s]"""
    torque: int
    """Per mille of the rated torque."""
    mode: int | None = None
    error_code: int | None = None
    supply: int | None = None
    """Voltage of the DC link [mV]."""


class Image:
    """One direction of the process data."""

    def __init__(self, entries: Sequence[ImageEntry]) -> None:
        self.entries = tuple(entries)
        self.names = tuple(entry.name for entry in entries if entry is not PAD)
        codes = ("x" if entry is PAD else _CODES[entry.bits, entry.signed] for entry in entries)
        self._struct = struct.Struct("<" + "".join(codes))
        if self.size % 2:
            raise ValueError(f"process data of {self.size} bytes: drives take only an even number; add padding")

    @property
    def size(self) -> int:
        """Size [bytes]."""
        return self._struct.size

    def pack(self, outputs: Outputs) -> bytes:
        """Return the bytes of this cycle's outputs; raises struct.error for a number that does not fit its object."""
        return self._struct.pack(*(getattr(outputs, name) for name in self.names))

    def unpack(self, data: bytes) -> Inputs:
        """Return the inputs from the bytes of a cycle; raises struct.error for another number of bytes."""
        return Inputs(**dict(zip(self.names, self._struct.unpack(data), strict=True)))
