"""A process that runs all day gives memory back as soon as it is free.

The C library keeps what was freed between blocks still in use, and takes ever larger blocks from there once it has seen
large ones freed: of recordings that are loaded and dropped all day, holes remain. Blocks above a fixed size that are
taken from the system each for itself leave none; the pages of the other holes are given back from time to time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Names of two settings of glibc's `mallopt`."""
OWN_BLOCK = 65_536
"""Arrays from this size on are taken from the system each for itself [bytes]."""
ARENAS = 2
"""Threads share so many heaps; each would otherwise get one of its own, with its own holes."""


def return_memory_early() -> bool:
    """Set this process up so, before it has threads; whether the C library can do it."""
    mallopt = _of_c_library("mallopt")
    return bool(mallopt(_MMAP_THRESHOLD, OWN_BLOCK)) and bool(mallopt(_ARENA_MAX, ARENAS))


def return_free_memory() -> bool:
    """Give the system the pages in which nothing is in use any more, at most some ms; whether there were any."""
    return bool(_of_c_library("malloc_trim")(0))


def _of_c_library(name: str) -> Callable[..., int]:
    """A function of glibc; where the C library is another, one that does nothing and says so."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, TypeError):
        return lambda *_: 0
