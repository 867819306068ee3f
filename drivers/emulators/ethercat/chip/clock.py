"""A slave's distributed clock: receive times, system time, and the pulses of SYNC0 with the frames between them."""

from __future__ import annotations

from dataclasses import dataclass

from drivers.emulators.ethercat.chip import registers as r

HOP = 600
"""Time that a frame takes from one slave to the next [ns]."""
LARGEST_CORRECTION = 1_000_000
"""Difference [ns] beyond any crystal's, which is not followed: the master has not set the offset yet."""
_SYNC0 = 0x03
"""Bits of the activation register: the cyclic unit runs and creates SYNC0."""
_MASK = (1 << 64) - 1


@dataclass(slots=True)
class Windows:
    """Frames of process data per period of SYNC0, since the first frame. Exactly one in each period is wanted."""

    empty: int = 0
    one: int = 0
    more: int = 0
    longest_gap: int = 0
    """Largest number of empty periods in a row."""


class DistributedClock:
    """Distributed clock whose registers are in the slave's memory."""

    def __init__(self, memory: bytearray, now: int, drift: float = 0.0) -> None:
        """Create the clock.

        Args:
            memory: The slave's memory.
            now: Time of power-on [ns].
            drift: Relative speed of its crystal beyond the machine's.
        """
        self._memory = memory
        self._begin = now
        self._rate = 1.0 + drift
        self._offset = 0
        self._correction = 0
        self.followers = 0
        """Number of slaves behind this one."""
        self.active = False
        """True while SYNC0 is created, from its start time on."""
        self.cycle = 0
        """[ns]"""
        self._start = 0
        self._activation = 0
        self.windows = Windows()
        self._window: int | None = None
        self._frames = 0

    def local_time(self, now: int) -> int:
        """Return the time since power-on [ns]."""
        return round((now - self._begin) * self._rate) + self._correction

    def system_time(self, now: int) -> int:
        """Return local time plus the master's offset [ns]."""
        return (self.local_time(now) + self._offset) & _MASK

    def show(self, now: int) -> None:
        """Update the system time register."""
        self._put(r.SYSTEM_TIME, self.system_time(now), 8)

    def load(self) -> None:
        """Apply the offset written by the master."""
        self._offset = self._get(r.TIME_OFFSET, 8)

    def latch(self, now: int) -> None:
        """Store the arrival time of a frame at each port; at the second one, of its return from the slaves behind."""
        local = self.local_time(now)
        back = local + 2 * HOP * self.followers if self.followers else 0
        for port, time in enumerate((local, back, 0, 0)):
            self._put(r.RECEIVE_TIME + 4 * port, time & 0xFFFFFFFF, 4)
        self._put(r.RECEIVE_TIME_UNIT, local & _MASK, 8)

    def compare(self, now: int) -> None:
        """Follow the system time of the reference, which the master just wrote here."""
        own = self.system_time(now)
        received = self._get(r.SYSTEM_TIME, 4) + self._get(r.TIME_DELAY, 4)
        difference = (own - received + (1 << 31)) % (1 << 32) - (1 << 31)
        size = min(abs(difference), 0x7FFFFFFF)
        # Bit 31 means that the copy here is the later one.
        self._put(r.TIME_DIFFERENCE, size | (0x80000000 if difference >= 0 else 0), 4)
        if size < LARGEST_CORRECTION:
            self._correction -= round(difference / 8)

    def activate(self, now: int) -> None:
        """Start or stop SYNC0 according to the registers. A start time in the past creates no pulse, as on the chip."""
        activation = self._memory[r.ACTIVATION]
        if activation == self._activation:
            return
        self._activation = activation
        self.cycle = self._get(r.SYNC0_CYCLE, 4)
        self._start = self._get(r.SYNC0_START, 8)
        self.active = activation & _SYNC0 == _SYNC0 and self.cycle > 0 and self._start > self.system_time(now)
        self.forget_windows()

    # Process data per period of SYNC0.

    def forget_windows(self) -> None:
        """Restart the count."""
        self.windows = Windows()
        self._window = None

    def count(self, now: int) -> None:
        """Count the arrival of process data."""
        window = self._window_at(now)
        if window is None:
            return
        last = self._window
        if last is None or window < last:
            self._window, self._frames = window, 1
        elif window == last:
            self._frames += 1
        else:
            self._close(window - last - 1)
            self._window, self._frames = window, 1

    def _close(self, gap: int) -> None:
        windows = self.windows
        if self._frames == 1:
            windows.one += 1
        else:
            windows.more += 1
        windows.empty += gap
        windows.longest_gap = max(windows.longest_gap, gap)

    def missed(self, now: int) -> int:
        """Return the number of whole periods of SYNC0 since the last process data."""
        window = self._window_at(now)
        return 0 if window is None or self._window is None else max(0, window - self._window - 1)

    def _window_at(self, now: int) -> int | None:
        if not self.active:
            return None
        since = self.system_time(now) - self._start
        return since // self.cycle if since >= 0 else None

    def _get(self, address: int, length: int) -> int:
        return int.from_bytes(self._memory[address : address + length], "little")

    def _put(self, address: int, value: int, length: int) -> None:
        self._memory[address : address + length] = value.to_bytes(length, "little")
