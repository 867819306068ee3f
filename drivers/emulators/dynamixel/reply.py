"""A status packet on its way to the wire."""

from __future__ import annotations

from dataclasses import dataclass

from drivers.emulators.dynamixel.device import Device


@dataclass(frozen=True, slots=True)
class Reply:
    """Status packet of one servo; several follow each other on the wire."""

    device: Device
    packet: bytes
    slot: int = 0
    """Number of time slots that an answer to a broadcast ping waits."""
    delayed: bool = True
    """True if the servo waits for its return delay time; parts of a common packet follow each other at once."""
