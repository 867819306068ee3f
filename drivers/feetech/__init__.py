"""Feetech servos of the STS, SMS and SCS series on a serial bus: STS3215, STS3250, SCS0009 and their like.

Address: `feetech:PORT:ID[:BAUD][?servo=NAME]`, e.g. `feetech:/dev/ttyACM0:1`; the default is 1000000 baud. Servos that
differ in voltage or gear ratio answer alike, so that the address says which one it is.

The driver is that of `drivers.serial_bus`, since Feetech's packets are those of Dynamixel protocol 1; `servo` adds what
its firmware does otherwise. A model is data: its control table is in `resources/control_tables`, the rest in its servo
file under `[bus.feetech]`.

dynamixel-sdk and pyserial are an extra of the package: nothing here imports them before a bus is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.servo.catalogue import ServoSpec
from drivers.feetech.form import FEETECH, family
from drivers.libraries import needed_by
from drivers.registry import ServoAddress
from drivers.scan import Found, OnStep, ShouldStop
from drivers.serial_bus import profile
from drivers.serial_bus.profile import SerialProfile

if TYPE_CHECKING:
    from drivers.feetech.source import FeetechSource

__all__ = ["family", "from_address", "profile_of", "scan"]


def profile_of(spec: ServoSpec) -> SerialProfile:
    """Return the profile of a catalogue servo; raises ModelError."""
    return profile.profile_of(spec, FEETECH)


def from_address(address: ServoAddress) -> FeetechSource:
    """Read `feetech:PORT:ID[:BAUD][?servo=NAME]`.

    Raises:
        AddressError: The address does not describe a Feetech servo.
        DriverError: dynamixel-sdk is not installed.
    """
    return _module("drivers.feetech.source").from_address(address)


def scan(values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """Look for Feetech servos on the form's port.

    Raises:
        AddressError: There is no such field, or a value is wrong.
        BusError: The port is missing or used by another program.
        DriverError: dynamixel-sdk is not installed.
    """
    return _module("drivers.serial_bus.search").scan(FEETECH, family(), values, on_step, should_stop)


def _module(name: str) -> Any:
    """Import a module that uses the SDK."""
    with needed_by("Feetech servos"):
        return import_module(name)
