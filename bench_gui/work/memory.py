"""Early return of freed memory to the system, for a process that runs all day.

The C library keeps freed memory between blocks in use, and raises its threshold for separate blocks once large ones
were freed, so that recordings loaded and dropped all day leave holes. Blocks above a fixed size are therefore mapped
separately and leave none; the pages of other holes are returned from time to time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Parameters of glibc's `mallopt`."""
OWN_BLOCK = 65_536
"""Size from which arrays are mapped separately [bytes]."""
ARENAS = 2
"""Number of heaps shared by all threads; by default each gets its own heap, with its own holes."""


def return_memory_early() -> bool:
    """Set up this process before it starts threads; return whether the C library supports it."""
    mallopt = _of_c_library("mallopt")
    return bool(mallopt(_MMAP_THRESHOLD, OWN_BLOCK)) and bool(mallopt(_ARENA_MAX, ARENAS))


def return_free_memory() -> bool:
    """Return unused pages to the system, which takes a few ms; return whether there were any."""
    return bool(_of_c_library("malloc_trim")(0))


def _of_c_library(name: str) -> Callable[..., int]:
    """Return a function of glibc, or with another C library one that does nothing and returns 0."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, TypeError):
        return lambda *_: 0
