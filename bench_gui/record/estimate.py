"""Estimates before a run: its size on disk and its end time. Independent of Qt."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from core.motion.recording import SAMPLE_DTYPE

FILE_OVERHEAD = 45_400
"""Size of a run's file without its samples [bytes], measured; within 2 kB for any length."""
CHUNK_ROWS = 16_384
"""Long runs are stored in whole blocks of this many rows."""


def file_size(duration: float, rate: float) -> int:
    """Return the size of the file of a run of `duration` [s] at `rate` [Hz] with every channel, in bytes.

    Samples are not compressed. A servo that does not report every channel needs less.
    """
    rows = max(1, round(duration * rate))
    stored = rows if rows <= CHUNK_ROWS else CHUNK_ROWS * math.ceil(rows / CHUNK_ROWS)
    return FILE_OVERHEAD + stored * SAMPLE_DTYPE.itemsize


def size_in_words(count: int) -> str:
    """Return a number of bytes as text, in kB or MB."""
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def end_time(seconds: float, now: datetime) -> str:
    """Return the time of day in so many seconds, for example "14:32"; with the weekday if it is not today."""
    end = now + timedelta(seconds=seconds)
    return end.strftime("%H:%M") if end.date() == now.date() else end.strftime("%a %H:%M")
