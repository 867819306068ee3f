"""A Dynamixel as a picklable description, and as an address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.base.errors import ModelError
from drivers.dynamixel.form import DYNAMIXEL, family
from drivers.errors import AddressError, BusError, NoAnswer
from drivers.registry import ServoAddress
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.family import SerialFamily
from drivers.serial_bus.profile import profile_of, servos_by_model_number
from drivers.serial_bus.servo import SerialServo
from drivers.serial_bus.source import SerialSource
from drivers.serial_bus.table import ControlTable, load_table


@dataclass(frozen=True, kw_only=True)
class DynamixelSource(SerialSource):
    """Address of a Dynamixel."""

    family: ClassVar[SerialFamily] = DYNAMIXEL

    def open(self) -> SerialServo:
        """Return the servo, not yet connected."""
        return SerialServo(DYNAMIXEL, self.port, self.id, self.protocol, self.baud)

    def tables(self, bus: Bus) -> list[ControlTable]:
        """Return this servo's control table; all possible ones if it does not report its model.

        The XL-320's comes first. At its address, a driven servo of the X series has a register that is locked while it
        is driven, whereas a released one would lose its moving threshold.
        """
        if self.protocol == 1:
            return [load_table("mx1")]
        try:
            [spec, *_] = servos_by_model_number(DYNAMIXEL, bus.ping(self.id), self.protocol)
        except (NoAnswer, BusError, ModelError):
            return [load_table(name) for name in ("xl320", "x")]
        return [profile_of(spec, DYNAMIXEL).table]


def from_address(address: ServoAddress) -> DynamixelSource:
    """Return the source for `dynamixel:PORT:ID[:PROTOCOL[:BAUD]]`.

    Raises:
        AddressError: for another form or an invalid value.
    """
    form = family()
    if not 2 <= len(address.parts) <= len(form.fields) or address.options:
        raise AddressError(
            f"servo address {address}: a Dynamixel is written dynamixel:PORT:ID[:PROTOCOL[:BAUD]], "
            "e.g. dynamixel:/dev/ttyUSB0:1:2:1000000"
        )
    values = form.values(str(address))
    try:
        form.address(values)
    except AddressError as error:
        raise AddressError(f"servo address {address}: {error}") from None
    return DynamixelSource(
        port=values["port"],
        id=int(values["id"]),
        protocol=1 if values["protocol"] == "1" else 2,
        baud=int(values["baud"]),
    )
