"""Address form of an emulated Feetech servo, see `drivers.emulators.serial_bus.form_fields`."""

from __future__ import annotations

from drivers.emulators.feetech.source import FeetechEmulation
from drivers.emulators.serial_bus.form_fields import emulated_family, emulation
from drivers.emulators.serial_bus.source import SerialEmulation
from drivers.family import Family
from drivers.registry import ServoAddress


def family() -> Family:
    """Return the form of emulated Feetech servos."""
    return emulated_family("Feetech", FeetechEmulation(), highest_id=253, fastest=1_000_000)


def from_address(address: ServoAddress) -> SerialEmulation:
    """Return the emulator at an address; raises AddressError."""
    return emulation(FeetechEmulation, family(), address)
