"""Servo addresses: the text a person types, and the picklable description a recorder's process opens.

An address is FAMILY[:PART…][?NAME=VALUE&…], e.g. `simulated`, `simulated:mx106`, `simulated:mx106?seed=3`. Each
family is one folder here with a `form.py` in it; what its parts and options mean is said there. The package offers

    family() -> Family                                   the form of its addresses; called anew for each form
    from_address(address: ServoAddress) -> ServoSource   raises AddressError
    profile_of(spec: ServoSpec)                          checks [bus.FAMILY] of a servo's file; raises ModelError
    scan(values, on_step, should_stop) -> list[Found]    see drivers.scan, if its Family says that it can be scanned
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlencode

from core.catalogue import ServoSpec
from core.errors import ModelError
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
    # What needs no hardware comes first.
    names = sorted((folder.name for folder in folders), key=lambda name: (name != "simulated", name))
    return {name: f"{__package__}.{name}" for name in names}


FAMILIES = _found()
"""Family to its module, which is imported when it is asked for."""


@runtime_checkable
class ServoSource(Protocol):
    """A picklable description from which the recorder's process makes its servo."""

    def open(self) -> Servo:
        """Return a servo in state DISCONNECTED; must not touch the bus yet."""
        ...


@runtime_checkable
class BlindlyReleased(Protocol):
    """A ServoSource whose servo can be switched off by somebody who does not own its bus."""

    def release_blindly(self, alone: bool = False) -> None:
        """Switch the motor off although the bus has, or had, another owner, who hangs or is gone.

        Opens the bus beside the owner, says what releases the servo whatever its state, hears that it is released, and
        closes; takes less than 50 ms. alone: only while nobody has the bus, which this keeps nobody from taking. Raises
        BusError when the bus cannot be reached, another DriverError when the servo did not confirm it.
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
        """Read an address; raises AddressError for an unknown family or an option without a value."""
        if not text.isprintable():
            raise AddressError(f"servo address {text!r}: an address has printable characters only; type it anew")
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
        """Return the family's own description; raises AddressError for parts or options it does not know."""
        return family_module(self.family).from_address(self)

    def open(self) -> Servo:
        """Return the servo, not yet connected."""
        return self.source().open()


def family_module(name: str) -> Any:
    """Import and return a family's module; raises AddressError for an unknown one."""
    if name not in FAMILIES:
        raise AddressError(f"no family {name!r}; there are {', '.join(FAMILIES)}")
    return import_module(FAMILIES[name])


def family(name: str) -> Family:
    """Return the form of a family's addresses; raises AddressError for an unknown one."""
    return family_module(name).family()


def families() -> list[Family]:
    """Return the form of every family's addresses."""
    return [family(name) for name in FAMILIES]


def check_buses(spec: ServoSpec) -> None:
    """Raise ModelError unless every [bus.NAME] of a servo's file is one that its driver can use."""
    for bus in spec.buses:
        check = getattr(family_module(bus), "profile_of", None) if bus in FAMILIES else None
        if check is None:
            known = ", ".join(name for name in FAMILIES if hasattr(family_module(name), "profile_of"))
            raise ModelError(f"{spec.name}: [bus.{bus}] is of no known bus; there are {known}")
        check(spec)


def open_servo(address: str | ServoSource) -> Servo:
    """Return the servo at an address, in state DISCONNECTED; raises AddressError."""
    return resolve(address).open()


def resolve(address: str | ServoSource) -> ServoSource:
    """Return the description behind an address, checked; descriptions pass through."""
    return ServoAddress.parse(address).source() if isinstance(address, str) else address
