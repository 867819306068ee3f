"""The fields of emulated serial servos' addresses: `FAMILY[:SERVO][?id=1&baud=1000000&usb_latency=1&link=PATH]`."""

from __future__ import annotations

from core.base.errors import ServoBenchError
from core.base.numbers import parse_number
from core.servo.catalogue import load_servo, servos
from drivers.emulators.serial_bus.source import EmulatedServo, SerialEmulation
from drivers.errors import AddressError
from drivers.family import AddressField, Family
from drivers.registry import ServoAddress


def emulated_family(title: str, default: SerialEmulation, highest_id: int, fastest: int) -> Family:
    """Return the form of a family's emulators.

    Args:
        title: Name of the family for people.
        default: Emulator whose values are the defaults.
        highest_id: Highest ID.
        fastest: Highest baud rate [bit/s].
    """
    [servo, *_] = default.servos
    known = [(spec.title, name) for name, spec in servos().items() if default.bus in spec.buses]
    return Family(
        name=default.bus,
        title=title,
        fields=(
            AddressField(
                name="servo",
                title="Servo",
                tip="Servo of the catalogue to emulate",
                kind="choice",
                choices=tuple(known),
                default=servo.servo,
                part=True,
            ),
            AddressField(
                name="id",
                title="ID",
                tip="ID of the servo on its bus",
                kind="whole",
                default=str(servo.id),
                lowest=0,
                highest=highest_id,
            ),
            AddressField(
                name="baud",
                title="Baud rate",
                tip="Rate of the servo; it does not answer at any other",
                kind="whole",
                default=str(default.baud),
                unit="baud",
                lowest=9600,
                highest=fastest,
            ),
            AddressField(
                name="usb_latency",
                title="USB latency",
                tip="Delay of an answer in the adapter: 16 ms as sold, 1 ms as recommended",
                kind="number",
                default=f"{1e3 * default.usb_latency:g}",
                unit="ms",
                lowest=0.0,
                highest=100.0,
            ),
            AddressField(
                name="link",
                title="Link",
                tip="Path of a symbolic link to the port, which stays the same when it is unplugged; may be empty",
                kind="text",
            ),
        ),
    )


def emulation(kind: type[SerialEmulation], family: Family, address: ServoAddress) -> SerialEmulation:
    """Return the emulator of a kind at an address; raises AddressError."""
    try:
        values = family.values(str(address))
        family.address(values | dict(address.options))
        return kind(
            servos=(EmulatedServo(servo=load_servo(values["servo"]).name, id=int(values["id"])),),
            baud=int(values["baud"]),
            usb_latency=1e-3 * parse_number(values["usb_latency"]),
            link=values["link"] or None,
        )
    except (ServoBenchError, ValueError) as error:
        raise AddressError(f"emulated servo {address}: {error}") from None
