"""What a run will take before it is made: bytes on the disk, the moment it ends. Free of Qt."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from core.recording import SAMPLE_DTYPE

FILE_OVERHEAD = 45_400
"""Everything in a run's file but its samples [bytes], measured; within 2 kB at any length."""
CHUNK_ROWS = 16_384
"""Long runs are stored in whole blocks of so many rows."""


def file_size(duration: float, rate: float) -> int:
    """Size of the file of a run of `duration` [s] at `rate` [Hz] with every channel, in bytes.

    Samples are not compressed; a servo that does not report every channel needs less.
    """
    rows = max(1, round(duration * rate))
    stored = rows if rows <= CHUNK_ROWS else CHUNK_ROWS * math.ceil(rows / CHUNK_ROWS)
    return FILE_OVERHEAD + stored * SAMPLE_DTYPE.itemsize


def size_in_words(count: int) -> str:
    """Bytes as a person reads them."""
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def end_time(seconds: float, now: datetime) -> str:
    """The clock when something that takes so long ends, e.g. "14:32"; with the day when it is another one."""
    end = now + timedelta(seconds=seconds)
    return end.strftime("%H:%M") if end.date() == now.date() else end.strftime("%a %H:%M")
