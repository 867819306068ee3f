"""A Feetech servo as a picklable description, and as an address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec, load_servo
from drivers.errors import AddressError
from drivers.feetech.form import FEETECH, family
from drivers.feetech.servo import FeetechServo, stated_among
from drivers.registry import ServoAddress
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.family import SerialFamily
from drivers.serial_bus.source import SerialSource
from drivers.serial_bus.table import ControlTable, Protocol, load_table


@dataclass(frozen=True, kw_only=True)
class FeetechSource(SerialSource):
    """Address of a Feetech servo."""

    family: ClassVar[SerialFamily] = FEETECH
    protocol: Protocol = "scs"
    baud: int = FEETECH.baud_rates[0]
    servo: str = ""
    """Catalogue name; "" if its model number names it."""

    def open(self) -> FeetechServo:
        """Return the servo, not yet connected."""
        return FeetechServo(self.port, self.id, self.baud, self.servo)

    def recognise(self, candidates: Sequence[ServoSpec]) -> ServoSpec:
        """Return one of these, of which one has answered; raise ModelError if the address states another servo."""
        return stated_among(self.servo, candidates) if self.servo else candidates[0]

    def tables(self, bus: Bus) -> list[ControlTable]:
        """Return a table of Feetech servos: all have their torque at the same address."""
        return [load_table("sts")]


def from_address(address: ServoAddress) -> FeetechSource:
    """Return the source for `feetech:PORT:ID[:BAUD][?servo=NAME]`.

    Raises:
        AddressError: for another form or an invalid value.
    """
    form = family()
    names = {name for name, _ in address.options}
    if not 2 <= len(address.parts) <= 3 or names - {"servo"}:
        raise AddressError(
            f"servo address {address}: a Feetech servo is written feetech:PORT:ID[:BAUD][?servo=NAME], "
            "e.g. feetech:/dev/ttyACM0:1?servo=sts3215"
        )
    values = form.values(str(address))
    try:
        if values["servo"]:
            values["servo"] = load_servo(values["servo"]).name
        form.address(values)
    except (AddressError, ModelError) as error:
        raise AddressError(f"servo address {address}: {error}") from None
    return FeetechSource(port=values["port"], id=int(values["id"]), baud=int(values["baud"]), servo=values["servo"])
