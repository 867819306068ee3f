"""A Dynamixel as a picklable description, as an address, and its release by another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.base.errors import ModelError
from drivers import timing
from drivers.dynamixel.bus import SILENCE, Bus
from drivers.dynamixel.form import family
from drivers.dynamixel.preparation import release_all, release_all_at_every_rate
from drivers.dynamixel.profile import dynamixels, profile_of, servo_by_model_number
from drivers.dynamixel.registers import Registers
from drivers.dynamixel.servo import DynamixelServo
from drivers.dynamixel.table import ControlTable, load_table
from drivers.errors import AddressError, BusError, NoAnswer
from drivers.registry import ServoAddress


@dataclass(frozen=True, kw_only=True)
class DynamixelSource:
    """Address of a servo: port, ID, protocol and baud rate."""

    port: str
    id: int = 1
    protocol: int = 2
    baud: int = 57600

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, ready to release at once: the catalogue is read now, not then."""
        self.__dict__.update(state)
        dynamixels()

    def open(self) -> DynamixelServo:
        """Return the servo, not yet connected."""
        return DynamixelServo(self.port, self.id, self.protocol, self.baud)

    def release_blindly(self, alone: bool = False) -> None:
        """Switch the motor off although another process owns the port.

        Args:
            alone: Act only while no process owns the port. The port is not locked.

        Raises:
            BusError: if the port cannot be opened.
            DriverError: if the servo did not confirm the release; NoAnswer if it did not answer.
        """
        if alone:
            with Bus(self.port, self.protocol, self.baud) as free:
                free.open()
        with Bus(self.port, self.protocol, self.baud) as bus:
            bus.open(exclusive=False)
            bus.patience = timing.limits.dynamixel_blind_answer
            tables = self._tables(bus)
            for table in tables:
                torque = table["torque_enable"]
                for _ in range(2):
                    bus.send(self.id, torque.address, torque.encode(0))
            silent, on = len(tables) > 1, 0
            try:
                on = 0 if silent else Registers(bus, self.id, tables[0]).read_one("torque_enable", 0.0)
            except NoAnswer:
                silent = True
            # Another program may have changed its ID.
            for table in tables if silent else ():
                release_all(bus, table)
            for table in tables if silent and alone else ():
                release_all_at_every_rate(bus, table)
            if silent or on:
                raise NoAnswer(f"{self.port}: ID {self.id} did not confirm that its motor is off; {SILENCE}")

    def _tables(self, bus: Bus) -> list[ControlTable]:
        """Return this servo's control table; all possible ones if it does not report its model.

        The XL-320's comes first. At its address, a driven servo of the X series has a register that is locked while it
        is driven, whereas a released one would lose its moving threshold.
        """
        if self.protocol == 1:
            return [load_table("mx1")]
        try:
            spec = servo_by_model_number(bus.ping(self.id), self.protocol)
        except (NoAnswer, BusError, ModelError):
            return [load_table(name) for name in ("xl320", "x")]
        return [profile_of(spec).table]


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
        port=values["port"], id=int(values["id"]), protocol=int(values["protocol"]), baud=int(values["baud"])
    )
