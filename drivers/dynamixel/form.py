"""The address form of a Dynamixel: `dynamixel:PORT:ID[:PROTOCOL[:BAUD]]`."""

from __future__ import annotations

import sys

from drivers.family import AddressField, Family
from drivers.serial_port import serial_ports

BAUD_RATES = (57600, 1_000_000, 115200, 2_000_000, 3_000_000, 4_000_000, 9600)
"""Baud rates that Dynamixels are set to, those of new ones first."""
HIGHEST_ID = 252
USUAL_PORT = "COM3" if sys.platform == "win32" else "/dev/ttyUSB0"


def family() -> Family:
    """Return the form of Dynamixel addresses, with the ports that exist now."""
    ports = serial_ports()
    return Family(
        name="dynamixel",
        title="Dynamixel",
        can_scan=True,
        fields=(
            AddressField(
                name="port",
                title="Port",
                tip="Serial port of the adapter; may be a link or a pseudo terminal",
                kind="text",
                choices=tuple((f"{path} ({title})" if title else path, path) for path, title in ports),
                default=ports[0][0] if ports else USUAL_PORT,
                part=True,
            ),
            AddressField(
                name="id",
                title="ID",
                tip="ID of the servo on its bus; 1 when new",
                kind="whole",
                default="1",
                lowest=0,
                highest=HIGHEST_ID,
                part=True,
            ),
            AddressField(
                name="protocol",
                title="Protocol",
                tip="2, except for MX servos with their original firmware",
                kind="choice",
                choices=(("Protocol 2", "2"), ("Protocol 1 (MX)", "1")),
                default="2",
                part=True,
            ),
            AddressField(
                name="baud",
                title="Baud rate",
                tip="As set in the servo: 57600 when new (XL-320: 1000000). 200 cycles per second need 1000000",
                kind="whole",
                choices=tuple((str(rate), str(rate)) for rate in BAUD_RATES),
                default=str(BAUD_RATES[0]),
                unit="baud",
                lowest=9600,
                highest=10_500_000,
                part=True,
            ),
        ),
    )
