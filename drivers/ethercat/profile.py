"""The catalogue's data about a drive on this bus: the table [bus.ethercat] of a servo's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec, servos

BUS = "ethercat"
DC_ORDERS = ("preop", "safeop", "off")
"""Time of switching SYNC0 on: before or after the drive goes to SAFEOP. With "off" the drive runs on its own."""
TORQUE_REFERENCES = ("rated_current", "rated_torque")
SHORTEST_CYCLE = 0.0005
LONGEST_CYCLE = 0.004
SHORTEST_WATCHDOG = 0.02
LONGEST_WATCHDOG = 0.1
"""[s]; a drive is switched off in four cycles, and a release takes no longer than `TimeLimits.answer`."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Data that the driver needs besides the drive's own answers."""

    vendor_id: int
    product_codes: tuple[int, ...]
    dc_order: str = "preop"
    cycle: float = 0.002
    """Time between two frames [s]."""
    watchdog: float = 0.05
    """Time without frames after which the drive leaves OP [s]. A lost frame costs 8 to 16 ms on a usual kernel."""
    torque_reference: str = "rated_current"
    """Unit of 0x6071 and 0x6077, in per mille: "rated_current" (0x6075 [mA]) or "rated_torque" (0x6076 [mN·m])."""
    rated_current: float | None = None
    """For a drive that does not report it [A]."""
    harmless_emergencies: tuple[int, ...] = ()
    """Error codes after which a drive keeps running."""

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
        """Read the table.

        Raises:
            ModelError: naming the missing or invalid entry.
        """
        unknown = sorted(set(table) - {field.name for field in fields(cls)})
        if unknown:
            raise ModelError(f"[bus.{BUS}]: unknown entry {unknown[0]!r}; there are {_names(cls)}")
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
    """Return the profile of a catalogue servo on this bus.

    Raises:
        ModelError: if it is invalid.
    """
    try:
        return Profile.read(spec.buses[BUS])
    except ModelError as error:
        raise ModelError(f"{spec.name}: {error}") from None


def drives() -> dict[str, tuple[ServoSpec, Profile]]:
    """Return every servo of the catalogue on this bus, by name, except the user's own with an invalid section."""
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
    """Return the names of the catalogue's servos with this identity, the one with the longest reduction first.

    A drive that is taken for one with more torque per ampere gets less current than it should, never more.
    """
    names = [
        name
        for name, (_, profile) in drives().items()
        if profile.vendor_id == vendor and product in profile.product_codes
    ]
    return sorted(names, key=lambda name: -drives()[name][0].motor["kt"][0])
