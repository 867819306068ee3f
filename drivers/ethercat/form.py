"""The address form of EtherCAT drives, and the scan for drives on the network interfaces."""

from __future__ import annotations

from collections.abc import Mapping

from drivers.errors import BusError, NoAnswer
from drivers.ethercat import nic
from drivers.ethercat.profile import LONGEST_CYCLE, SHORTEST_CYCLE, drives, fitting
from drivers.family import AddressField, Family
from drivers.libraries import needed_by
from drivers.scan import Found, OnStep, ScanStep, ShouldStop

FALLBACK = "eth0"


def family() -> Family:
    """Return the form of the addresses of EtherCAT drives."""
    names = nic.interfaces()
    return Family(
        name="ethercat",
        title="EtherCAT drive",
        can_scan=True,
        fields=(
            AddressField(
                name="interface",
                title="Network interface",
                tip="Interface with the drive's cable; must not be used by anything else",
                kind="text",
                choices=tuple((name, name) for name in names),
                default=next(iter(names), FALLBACK),
                part=True,
            ),
            AddressField(
                name="slave",
                title="Slave",
                tip="Position of the drive on the cable, from 1",
                kind="whole",
                default="1",
                lowest=1,
                highest=200,
                part=True,
            ),
            AddressField(
                name="servo",
                title="Servo",
                tip="Servo of the drive, if several report the same identity",
                kind="choice",
                choices=(("as reported", ""), *((spec.title, name) for name, (spec, _) in drives().items())),
            ),
            AddressField(
                name="mode",
                title="Position law",
                tip="Computed here, with the gains of the settings, or by the drive with its own",
                kind="choice",
                choices=(("computed here (CST)", "cst"), ("the drive's own (CSP)", "csp")),
                default="cst",
            ),
            AddressField(
                name="cycle",
                title="Bus cycle",
                tip="Time between two frames",
                kind="number",
                default="2",
                unit="ms",
                lowest=1e3 * SHORTEST_CYCLE,
                highest=1e3 * LONGEST_CYCLE,
            ),
            AddressField(
                name="dc",
                title="Clock pulses",
                tip="When the drive's SYNC0 pulses begin; another choice may help if a drive refuses to start",
                kind="choice",
                choices=(
                    ("as in the catalogue", ""),
                    ("before SAFEOP", "preop"),
                    ("in SAFEOP", "safeop"),
                    ("none", "off"),
                ),
            ),
            AddressField(
                name="zero",
                title="Zero",
                tip="Encoder counts where the pendulum hangs down",
                kind="whole",
                default="0",
                lowest=-(2**31),
                highest=2**31 - 1,
            ),
        ),
    )


def scan(values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """Look for drives on the form's interface, or on all interfaces if it has none.

    An interface used by another program is left alone. Every reason for finding nothing is reported.
    """
    wanted = values.get("interface", "").strip()
    found: list[Found] = []
    names = [wanted] if wanted else nic.interfaces()
    for number, name in enumerate(names, start=1):
        if should_stop():
            break
        try:
            here = _look(name)
        except (BusError, NoAnswer) as error:
            on_step(ScanStep(name, str(error), number, len(names)))
            continue
        for servo in here:
            on_step(ScanStep(servo.address, servo.title, number, len(names)))
        found += here
    return found


def _look(interface: str) -> list[Found]:
    with needed_by("EtherCAT drives"):
        from drivers.ethercat.master import Master

    master = Master(interface, 1)
    try:
        slaves = master.open(searches=1)
        return [
            Found(
                f"ethercat:{interface}:{slave.number}",
                _title(fitting(slave.vendor, slave.product)) or slave.name or "unknown slave",
                f"{slave.name}, vendor 0x{slave.vendor:08X}, product 0x{slave.product:08X}, "
                f"revision 0x{slave.revision:08X}, in {state}",
            )
            for slave, state in zip(slaves, master.al_states(), strict=True)
        ]
    finally:
        master.close()


def _title(names: list[str]) -> str:
    known = drives()
    return " or ".join(known[name][0].title for name in names)
