"""Families of serial servos: the facts in which they differ, and the fields that the addresses of all have."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from drivers.family import AddressField
from drivers.serial_bus.table import Protocol
from drivers.serial_port import serial_ports


@dataclass(frozen=True, kw_only=True)
class SerialFamily:
    """A family of servos with control tables."""

    name: str
    """Name in addresses, of the section [bus.NAME] of servo files, and of the extra that installs its library."""
    title: str
    protocols: tuple[Protocol, ...]
    """Protocols of its servos, the one tried first in a scan."""
    baud_rates: tuple[int, ...]
    """Baud rates that its servos are set to, those of new ones first [bit/s]."""
    highest_id: int
    answers_all: int
    """Status return level at which every instruction is answered."""
    tool: str = "the vendor's program"
    """Program that changes its registers."""

    def address(self, port: str, id: int, protocol: Protocol, baud: int) -> str:
        """Return a servo's address: NAME:PORT:ID[:PROTOCOL]:BAUD, with a protocol if there are several."""
        several = (str(protocol),) * (len(self.protocols) > 1)
        return ":".join((self.name, port, str(id), *several, str(baud)))


def port_field(usual: str) -> AddressField:
    """Return the field of the port, with the ports that exist now; `usual` is its default on Linux without any."""
    ports = serial_ports()
    return AddressField(
        name="port",
        title="Port",
        tip="Serial port of the adapter; may be a link or a pseudo terminal",
        kind="text",
        choices=tuple((f"{path} ({title})" if title else path, path) for path, title in ports),
        default=ports[0][0] if ports else "COM3" if sys.platform == "win32" else usual,
        part=True,
    )


def id_field(family: SerialFamily) -> AddressField:
    """Return the field of the ID."""
    return AddressField(
        name="id",
        title="ID",
        tip="ID of the servo on its bus; 1 when new",
        kind="whole",
        default="1",
        lowest=0,
        highest=family.highest_id,
        part=True,
    )


def baud_field(family: SerialFamily, tip: str) -> AddressField:
    """Return the field of the baud rate."""
    return AddressField(
        name="baud",
        title="Baud rate",
        tip=tip,
        kind="whole",
        choices=tuple((str(rate), str(rate)) for rate in family.baud_rates),
        default=str(family.baud_rates[0]),
        unit="baud",
        lowest=9600,
        highest=10_500_000,
        part=True,
    )
