"""Reading XML by a table of what its format allows: an element nobody knows, a missing number or text where a number
belongs is an error that names the place, not a silent default.

A table is a tree of `Rule`s, one per element where it may stand. Only what our exports use is in the tables; their
names, types and multiplicities are the formats' own.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import ExportError

LARGEST_FILE = 4_000_000
"""No file of an export is larger [bytes]."""

Kind = Callable[[str], bool]
"""Whether a text is a value of some type."""


def is_number(text: str) -> bool:
    """A finite number."""
    return len(parsed(text)) == 1


def is_not_negative(text: str) -> bool:
    """A finite number of at least 0."""
    return is_number(text) and float(text) >= 0.0


def is_positive(text: str) -> bool:
    """A finite number above 0."""
    return is_number(text) and float(text) > 0.0


def is_vector(text: str) -> bool:
    """Three finite numbers."""
    return len(parsed(text)) == 3


def is_pose(text: str) -> bool:
    """Six finite numbers: position [m], roll, pitch and yaw [rad]."""
    return len(parsed(text)) == 6


def is_name(text: str) -> bool:
    """Something printable."""
    return bool(text.strip()) and text.isprintable()


def is_boolean(text: str) -> bool:
    """true or false, in words or digits."""
    return text in ("true", "false", "1", "0")


def one_of(*words: str) -> Kind:
    """One of the words."""
    return lambda text: text in words


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What an element may have."""

    required: Mapping[str, Kind] = field(default_factory=dict)
    """Attributes that must be there."""
    optional: Mapping[str, Kind] = field(default_factory=dict)
    """Attributes that may be there."""
    children: Mapping[str, tuple[str, Rule]] = field(default_factory=dict)
    """Elements inside by name: how many ("1", "?", "*", "+") and what they may have."""
    text: Kind | None = None
    """Type of the text; None: there is none."""
    choice: bool = False
    """Exactly one of the children, whatever their own numbers say."""


_TIMES = {"1": (1, 1), "?": (0, 1), "*": (0, math.inf), "+": (1, math.inf)}


def read_xml(path: Path, root: str, rule: Rule) -> ET.Element:
    """Root element of a file whose every element is as its rule says; raises ExportError that names the place."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ExportError(f"{path}: too large for an export")
        text = path.read_text(encoding="utf-8")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise ExportError(f"{path}: a document type has no place in an export")
        element = ET.fromstring(text)
    except (OSError, UnicodeDecodeError, ET.ParseError) as error:
        raise ExportError(f"{path}: cannot be read as XML: {error}") from None
    if element.tag != root:
        raise ExportError(f"{path}: its root is <{element.tag}>, not <{root}>")
    _require(element, rule, f"{path}: {root}")
    return element


def value_of(element: ET.Element, path: str) -> str:
    """Text of an element below another, e.g. "joint/axis/xyz", or of an attribute, "joint/limit@effort".

    Raises ExportError when it is not there.
    """
    place, _, attribute = path.partition("@")
    found = element if not place else element.find(place)
    value = None if found is None else found.get(attribute) if attribute else found.text
    if value is None:
        raise ExportError(f"<{element.tag}> has no {path}")
    return value.strip()


def number_of(element: ET.Element, path: str) -> float:
    """The number at a place, see `value_of`."""
    return float(value_of(element, path))


def parsed(text: str) -> tuple[float, ...]:
    """The finite numbers of a text; empty when something else is among them."""
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        return ()
    return values if all(math.isfinite(value) for value in values) else ()


def _require(element: ET.Element, rule: Rule, place: str) -> None:
    known = {**rule.required, **rule.optional}
    for name, value in element.attrib.items():
        if name not in known:
            raise ExportError(f"{place} has an attribute {name!r} that the format does not have")
        if not known[name](value):
            raise ExportError(f"{place}: {name}={value!r} is not of the format's type")
    missing = [name for name in rule.required if name not in element.attrib]
    if missing:
        raise ExportError(f"{place} has no {', '.join(missing)}")
    text = (element.text or "").strip()
    if rule.text is None and text:
        raise ExportError(f"{place} holds a text {text[:40]!r} where the format has none")
    if rule.text is not None and not rule.text(text):
        raise ExportError(f"{place} holds {text[:40]!r}, which is not of the format's type")
    counts = dict.fromkeys(rule.children, 0)
    for child in element:
        if child.tag not in counts:
            raise ExportError(f"{place} has an element <{child.tag}> that the format does not have")
        counts[child.tag] += 1
        _require(child, rule.children[child.tag][1], f"{place}/{child.tag}")
    if rule.choice and sum(counts.values()) != 1:
        raise ExportError(f"{place} needs one of {', '.join(rule.children)}")
    for name, count in counts.items():
        low, high = _TIMES[rule.children[name][0]]
        if not low <= count <= high:
            raise ExportError(f"{place} has {count} <{name}>")
