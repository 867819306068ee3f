"""Dynamixel servos on an emulated port, as a picklable description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from drivers.emulators.dynamixel.joint_series import Mx1Device, Xl320Device
from drivers.emulators.dynamixel.x_series import XDevice
from drivers.emulators.serial_bus.device import Device
from drivers.emulators.serial_bus.source import EmulatedServo, SerialEmulation
from drivers.serial_bus.table import Protocol

if TYPE_CHECKING:
    from drivers.emulators.serial_bus.emulator import Language


@dataclass(frozen=True, kw_only=True)
class EmulatedDynamixel(EmulatedServo):
    """One servo on the bus; MX servos have a catalogue name for each protocol's firmware."""

    servo: str = "xl330"


@dataclass(frozen=True, kw_only=True)
class DynamixelEmulation(SerialEmulation):
    """Description of an emulated bus."""

    bus: ClassVar = "dynamixel"
    series: ClassVar[Mapping[str, type[Device]]] = {"x": XDevice, "mx1": Mx1Device, "xl320": Xl320Device}
    servos: tuple[EmulatedServo, ...] = (EmulatedDynamixel(),)

    @classmethod
    def languages(cls) -> dict[Protocol, Language]:
        """Return both protocols."""
        from drivers.emulators.dynamixel import protocol2
        from drivers.emulators.serial_bus import protocol1
        from drivers.emulators.serial_bus.emulator import Language

        return {
            1: Language(protocol1.Reader1, protocol1.execute, protocol1.write),
            2: Language(protocol2.Reader2, protocol2.execute, protocol2.write),
        }
