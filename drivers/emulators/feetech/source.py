"""Feetech servos on an emulated port, as a picklable description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from drivers.emulators.feetech.scs_series import ScsDevice
from drivers.emulators.feetech.sts_series import StsDevice
from drivers.emulators.serial_bus.device import Device
from drivers.emulators.serial_bus.source import EmulatedServo, SerialEmulation
from drivers.serial_bus.table import Protocol

if TYPE_CHECKING:
    from drivers.emulators.serial_bus.emulator import Language


@dataclass(frozen=True, kw_only=True)
class EmulatedFeetech(EmulatedServo):
    """One servo on the bus."""

    servo: str = "sts3215"


@dataclass(frozen=True, kw_only=True)
class FeetechEmulation(SerialEmulation):
    """Description of an emulated bus, on which several servos may have one ID."""

    bus: ClassVar = "feetech"
    series: ClassVar[Mapping[str, type[Device]]] = {"sts": StsDevice, "scs": ScsDevice}
    servos: tuple[EmulatedServo, ...] = (EmulatedFeetech(),)
    drops_locked: bool = False
    starts_driven: bool = False
    """See `StsDevice`."""

    @classmethod
    def languages(cls) -> dict[Protocol, Language]:
        """Return Feetech's protocol."""
        from drivers.emulators.feetech import protocol
        from drivers.emulators.serial_bus.emulator import Language

        return {"scs": Language(protocol.Reader1, protocol.execute, protocol.write)}

    def options(self) -> dict[str, Any]:
        """Return the behaviour in which sources contradict each other."""
        return {"drops_locked": self.drops_locked, "starts_driven": self.starts_driven}

    def check(self, devices: list[Device]) -> None:
        """Allow servos with the same ID."""
