"""Address forms: the parts and options of an address in each family of servos.

The connection form and the scan dialog of the window are built from these descriptions. A new family describes
itself and appears there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from core.base.numbers import parse_number, parse_whole
from drivers.errors import AddressError

KINDS = ("choice", "text", "whole", "number")


@dataclass(frozen=True, kw_only=True)
class AddressField:
    """One field of the form. Every value is a text, as in the address."""

    name: str
    """Name of the option in the address. A part is not named in the address, only in the form."""
    title: str
    tip: str
    kind: str
    """"choice" (one of `choices`), "text", "whole" (an integer) or "number"."""
    choices: tuple[tuple[str, str], ...] = ()
    """Title and value of each choice; suggestions if the kind is "text"."""
    default: str = ""
    """Value of an option that is left out of the address."""
    unit: str = ""
    lowest: float = -math.inf
    highest: float = math.inf
    part: bool = False
    """True for a part of the place (after a colon), False for an option (after the question mark)."""
    only_with: tuple[str, tuple[str, ...]] | None = None
    """Another field, and its values with which this one has an effect; None: it always has."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise AddressError(f"address field {self.name}: unknown kind {self.kind!r}; there are {', '.join(KINDS)}")

    def applies(self, values: Mapping[str, str]) -> bool:
        """True if the field has an effect beside these values of all fields."""
        return self.only_with is None or values[self.only_with[0]] in self.only_with[1]

    def check(self, value: str) -> None:
        """Raise AddressError for an invalid value; an empty one means "not given"."""
        if self.kind == "choice" and value not in (known := [value for _, value in self.choices]):
            raise AddressError(f"{self.title}: there is no {value!r}; choose one of {', '.join(filter(None, known))}")
        if self.kind in ("whole", "number"):
            self._check_number(value)
        if self.part and (not value or any(character in value for character in ":?")):
            raise AddressError(f"{self.title}: {value!r} is not possible; enter one without colon and question mark")

    def _check_number(self, value: str) -> None:
        whole = self.kind == "whole"
        try:
            entered = parse_whole(value) if whole else parse_number(value)
        except ValueError as error:
            raise AddressError(f"{self.title}: {error}") from None
        if not self.lowest <= entered <= self.highest:
            raise AddressError(
                f"{self.title}: {value} {self.unit} is not possible; enter {self.lowest:g} to {self.highest:g}"
            )


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family and the fields of its addresses, parts first in their order."""

    name: str
    """Name in addresses."""
    title: str
    fields: tuple[AddressField, ...]
    can_scan: bool = False
    """True if `drivers.scan` can look for servos of this family."""
    can_centre: bool = False
    """True if the present position of its servos can be made the centre of their turn."""

    def address(self, values: Mapping[str, str]) -> str:
        """Return the address for the values of a form.

        Args:
            values: Values by field name; missing ones take their defaults, as do those without effect.

        Raises:
            AddressError: for an unknown field or an invalid value.
        """
        unknown = sorted(set(values) - {field.name for field in self.fields})
        if unknown:
            raise AddressError(f"{self.title}: no field {unknown[0]!r}; there are {self._names()}")
        every = self.values_of(values)
        parts, options = [self.name], []
        for field in self.fields:
            value = every[field.name]
            if value != field.default or field.part:
                field.check(value)
            if field.part:
                parts.append(value)
            elif value != field.default and field.applies(every):
                options.append((field.name, value))
        text = ":".join(parts)
        return f"{text}?{urlencode(options)}" if options else text

    def values_of(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the value of each field, the default where none is given."""
        return {field.name: given.get(field.name, field.default).strip() for field in self.fields}

    def values(self, address: str) -> dict[str, str]:
        """Return the form's values of an address; the inverse of `address`.

        Options without a field are ignored.

        Raises:
            AddressError: for an address of another family.
        """
        place, _, query = address.strip().partition("?")
        name, *parts = place.split(":")
        if name != self.name:
            raise AddressError(f"servo address {address!r} is not of the family {self.name}")
        found = dict(parse_qsl(query))
        given = iter(parts)
        return {
            field.name: (next(given, "") or field.default) if field.part else found.get(field.name, field.default)
            for field in self.fields
        }

    def _names(self) -> str:
        return ", ".join(field.name for field in self.fields) or "none"
