"""Address and operation of a drive, checked."""

from __future__ import annotations

from dataclasses import dataclass

from drivers.errors import AddressError
from drivers.ethercat.profile import DC_ORDERS, LONGEST_CYCLE, SHORTEST_CYCLE, drives

MODES = ("cst", "csp")
"""Place of the position law: this driver ("cst", the drive is commanded by torque) or the drive itself ("csp")."""
LONGEST_NAME = 15
"""Longest name of a network interface on Linux."""


@dataclass(frozen=True, kw_only=True)
class DriveSettings:
    """Address of a drive and the way to drive it."""

    interface: str
    slave: int = 1
    """Position on the bus, from 1."""
    servo: str = ""
    """Catalogue servo; empty for the first one with the identity that the drive reports."""
    mode: str = "cst"
    cycle: float | None = None
    """Time between two frames [s]; None for the catalogue's."""
    dc_order: str = ""
    """One of DC_ORDERS; empty for the catalogue's."""
    zero: int = 0
    """Encoder counts where the pendulum hangs down."""

    def __post_init__(self) -> None:
        if not self.interface or len(self.interface) > LONGEST_NAME or "/" in self.interface:
            raise AddressError(f"EtherCAT: {self.interface!r} cannot be a network interface; use a name like eth0")
        if self.slave < 1:
            raise AddressError(f"EtherCAT: invalid slave {self.slave}; the first one on the bus is 1")
        if self.servo and self.servo not in drives():
            raise AddressError(f"EtherCAT: unknown servo {self.servo!r} on this bus; there are {', '.join(drives())}")
        if self.mode not in MODES:
            raise AddressError(f"EtherCAT: unknown mode {self.mode!r}; there are {', '.join(MODES)}")
        if self.dc_order and self.dc_order not in DC_ORDERS:
            raise AddressError(f"EtherCAT: unknown order {self.dc_order!r} of clocks; there are {', '.join(DC_ORDERS)}")
        if self.cycle is not None and not SHORTEST_CYCLE <= self.cycle <= LONGEST_CYCLE:
            raise AddressError(
                f"EtherCAT: a cycle of {1e3 * self.cycle:g} ms is not possible; "
                f"choose {1e3 * SHORTEST_CYCLE:g} to {1e3 * LONGEST_CYCLE:g} ms"
            )
