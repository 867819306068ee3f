"""Announcements of long work that no caller asked for, such as the compilation of the kernels.

The part of a process that shows progress listens. Without a listener, nothing is announced.
"""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[[str], object]
_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """Set the function that receives the announcements of this process, on the thread that does the work; or none."""
    global _listener
    _listener = listener


def announce(text: str) -> None:
    """Announce work that begins now, e.g. "compiling the simulation, about 30 s, once"."""
    if _listener is not None:
        _listener(text)
