"""Dynamixel servos of ROBOTIS: X series, MX with either firmware, XL-320, on a serial bus through dynamixel-sdk.

Address: `dynamixel:PORT:ID[:PROTOCOL[:BAUD]]`, e.g. `dynamixel:/dev/ttyUSB0:1:2:1000000`; the defaults are protocol 2
and 57600 baud. A model is data: its control table is in `resources/control_tables`, the rest in its servo file under
`[bus.dynamixel]`.

The driver is that of `drivers.serial_bus`; here are the address, its form and the tables.

dynamixel-sdk and pyserial are an extra of the package: nothing here imports them before a bus is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.servo.catalogue import ServoSpec
from drivers.dynamixel.form import DYNAMIXEL, family
from drivers.libraries import needed_by
from drivers.registry import ServoAddress
from drivers.scan import Found, OnStep, ShouldStop
from drivers.serial_bus import profile
from drivers.serial_bus.checks import examine
from drivers.serial_bus.profile import SerialProfile

if TYPE_CHECKING:
    from drivers.dynamixel.source import DynamixelSource

__all__ = ["DynamixelSource", "examine", "family", "from_address", "profile_of", "scan"]


def profile_of(spec: ServoSpec) -> SerialProfile:
    """Return the profile of a catalogue servo; raises ModelError."""
    return profile.profile_of(spec, DYNAMIXEL)


def from_address(address: ServoAddress) -> DynamixelSource:
    """Read `dynamixel:PORT:ID[:PROTOCOL[:BAUD]]`.

    Raises:
        AddressError: The address does not describe a Dynamixel.
        DriverError: dynamixel-sdk is not installed.
    """
    return _module("drivers.dynamixel.source").from_address(address)


def scan(values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """Look for Dynamixels on the form's port.

    Raises:
        AddressError: There is no such field, or a value is wrong.
        BusError: The port is missing or used by another program.
        DriverError: dynamixel-sdk is not installed.
    """
    return _module("drivers.serial_bus.search").scan(DYNAMIXEL, family(), values, on_step, should_stop)


def _module(name: str) -> Any:
    """Import a module that uses the SDK."""
    with needed_by("Dynamixel servos"):
        return import_module(name)


def __getattr__(name: str) -> Any:
    if name != "DynamixelSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _module("drivers.dynamixel.source").DynamixelSource
