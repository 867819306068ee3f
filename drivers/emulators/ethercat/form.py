"""Address form of emulated EtherCAT drives: `ethercat[:SERVO][?interface=ecs0&master=ecm0]`."""

from __future__ import annotations

from core.base.errors import ServoBenchError
from core.servo.catalogue import load_servo, servos
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
                tip="Servo of the catalogue to emulate",
                kind="choice",
                choices=tuple(known),
                default=DEFAULT.servos[0],
                part=True,
            ),
            AddressField(
                name="interface",
                title="Drive's end",
                tip="Network interface of the drive; a virtual cable is created if it does not exist",
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
    """Return the emulator at an address; raises AddressError."""
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
