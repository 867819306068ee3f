"""Jobs for a process of the window. The process loads this module, and neither Qt nor pytest with it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bench_gui.work.process import Line, Share
from core.base.announcements import announce
from core.base.errors import InputError, StoppedEarly


def count(job: int, line: Line) -> int:
    """Tell each number below the job, and end with their sum."""
    for number in range(job):
        line.tell(number)
    return sum(range(job))


def wait(job: str, line: Line) -> str:
    """End when asked to."""
    line.tell(os.getpid())
    while not line.stop_asked():
        time.sleep(0.01)  # not to burn a processor; nothing depends on how long
    return f"{job}, {'courteous' if line.courtesy_asked() else 'at full speed'}"


def halves(job: object, line: Line) -> None:
    """Tell that half is done, then wait to be stopped, and have nothing to hand over."""
    line.tell(Share(0.5, "one half"))
    while not line.stop_asked():
        time.sleep(0.01)
    raise StoppedEarly("stopped before anything was complete")


def fail(job: str, line: Line) -> None:
    """Raise what a person reads."""
    raise InputError(f"{job}: choose another")


def vanish(job: object, line: Line) -> None:
    """Be gone without a word, as a process that was killed."""
    os._exit(3)


def compile_first(job: object, line: Line) -> None:
    """Announce a compilation, then wait to be stopped."""
    line.tell(Share(0.2, "one fifth"))
    announce("compiling the simulation, about 30 s, once")
    while not line.stop_asked():
        time.sleep(0.01)


def announce_and_wait(text: str, file: Path) -> str:
    """Announce something and wait for a file."""
    announce(text)
    while not file.exists():
        time.sleep(0.01)
    return "done"
