"""What the catalogue says about a drive on this bus: the table [bus.ethercat] of a servo's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from core.catalogue import ServoSpec, servos
from core.errors import ModelError

BUS = "ethercat"
DC_ORDERS = ("preop", "safeop", "off")
"""When SYNC0 is switched on: before or after the drive goes to SAFEOP; "off": the drive runs on its own."""
TORQUE_REFERENCES = ("rated_current", "rated_torque")
SHORTEST_CYCLE = 0.0005
LONGEST_CYCLE = 0.004
SHORTEST_WATCHDOG = 0.02
LONGEST_WATCHDOG = 0.1
"""[s]; a drive is switched off in four cycles, and a release takes no longer than `drivers.servo.ANSWER_LIMIT`."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What the driver has to know besides the drive's own answers."""

    vendor_id: int
    product_codes: tuple[int, ...]
    dc_order: str = "preop"
    cycle: float = 0.002
    """Between two frames [s]."""
    watchdog: float = 0.05
    """The drive leaves OP without frames for this long [s]. A lost frame costs 8 to 16 ms on a usual kernel."""
    torque_reference: str = "rated_current"
    """What 0x6071 and 0x6077 are per mille of: "rated_current" (0x6075 [mA]) or "rated_torque" (0x6076 [mN·m])."""
    rated_current: float | None = None
    """For a drive that does not say it [A]."""
    harmless_emergencies: tuple[int, ...] = ()
    """Error codes a drive goes on with."""

    def __post_init__(self) -> None:
        for name, known in (("dc_order", DC_ORDERS), ("torque_reference", TORQUE_REFERENCES)):
            if getattr(self, name) not in known:
                raise ModelError(f"[bus.{BUS}]: {name} = {getattr(self, name)!r}; there are {', '.join(known)}")
        for name, low, high in (
            ("cycle", SHORTEST_CYCLE, LONGEST_CYCLE),
            ("watchdog", SHORTEST_WATCHDOG, LONGEST_WATCHDOG),
        ):
            if not low <= getattr(self, name) <= high:
                raise ModelError(f"[bus.{BUS}]: {name} = {getattr(self, name)} s; choose {low:g} to {high:g} s")

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Profile:
        """Read the table; raises ModelError naming the entry that is missing or wrong."""
        unknown = sorted(set(table) - {field.name for field in fields(cls)})
        if unknown:
            raise ModelError(f"[bus.{BUS}]: no entry {unknown[0]!r}; there are {_names(cls)}")
        try:
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
            }
            return cls(**values)
        except TypeError as error:
            raise ModelError(f"[bus.{BUS}]: {error}") from None


def _names(cls: type[Profile]) -> str:
    return ", ".join(field.name for field in fields(cls))


def profile_of(spec: ServoSpec) -> Profile:
    """Return the profile of a catalogue servo on this bus; raises ModelError when it is wrong."""
    try:
        return Profile.read(spec.buses[BUS])
    except ModelError as error:
        raise ModelError(f"{spec.name}: {error}") from None


def drives() -> dict[str, tuple[ServoSpec, Profile]]:
    """Every servo of the catalogue that hangs on this bus, by name; one's own with a broken section is left out."""
    found = {}
    for name, spec in servos().items():
        if BUS in spec.buses:
            try:
                found[name] = spec, profile_of(spec)
            except ModelError:
                if not spec.file:
                    raise
    return found


def fitting(vendor: int, product: int) -> list[str]:
    """Names of the catalogue's servos that announce themselves like this, the one with the longest reduction first.

    A drive taken for one with more torque per ampere is commanded less current than it should be, never more.
    """
    names = [
        name
        for name, (_, profile) in drives().items()
        if profile.vendor_id == vendor and product in profile.product_codes
    ]
    return sorted(names, key=lambda name: -drives()[name][0].motor["kt"][0])
