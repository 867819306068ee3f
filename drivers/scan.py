"""Looking for servos, and saying what was tried: an empty result without a word why helps nobody.

A family that can be scanned has a function `scan(values, on_step, should_stop)` in its module with the meaning of the
one here. It tells each attempt as it is over and asks `should_stop` at least every 100 ms, so that a scan that is
cancelled is over before a person wonders whether it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from drivers.errors import DriverError
from drivers.registry import family, family_module


@dataclass(frozen=True)
class ScanStep:
    """One attempt."""

    tried: str
    """E.g. "/dev/ttyUSB0, 57600 baud, ID 1"."""
    answer: str
    """Who answered, or why nobody did."""
    number: int = 0
    """Its place among all attempts, from 1; 0 where that is not known."""
    total: int = 0
    """All attempts."""


@dataclass(frozen=True)
class Found:
    """A servo that answered."""

    address: str
    title: str
    detail: str = ""
    """What else is known, e.g. its firmware."""


OnStep = Callable[[ScanStep], None]
ShouldStop = Callable[[], bool]


def scan(family_name: str, values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """Look for servos of a family; values are those of its form. Returns what was found, if stopped so far.

    Blocks for as long as it takes; on_step is called in the same thread. Raises AddressError for an unknown family,
    DriverError when the family cannot be scanned or its bus cannot be used.
    """
    known = family(family_name)
    if not known.can_scan:
        raise DriverError(f"{known.title}: there is nothing to scan; enter the servo's address")
    return family_module(family_name).scan(values, on_step, should_stop)
