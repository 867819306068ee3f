"""Times of bytes on a serial line, and matching of baud rates."""

from __future__ import annotations

from dataclasses import dataclass

BITS_PER_BYTE = 10
"""Start bit, 8 data bits and stop bit."""
RATE_TOLERANCE = 0.03
"""Relative difference of rates below which two ends of a line understand each other."""


def same_rate(one: float, other: float) -> bool:
    """Return True if two ends with these rates [bit/s] understand each other."""
    return abs(one - other) < RATE_TOLERANCE * max(one, other)


@dataclass(frozen=True)
class Timing:
    """Times on the wire and in the computer's adapter."""

    wire_time: bool = True
    """False if everything happens at once: no byte times, no return delay, no latency of the adapter."""
    usb_latency: float = 0.001
    """Time from a status packet's last byte to its arrival at the client [s]; factory setting of adapters 0.016."""

    def duration(self, count: int, rate: float) -> float:
        """Return the duration of a number of bytes at a rate [bit/s], in s."""
        return count * BITS_PER_BYTE / rate if self.wire_time and rate else 0.0

    @property
    def latency(self) -> float:
        """Latency of the adapter [s]."""
        return self.usb_latency if self.wire_time else 0.0
