"""A drive on a network interface as a picklable description, and as an address."""

from __future__ import annotations

from dataclasses import dataclass

from core.base.numbers import parse_number, parse_whole
from drivers.errors import AddressError
from drivers.ethercat import nic
from drivers.ethercat.servo import EthercatServo
from drivers.ethercat.settings import DriveSettings
from drivers.registry import ServoAddress
from drivers.servo import Servo


@dataclass(frozen=True, kw_only=True)
class EthercatSource(DriveSettings):
    """Description of a drive on a bus."""

    def open(self) -> Servo:
        """Return the servo, not yet connected."""
        return EthercatServo(self)

    def release_blindly(self, alone: bool = False) -> None:
        """Make every drive on the interface leave OP, whatever its master.

        Args:
            alone: Act only while no process owns the interface. The interface is not locked.

        Raises:
            BusError: if the interface cannot be used or no drive confirms it.
        """
        if alone:
            nic.Lock(self.interface).release()
        nic.release_blindly(self.interface)


def from_address(address: ServoAddress) -> EthercatSource:
    """Return the source for `ethercat:INTERFACE:SLAVE[?option=value&…]`.

    Raises:
        AddressError: for another form or an invalid value.
    """
    if not 1 <= len(address.parts) <= 2:
        raise AddressError(
            f"servo address {address}: a drive is written ethercat:INTERFACE:SLAVE, e.g. ethercat:eth0:1"
        )
    interface, slave = (*address.parts, "1")[:2]
    try:
        number, cycle, zero = _whole("slave", slave), None, 0
        texts = {"servo": "", "mode": "cst", "dc": ""}
        for name, value in address.options:
            if name in texts:
                texts[name] = value
            elif name == "cycle":
                cycle = 1e-3 * _number(name, value)
            elif name == "zero":
                zero = _whole(name, value)
            else:
                raise AddressError(f"unknown option {name!r}; there are {', '.join((*texts, 'cycle', 'zero'))}")
        return EthercatSource(
            interface=interface,
            slave=number,
            servo=texts["servo"],
            mode=texts["mode"],
            dc_order=texts["dc"],
            cycle=cycle,
            zero=zero,
        )
    except AddressError as error:
        raise AddressError(f"servo address {address}: {error}") from None


def _number(name: str, text: str) -> float:
    try:
        return parse_number(text)
    except ValueError as error:
        raise AddressError(f"{name}: {error}") from None


def _whole(name: str, text: str) -> int:
    try:
        return parse_whole(text)
    except ValueError as error:
        raise AddressError(f"{name}: {error}") from None
