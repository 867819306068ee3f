"""A drive on a network interface as a picklable description, and as an address a person types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from drivers.errors import AddressError
from drivers.ethercat import nic
from drivers.ethercat.profile import DC_ORDERS, LONGEST_CYCLE, SHORTEST_CYCLE, drives

if TYPE_CHECKING:
    from drivers.ethercat.servo import EthercatServo
    from drivers.registry import ServoAddress

MODES = ("cst", "csp")
"""Who computes the position law: this driver ("cst", the drive is told torques) or the drive itself ("csp")."""
LONGEST_NAME = 15
"""Of a network interface on Linux."""


@dataclass(frozen=True, kw_only=True)
class EthercatSource:
    """Everything that makes a drive on a bus."""

    interface: str
    slave: int = 1
    """Position on the bus, from 1."""
    servo: str = ""
    """Catalogue servo; empty: the first one that fits what the drive says about itself."""
    mode: str = "cst"
    cycle: float | None = None
    """Between two frames [s]; None: the catalogue's."""
    dc_order: str = ""
    """Empty: the catalogue's."""
    zero: int = 0
    """Encoder counts where the pendulum hangs down."""

    def __post_init__(self) -> None:
        if not self.interface or len(self.interface) > LONGEST_NAME or "/" in self.interface:
            raise AddressError(f"EtherCAT: {self.interface!r} cannot be a network interface; use a name like eth0")
        if self.slave < 1:
            raise AddressError(f"EtherCAT: no slave {self.slave}; the first one on the bus is 1")
        if self.servo and self.servo not in drives():
            raise AddressError(f"EtherCAT: no servo {self.servo!r} on this bus; there are {', '.join(drives())}")
        if self.mode not in MODES:
            raise AddressError(f"EtherCAT: no mode {self.mode!r}; there are {', '.join(MODES)}")
        if self.dc_order and self.dc_order not in DC_ORDERS:
            raise AddressError(f"EtherCAT: no order {self.dc_order!r} of clocks; there are {', '.join(DC_ORDERS)}")
        if self.cycle is not None and not SHORTEST_CYCLE <= self.cycle <= LONGEST_CYCLE:
            raise AddressError(
                f"EtherCAT: a cycle of {1e3 * self.cycle:g} ms is not possible; "
                f"choose {1e3 * SHORTEST_CYCLE:g} to {1e3 * LONGEST_CYCLE:g} ms"
            )

    def open(self) -> EthercatServo:
        """Return the servo, not yet connected."""
        from drivers.ethercat.servo import EthercatServo

        return EthercatServo(self)

    def release_blindly(self, alone: bool = False) -> None:
        """Make every drive on the interface leave OP, whoever is its master; raises BusError.

        alone: only while nobody has the interface, which is seen and not taken.
        """
        if alone:
            nic.Lock(self.interface).release()
        nic.release_blindly(self.interface)


def from_address(address: ServoAddress) -> EthercatSource:
    """Read a drive's address; raises AddressError."""
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
                raise AddressError(f"no option {name!r}; there are {', '.join((*texts, 'cycle', 'zero'))}")
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
        return float(text)
    except ValueError:
        raise AddressError(f"{name}: {text!r} is not a number") from None


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise AddressError(f"{name}: {text!r} is not a whole number") from None
