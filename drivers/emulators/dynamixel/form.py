"""Address form of an emulated Dynamixel servo, see `drivers.emulators.serial_bus.form_fields`."""

from __future__ import annotations

from drivers.emulators.dynamixel.source import DynamixelEmulation
from drivers.emulators.serial_bus.form_fields import emulated_family, emulation
from drivers.emulators.serial_bus.source import SerialEmulation
from drivers.family import Family
from drivers.registry import ServoAddress


def family() -> Family:
    """Return the form of emulated Dynamixel servos."""
    return emulated_family("Dynamixel", DynamixelEmulation(), highest_id=252, fastest=4_500_000)


def from_address(address: ServoAddress) -> SerialEmulation:
    """Return the emulator at an address; raises AddressError."""
    return emulation(DynamixelEmulation, family(), address)
