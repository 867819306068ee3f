"""Limits in time, and the one clock of the machine by which drivers, recorder, guardian and window count them.

`limits` and `machine` are the variables that everything reads at the moment of use; a test may put other limits or
another clock in their place. Processes read SERVOBENCH_PATIENCE as they start: on a machine that is too busy for
limits in real time, as when it runs a suite of tests, all limits are longer by that factor. It is for simulated and
emulated servos; a bus that may have a real one refuses to open.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Protocol

from core.base.errors import InputError
from core.base.numbers import parse_number
from drivers.errors import BusError

PATIENCE = "SERVOBENCH_PATIENCE"
"""Environment variable with the factor of `TimeLimits.times`."""
LONGEST_PATIENT = 300.0
"""No limit is lengthened beyond this [s], so that nothing that has lost its program lives long."""
UNHURRIED = frozenset(
    {"guardian_handover", "guardian_persistence", "recorder_end", "storage_backlog", "configure", "swing"}
)
"""Limits that no busy machine reaches, and that are waited out where a bus or a process is gone; they stay."""
STANDS_STILL_FROM = 30.0
"""Factor from which on a simulated servo stands still while its process does."""


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """Longest time that anything may be silent, late or away [s], unless another unit is given."""

    # Programs and processes.
    program_silence: float = 1.5
    """A driven servo is released when the program's main thread has given no sign of life for this long: it hangs. On a
    busy machine a thread that lives may be late by several tenths of a second."""
    program_stopped: float = 0.2
    """A driven servo is released when the program has given no sign of life for this long and the system reports its
    process as stopped, as Ctrl-Z does."""
    recorder_silence: float = 0.5
    """A recorder's process that has given no sign of life for this long counts as dead for the program."""
    guarded_silence: float = 0.15
    """A recorder that drives a servo and has given no sign of life for this long counts as dead for the guardian."""
    guardian_handover: float = 3.0
    """Longest time that the program waits for the guardian, which then continues without it."""
    guardian_persistence: float = 30.0
    """A guardian tries an unreachable bus again for this long: time to plug the adapter in again."""
    connect: float = 60.0
    """Longest time for connecting; a first start may compile the simulation."""
    configure: float = 10.0
    """Longest time for writing a released servo's settings, or rebooting it after a fault."""
    recorder_end: float = 5.0
    """Time that a process asked to end may take; after that it gets a signal and the same time again."""
    storage_backlog: float = 5.0
    """Longest time that a run's storage may lag behind before the run is stopped."""
    compute_process_end: float = 1.0
    """Time that the window's computing process gets to exit on its own."""
    computation_end: float = 2.0
    """Time that a computation's process gets to stop while the window closes."""
    window_reached: float = 0.5
    """Time within which the system connects to the socket of a window that is open already."""
    window_answer: float = 5.0
    """Time for that window to answer; it may still be starting."""

    # Any driven servo.
    stall: float = 0.2
    """A driven servo that was not read for this long of the machine's time, at any clock speed, is released."""
    blind: float = 0.1
    """Longest time that a servo may be driven while its answers are lost; one or two do not end a run."""
    rest: float = 5.0
    """A driven servo that is not at rest after this time of its clock will never be."""
    swing: float = 20.0
    """Longest time of its clock that a released pendulum may swing."""
    unattended: float = 120.0
    """Longest time that a torque is held while no one moves the pendulum or requests another torque."""
    answer: float = 0.035
    """Longest time that a driver's read, command and each attempt to release may take; an emergency stop waits for it
    and has to be heeded within 50 ms."""

    # Dynamixel.
    serial_read: float = 0.031
    """Time within which a read of a driven servo is repeated."""
    serial_late: float = 0.1
    """Time after which an answer will not come any more."""
    serial_write: float = 0.02
    """Time after which a write has failed, because nothing reads it."""
    serial_first_answer: float = 0.024
    """Time allowed for an answer in addition to its time on the wire, until it was measured: a USB adapter's 16 ms and
    the machine's own delay."""
    serial_shortest_answer: float = 0.008
    """Shortest time allowed for an answer."""
    serial_busy: float = 0.006
    """Time that a busy machine may add to twice an answer's usual delay."""
    serial_blind_answer: float = 0.018
    """Time that a blind release waits for the model number, and again for the confirmation."""
    serial_relaxed_answer: float = 0.5
    """Time that a released servo may take to answer a read."""
    serial_found: float = 1.0
    """Time within which a servo that was just switched on answers."""
    serial_restart: float = 3.0
    """Time within which a servo is back after a restart."""

    # EtherCAT.
    ethercat_request: float = 0.5
    """Time for a request of a slave's state or its mailbox."""
    ethercat_thread_end: float = 1.0
    """Time within which the bus's thread ends."""
    ethercat_orphan: float = 0.1
    """Time without a command, read or wait after which a driven servo is released."""
    ethercat_lost_frames: int = 5
    """Cycles in a row without an answer that end a run. Each lasts 8 to 16 ms on a usual kernel, so that the drive's
    own watchdog is not far then."""
    ethercat_safeop: float = 1.0
    """Longest time that a drive may take to SAFEOP."""
    ethercat_enable: float = 0.12
    """Time within which a drive is ready to follow goals; a longer wait would look like a recorder that hangs."""
    ethercat_op: float = 3.0
    """Time within which the frames are in step with SYNC0 and the drive is in OP."""
    ethercat_reset: float = 1.0
    """Time within which the drive is out of a fault."""
    ethercat_look: float = 0.5
    """Time within which a slave's state is known while nothing is driven."""

    # Emulated servos.
    emulator_answer: float = 5.0
    """Time within which an emulator's console answers."""
    emulated_watchdogs: float = 1.0
    """Factor of what emulated servos' own watchdogs are set to."""
    simulated_stands_still: bool = False
    """True if no time passes for a simulated servo while its process gets none."""

    @property
    def ethercat_wait(self) -> float:
        """Longest wait of a read or a release for the bus [s]."""
        return 0.8 * self.answer

    @property
    def ethercat_release(self) -> float:
        """Time within which a drive that gets its frames is switched off [s]."""
        return 0.65 * self.ethercat_wait

    def times(self, factor: float) -> TimeLimits:
        """Return limits that are longer by a factor of 1 or more."""
        if not (math.isfinite(factor) and factor >= 1.0):
            raise ValueError(f"limits are lengthened by a factor of 1 or more, not {factor:g}")
        if factor == 1.0:
            return self
        longer = {
            field.name: type(value)(min(factor * value, max(value, LONGEST_PATIENT)))
            for field in fields(self)
            if not isinstance(value := getattr(self, field.name), bool) and field.name not in UNHURRIED
        }
        return replace(self, **longer, simulated_stands_still=factor >= STANDS_STILL_FROM)


