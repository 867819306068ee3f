"""Signals to the processes that hold a servo: keys typed at a terminal must neither end nor stop them.

They do stop the program, which `is_stopped` shows.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

UNANSWERED = (
    # Cannot be handled, or have no effect.
    *("SIGKILL", "SIGSTOP", "SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGPIPE", "SIGXFSZ"),
    # A process that gets one of these cannot continue. The guardian, or the servo's own watchdog, outlives it.
    *("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS", "SIGSTKFLT", "SIGEMT"),
)


def answer_signals(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    """Leave the session of the program's terminal, and let `handler` take every signal that would end or stop."""
    if hasattr(os, "setsid"):
        with suppress(PermissionError):
            os.setsid()
    left = {getattr(signal, name, None) for name in UNANSWERED}
    for number in signal.valid_signals() - left:
        signal.signal(number, handler)


def is_stopped(pid: int) -> bool:
    """Return True if a process is stopped by a signal or a debugger; False as well where the system does not say."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in (b"T", b"t")
