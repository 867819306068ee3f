"""How long bytes take on a serial line, and who understands whom on it."""

from __future__ import annotations

from dataclasses import dataclass

BITS_PER_BYTE = 10
"""8 data bits, start and stop."""
RATE_TOLERANCE = 0.03
"""Two ends of a line understand each other when their rates differ by less than this share."""


def same_rate(one: float, other: float) -> bool:
    """Whether two ends with these rates [bit/s] understand each other."""
    return abs(one - other) < RATE_TOLERANCE * max(one, other)


@dataclass(frozen=True)
class Timing:
    """How long things take on the wire and in the computer's adapter."""

    wire_time: bool = True
    """False: everything happens at once; no byte times, no return delay, no latency of the adapter."""
    usb_latency: float = 0.001
    """From a status packet's last byte to its arrival at the client [s]; factory setting of adapters 0.016."""

    def duration(self, count: int, rate: float) -> float:
        """Of a number of bytes at a rate [bit/s], in s."""
        return count * BITS_PER_BYTE / rate if self.wire_time and rate else 0.0

    @property
    def latency(self) -> float:
        """[s]"""
        return self.usb_latency if self.wire_time else 0.0
