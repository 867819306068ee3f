"""The address form of a Feetech servo: `feetech:PORT:ID[:BAUD][?servo=NAME]`."""

from __future__ import annotations

from core.servo.catalogue import servos
from drivers.family import AddressField, Family
from drivers.serial_bus.family import SerialFamily, baud_field, id_field, port_field

FEETECH = SerialFamily(
    name="feetech",
    title="Feetech servo",
    protocols=("scs",),
    baud_rates=(1_000_000, 500_000, 115200, 250_000, 128_000, 76800, 57600, 38400),
    highest_id=253,
    answers_all=1,
    tool="bench servo set",
)


def family() -> Family:
    """Return the form of Feetech addresses, with the ports that exist now."""
    known = [(spec.title, name) for name, spec in servos().items() if FEETECH.name in spec.buses]
    return Family(
        name=FEETECH.name,
        title="Feetech",
        can_scan=True,
        can_centre=True,
        fields=(
            port_field("/dev/ttyACM0"),
            id_field(FEETECH),
            baud_field(FEETECH, "As set in the servo: 1000000 when new"),
            AddressField(
                name="servo",
                title="Servo",
                tip="Its type; servos that differ in voltage or gear ratio answer alike, so look at its label",
                kind="choice",
                choices=(("as it answers", ""), *known),
            ),
        ),
    )
