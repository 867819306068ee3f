"""Scanning for servos, with a report of every attempt: an empty result needs a reason.

A family that can be scanned has a function `scan(values, on_step, should_stop)` in its module, with the meaning of the
function here. It reports each attempt as it ends and calls `should_stop` at least every 100 ms, so that a cancelled
scan ends at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from drivers.errors import DriverError
from drivers.registry import family, family_module


@dataclass(frozen=True)
class ScanStep:
    """One attempt of a scan."""

    tried: str
    """Address tried, e.g. "/dev/ttyUSB0, 57600 baud, ID 1"."""
    answer: str
    """Servo that answered, or the reason why none did."""
    number: int = 0
    """Position among all attempts, from 1; 0 if unknown."""
    total: int = 0
    """Number of all attempts; 0 if unknown."""


@dataclass(frozen=True)
class Found:
    """A servo found by a scan."""

    address: str
    title: str
    detail: str = ""
    """Further facts, e.g. the firmware."""
    by_label: bool = False
    """True for one of several servos that answer alike: which one it is, is on its label only."""


def answered(found: Sequence[Found]) -> int:
    """Return the number of servos that answered; those that may be the same one count once."""
    return len({servo.address.partition("?")[0] if servo.by_label else servo.address for servo in found})


OnStep = Callable[[ScanStep], None]
ShouldStop = Callable[[], bool]


def scan(family_name: str, values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """Look for servos of a family, and block until done.

    Args:
        family_name: Name of the family.
        values: Values of the family's form.
        on_step: Called after each attempt, in the same thread.
        should_stop: Polled; the scan ends early once it returns True.

    Returns:
        The servos found so far.

    Raises:
        AddressError: for an unknown family.
        DriverError: if the family cannot be scanned or its bus cannot be used.
    """
    known = family(family_name)
    if not known.can_scan:
        raise DriverError(f"{known.title}: there is nothing to scan; enter the servo's address")
    return family_module(family_name).scan(values, on_step, should_stop)
