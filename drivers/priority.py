"""Real-time scheduling for processes that must not be late."""

from __future__ import annotations

import os


def raise_priority(priority: int) -> str:
    """Request SCHED_FIFO with this priority; return the scheduling obtained, as text."""
    if not hasattr(os, "sched_setscheduler"):
        return "normal priority: this system has no SCHED_FIFO"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return f"normal priority: SCHED_FIFO was refused ({error.strerror}); allow it with an rtprio limit"
    return f"SCHED_FIFO {priority}"