REAL = TimeLimits()
"""The product's limits."""


def limits_by_environment() -> TimeLimits:
    """Return the limits that SERVOBENCH_PATIENCE asks for; raises InputError for what is no factor."""
    text = os.environ.get(PATIENCE, "1")
    try:
        return REAL.times(parse_number(text))
    except ValueError:
        raise InputError(f"{PATIENCE} is a factor of 1 or more, not {text!r}; unset it") from None


limits = limits_by_environment()
"""The limits of this process."""


class Machine(Protocol):
    """The part of the module `time` in use: a monotonic clock, the same in every process of the machine, and sleep."""

    def perf_counter(self) -> float:
        """Return seconds since an arbitrary origin."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Return after at least so long [s]."""
        ...


machine: Machine = time
"""The clock of this process."""


def require_real_limits(bus: str, emulated: Callable[[], bool]) -> None:
    """Refuse a bus that is not known to be emulated while limits are lengthened: a real servo would be released late.

    Raises:
        BusError: if they are.
    """
    if limits != REAL and not emulated():
        raise BusError(f"{bus}: {PATIENCE} is for emulated servos only, a real one would be released late; unset it")


def now() -> float:
    """Return the machine's time since an arbitrary origin [s]."""
    return machine.perf_counter()


def now_ns() -> int:
    """Return the machine's time since the same origin [ns]."""
    return round(1e9 * machine.perf_counter())


def sleep(seconds: float) -> None:
    """Let time pass [s]."""
    machine.sleep(seconds)
