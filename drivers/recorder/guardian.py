"""The guardian: a small process that switches a servo off when the recorder's process that drives it dies or hangs.

The recorder releases its servo whenever it ends in a way it can notice. It cannot notice SIGKILL, a driver that never
returns, or a debugger that stops it. The guardian watches the same shared block as the program. It lives as long as the
recorder, not as long as the program, and uses the bus only when it has to. It is started for every servo whose
description can release it blindly. If no process can reach the servo, as with an unplugged cable, only the servo's own
watchdog can stop it.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

from drivers import timing
from drivers.errors import BusError
from drivers.priority import raise_priority
from drivers.recorder.control import Control, ControlView
from drivers.recorder.run import Phase
from drivers.recorder.signals import answer_signals
from drivers.registry import BlindlyReleased

LOOK_PERIOD = 0.01
"""Pause between two checks [s]."""
INSIST_PERIOD = 0.5
"""Pause between two attempts after many failed ones [s]."""
PRIORITY = 60
"""Priority above that of the recorder, which may be blocking the processor."""


@dataclass(frozen=True)
class GuardianSetup:
    """Arguments of the guardian's process."""

    source: BlindlyReleased
    control: Control
    recorder: int
    """Process id of the recorder."""


def guard(job: GuardianSetup) -> None:
    """Watch until the recorder has closed the servo or is gone."""
    # A signal that ends the program may reach this process too, but its work is still to be done.
    answer_signals(signal.SIG_IGN)
    raise_priority(PRIORITY)
    view = job.control.view()
    view.set("guarding", 1)
    life = _Life(job.recorder)
    while view.get("phase") != Phase.CLOSED and not life.over(LOOK_PERIOD):
        # In this order: a recorder that is still running releases the servo itself.
        if view.may_be_driven and view.age("recorder_beat") > timing.limits.guarded_silence:
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

    The program need not wait for all of that. A program that takes the bus meanwhile is responsible for the servo.
    """
    view.stamp("guarded_at")
    begin = reached = timing.now()
    waited_for = True
    while (heard := _attempt(source, alone=True)) is not _Heard.CONFIRMED:
        now = timing.now()
        if heard is _Heard.NOTHING:
            reached = now
        if now - reached > timing.limits.guardian_persistence:
            return
        if waited_for and now - begin > timing.limits.guardian_handover:
            waited_for = False
            _go_on_alone()
        timing.sleep(LOOK_PERIOD if waited_for else INSIST_PERIOD)
    # Later the program may have given the block to another recorder.
    if waited_for:
        view.stamp("guard_confirmed_at")


class _Heard(Enum):
    """Results of an attempt to switch the motor off."""

    CONFIRMED = auto()
    NOTHING = auto()
    """The bus works, but the servo did not confirm the release."""
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
    """Let the program see this process end, but continue where the system allows it, without its files.

    A reader of the program's output, as in `bench record | tee`, waits until no process has it open.
    """
    if not hasattr(os, "fork") or os.fork():
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


class _Life:
    """Watch on a process, which notices its end at once where the system supports that."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._file: int | None = None
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self._file = os.pidfd_open(pid)

    def over(self, wait: float) -> bool:
        """Return True if the process has ended, after at most `wait` [s]."""
        if self._file is not None:
            return bool(select.select([self._file], (), (), wait)[0])
        timing.sleep(wait)
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return True
        return False
