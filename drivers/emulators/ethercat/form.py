"""Emulated EtherCAT drives as a text and as a form: `ethercat[:SERVO][?interface=ecs0&master=ecm0]`."""

from __future__ import annotations

from core.catalogue import load_servo, servos
from core.errors import ServoBenchError
from drivers.emulators.ethercat.source import EthercatEmulation
from drivers.errors import AddressError
from drivers.family import AddressField, Family
from drivers.registry import ServoAddress

DEFAULT = EthercatEmulation()


def family() -> Family:
    """Return the form of emulated EtherCAT drives."""
    known = [(spec.title, name) for name, spec in servos().items() if "ethercat" in spec.buses]
    return Family(
        name="ethercat",
        title="EtherCAT drive",
        fields=(
            AddressField(
                name="servo",
                title="Servo",
                tip="Servo of the catalogue that is emulated",
                kind="choice",
                choices=tuple(known),
                default=DEFAULT.servos[0],
                part=True,
            ),
            AddressField(
                name="interface",
                title="Drive's end",
                tip="Network interface the drive hangs on; a virtual cable is made if there is none of this name",
                kind="text",
                default=DEFAULT.interface,
            ),
            AddressField(
                name="master",
                title="Master's end",
                tip="Network interface at the other end of the cable, which the driver opens",
                kind="text",
                default=DEFAULT.master_interface,
            ),
        ),
    )


def from_address(address: ServoAddress) -> EthercatEmulation:
    """Read an emulated drive's text. Raises AddressError."""
    try:
        values = family().values(str(address))
        family().address(values | dict(address.options))
        return EthercatEmulation(
            servos=(load_servo(values["servo"]).name,),
            interface=values["interface"],
            master_interface=values["master"],
        )
    except (ServoBenchError, ValueError) as error:
        raise AddressError(f"emulated servo {address}: {error}") from None
