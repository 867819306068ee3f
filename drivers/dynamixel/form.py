"""The address form of a Dynamixel: `dynamixel:PORT:ID[:PROTOCOL[:BAUD]]`."""

from __future__ import annotations

from drivers.family import AddressField, Family
from drivers.serial_bus.family import SerialFamily, baud_field, id_field, port_field

DYNAMIXEL = SerialFamily(
    name="dynamixel",
    title="Dynamixel",
    protocols=(2, 1),
    baud_rates=(57600, 1_000_000, 115200, 2_000_000, 3_000_000, 4_000_000, 9600),
    highest_id=252,
    answers_all=2,
)


def family() -> Family:
    """Return the form of Dynamixel addresses, with the ports that exist now."""
    return Family(
        name=DYNAMIXEL.name,
        title=DYNAMIXEL.title,
        can_scan=True,
        fields=(
            port_field("/dev/ttyUSB0"),
            id_field(DYNAMIXEL),
            AddressField(
                name="protocol",
                title="Protocol",
                tip="2, except for MX servos with their original firmware",
                kind="choice",
                choices=(("Protocol 2", "2"), ("Protocol 1 (MX)", "1")),
                default="2",
                part=True,
            ),
            baud_field(
                DYNAMIXEL,
                "As set in the servo: 57600 when new (XL-320: 1000000). 200 cycles per second need 1000000",
            ),
        ),
    )
