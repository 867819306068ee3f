"""A status packet on its way to the wire."""

from __future__ import annotations

from dataclasses import dataclass

from drivers.emulators.dynamixel.device import Device


@dataclass(frozen=True, slots=True)
class Reply:
    """What one servo sends; several follow each other on the wire."""

    device: Device
    packet: bytes
    slot: int = 0
    """Of an answer to a broadcast ping: how many slots of time it waits."""
    delayed: bool = True
    """Whether the servo waits for its return delay time; parts of a common packet follow each other at once."""
