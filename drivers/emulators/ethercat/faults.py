"""Faults on the wire between master and slaves, in numbers of frames."""

from __future__ import annotations

from dataclasses import dataclass

from drivers.emulators.ethercat.datagrams import FIRST_DATAGRAM


@dataclass
class WireFaults:
    """Pending faults; each returning frame uses up one of a kind."""

    drop: int = 0
    """Frames that do not return."""
    corrupt: int = 0
    """Frames whose data and working counters are garbled."""
    truncate: int = 0
    """Frames of which only the first half returns."""
    duplicate: int = 0
    """Frames that return twice."""
    delayed: int = 0
    """Frames that return late."""
    delay: float = 0.0
    """Delay of these frames [s]."""
    unplugged: bool = False
    """True if no frame passes in either direction."""

    def apply(self, frame: bytearray) -> tuple[float, list[bytes]]:
        """Return the delay of this frame [s] and the frames that return in its place."""
        if self._use("drop"):
            return 0.0, []
        if self._use("corrupt"):
            frame = garbled(frame)
        if self._use("truncate"):
            frame = frame[: len(frame) // 2]
        late = self.delay if self._use("delayed") else 0.0
        return late, [bytes(frame)] * (2 if self._use("duplicate") else 1)

    def heal(self) -> None:
        """End all faults."""
        self.__dict__.update(WireFaults().__dict__)

    def _use(self, kind: str) -> bool:
        left: int = getattr(self, kind)
        if left:
            setattr(self, kind, left - 1)
        return left > 0


def garbled(frame: bytearray) -> bytearray:
    """Return a frame in which only the headers of the datagrams are kept."""
    result = bytearray(frame)
    offset, more = FIRST_DATAGRAM, True
    while more and offset + 12 <= len(frame):
        flags = int.from_bytes(frame[offset + 6 : offset + 8], "little")
        # The working counter is the two bytes after the data.
        end = min(offset + 10 + (flags & 0x7FF) + 2, len(frame))
        for place in range(offset + 10, end):
            result[place] ^= 0xA5
        offset, more = end, bool(flags & 0x8000)
    return result
