"""Servo addresses: the text that a user types, and the picklable description that a recorder's process opens.

An address is FAMILY[:PART…][?NAME=VALUE&…], e.g. `simulated`, `simulated:mx106`, `simulated:mx106?seed=3`. Each
family is one folder here with a `form.py`, which documents the family's parts and options. The package offers

    family() -> Family                                   the form of its addresses; called again for each form
    from_address(address: ServoAddress) -> ServoSource   raises AddressError
    profile_of(spec: ServoSpec)                          checks [bus.FAMILY] of a servo's file; raises ModelError
    scan(values, on_step, should_stop) -> list[Found]    see drivers.scan; only if its Family can be scanned
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlencode

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec
from drivers.errors import AddressError
from drivers.family import AddressField, Family
from drivers.servo import Servo

__all__ = [
    "FAMILIES",
    "AddressField",
    "BlindlyReleased",
    "Family",
    "ServoAddress",
    "ServoSource",
    "check_buses",
    "families",
    "family",
    "family_module",
    "open_servo",
    "resolve",
]


def _found() -> dict[str, str]:
    folders = (
        entry
        for entry in files(__name__.rpartition(".")[0]).iterdir()
        if entry.is_dir() and (entry / "form.py").is_file()
    )
    # The family that needs no hardware comes first.
    names = sorted((folder.name for folder in folders), key=lambda name: (name != "simulated", name))
    return {name: f"{__package__}.{name}" for name in names}


FAMILIES = _found()
"""Family to its module, which is imported on demand."""


@runtime_checkable
class ServoSource(Protocol):
    """A picklable description from which the recorder's process makes its servo."""

    def open(self) -> Servo:
        """Return a servo in state DISCONNECTED without touching the bus."""
        ...


@runtime_checkable
class BlindlyReleased(Protocol):
    """A ServoSource whose servo can be switched off by a process that does not own its bus."""

    def release_blindly(self, alone: bool = False) -> None:
        """Switch the motor off although the bus has, or had, another owner that hangs or is gone.

        Opens the bus beside the owner, sends the release that works in every state, waits for the confirmation and
        closes; takes less than 50 ms.

        Args:
            alone: Act only while no other process has the bus. This does not keep others from taking it.

        Raises:
            BusError: if the bus cannot be reached.
            DriverError: if the servo did not confirm the release.
        """
        ...


@dataclass(frozen=True)
class ServoAddress:
    """A parsed address; a ServoSource."""

    family: str
    parts: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> ServoAddress:
        """Parse an address.

        Raises:
            AddressError: for an unknown family or a malformed option.
        """
        if not text.isprintable():
            raise AddressError(f"servo address {text!r}: an address has printable characters only; type it again")
        place, _, query = text.strip().partition("?")
        family, *parts = place.split(":")
        if family not in FAMILIES:
            raise AddressError(f"servo address {text!r}: no family {family!r}; there are {', '.join(FAMILIES)}")
        try:
            options = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
        except ValueError:
            raise AddressError(f"servo address {text!r}: options are written ?name=value&name=value") from None
        if len({name for name, _ in options}) != len(options):
            raise AddressError(f"servo address {text!r}: an option is given twice; give each once")
        return cls(family, tuple(parts), tuple(options))

    def __str__(self) -> str:
        text = ":".join((self.family, *self.parts))
        return f"{text}?{urlencode(self.options)}" if self.options else text

    def source(self) -> ServoSource:
        """Return the family's own description.

        Raises:
            AddressError: for unknown parts or options.
        """
        return family_module(self.family).from_address(self)

    def open(self) -> Servo:
        """Return the servo, not yet connected."""
        return self.source().open()


def family_module(name: str) -> Any:
    """Import and return a family's module.

    Raises:
        AddressError: for an unknown family.
    """
    if name not in FAMILIES:
        raise AddressError(f"no family {name!r}; there are {', '.join(FAMILIES)}")
    return import_module(FAMILIES[name])


def family(name: str) -> Family:
    """Return the form of a family's addresses.

    Raises:
        AddressError: for an unknown family.
    """
    return family_module(name).family()


def families() -> list[Family]:
    """Return the form of every family's addresses."""
    return [family(name) for name in FAMILIES]


def check_buses(spec: ServoSpec) -> None:
    """Check that the drivers can use every [bus.NAME] of a servo's file.

    Raises:
        ModelError: for an unknown bus or an invalid entry.
    """
    for bus in spec.buses:
        check = getattr(family_module(bus), "profile_of", None) if bus in FAMILIES else None
        if check is None:
            known = ", ".join(name for name in FAMILIES if hasattr(family_module(name), "profile_of"))
            raise ModelError(f"{spec.name}: [bus.{bus}] is not a known bus; there are {known}")
        check(spec)


def open_servo(address: str | ServoSource) -> Servo:
    """Return the servo at an address, in state DISCONNECTED.

    Raises:
        AddressError: for an invalid address.
    """
    return resolve(address).open()


def resolve(address: str | ServoSource) -> ServoSource:
    """Return the description behind an address, checked. A description passes through unchanged."""
    return ServoAddress.parse(address).source() if isinstance(address, str) else address
