"""The guardian: a small process that switches a servo off when the recorder's process that drives it dies or hangs.

The recorder releases its servo on every way out it lives to see. It does not see SIGKILL, a driver that never returns
or a debugger that stops it. The guardian looks at the same shared block as the program does, but lives as long as the
recorder, not as long as the program, and says nothing on the bus until it has to. It is started for every servo whose
description knows how to release it blindly; what no process can reach, a cable that is out, is left to the servo's
own watchdog.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

from drivers.errors import BusError
from drivers.priority import raise_priority
from drivers.recorder.control import Control, ControlView
from drivers.recorder.run import Phase
from drivers.recorder.signals import answer_signals
from drivers.registry import BlindlyReleased

GUARD_LIMIT = 0.15
"""A recorder that drives a servo and gave no sign of life for this long [s] is taken for dead."""
LOOK_PERIOD = 0.01
"""Between two looks [s]."""
PERSISTENCE = 30.0
"""A bus that cannot be reached is tried again for this long [s]: time to plug the adapter in again."""
INSIST_PERIOD = 0.5
"""Between two attempts when many were in vain [s]."""
HANDOVER = 3.0
"""The program waits no longer than this for the guardian [s], which goes on without it."""
PRIORITY = 60
"""Above the recorder's, which may be what stands in the way."""


@dataclass(frozen=True)
class GuardianSetup:
    """What the guardian is started with."""

    source: BlindlyReleased
    control: Control
    recorder: int
    """Process id of the recorder."""


def guard(job: GuardianSetup) -> None:
    """Watch until the recorder has closed the servo or is gone."""
    # Whoever ends the program may want to end this process with it; its work is then still ahead.
    answer_signals(signal.SIG_IGN)
    raise_priority(PRIORITY)
    view = job.control.view()
    view.set("guarding", 1)
    life = _Life(job.recorder)
    while view.get("phase") != Phase.CLOSED and not life.over(LOOK_PERIOD):
        # In this order: a recorder that goes on releases the servo itself.
        if view.may_be_driven and view.age("recorder_beat") > GUARD_LIMIT:
            _release(job.source, view)
    if view.may_be_driven:
        _insist(job.source, view)


def _release(source: BlindlyReleased, view: ControlView) -> None:
    """Try to switch the motor off beside the recorder."""
    view.stamp("guarded_at")
    if _attempt(source) is _Heard.CONFIRMED:
        view.stamp("guard_confirmed_at")


def _insist(source: BlindlyReleased, view: ControlView) -> None:
    """After the recorder's end, switch the motor off until that is confirmed, as long as the bus can be reached.

    The program need not wait for all of that. A program that takes the bus meanwhile answers for the servo.
    """
    view.stamp("guarded_at")
    begin = reached = time.monotonic()
    waited_for = True
    while (heard := _attempt(source, alone=True)) is not _Heard.CONFIRMED:
        now = time.monotonic()
        if heard is _Heard.NOTHING:
            reached = now
        if now - reached > PERSISTENCE:
            return
        if waited_for and now - begin > HANDOVER:
            waited_for = False
            _go_on_alone()
        time.sleep(LOOK_PERIOD if waited_for else INSIST_PERIOD)
    # Later the program may have given the block to another recorder.
    if waited_for:
        view.stamp("guard_confirmed_at")


class _Heard(Enum):
    """Answers to an attempt to switch the motor off."""

    CONFIRMED = auto()
    NOTHING = auto()
    """The bus is there, the servo did not confirm it."""
    NO_BUS = auto()


def _attempt(source: BlindlyReleased, alone: bool = False) -> _Heard:
    try:
        source.release_blindly(alone)
    except BusError:
        return _Heard.NO_BUS
    except Exception:
        return _Heard.NOTHING
    return _Heard.CONFIRMED


def _go_on_alone() -> None:
    """Let the program see this process end; where the system allows it, it goes on all the same."""
    if not hasattr(os, "fork") or os.fork():
        os._exit(1)


class _Life:
    """Whether a process still lives, noticed at once where the system can tell."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._file: int | None = None
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self._file = os.pidfd_open(pid)

    def over(self, wait: float) -> bool:
        """Whether it is over, known within `wait` [s]."""
        if self._file is not None:
            return bool(select.select([self._file], (), (), wait)[0])
        time.sleep(wait)
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return True
        return False
