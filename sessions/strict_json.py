"""JSON of any origin, parsed strictly: bounded, standard, and of the expected types, or an InputError.

Python's parser accepts NaN, any depth and any number of objects. Here a text is refused before it is parsed if
its objects would not fit in memory, and every value passes a check that names it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from core.base.errors import InputError
from core.base.guards import is_array, is_object
from sessions.errors import cause, shown

MAX_VALUES = 8_000_000
"""Most values in a text: an hour at 250 Hz, about a gigabyte once parsed."""

MAX_CONTAINERS = 2_000_000
MAX_DEPTH = 20
"""Deepest nesting of stored data."""

MAX_MAGNITUDE = 1e6
"""Largest number in a log, in its SI unit."""

_NAME = re.compile(r"\w[\w .+-]{0,63}")


def parse_json(content: bytes) -> Any:
    """Parse standard JSON.

    Raises:
        InputError: for anything else, or too many values.
    """
    containers = content.count(b"{") + content.count(b"[")
    if containers > MAX_CONTAINERS or content.count(b",") + containers > MAX_VALUES:
        raise InputError("too many values for one file; split it")
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except RecursionError:
        raise InputError("nested too deep") from None
    except ValueError as error:
        raise InputError(f"not valid JSON ({cause(error)})") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def number(value: Any, what: str, low: float = -MAX_MAGNITUDE, high: float = MAX_MAGNITUDE) -> float:
    """Return a JSON number within bounds.

    Raises:
        InputError: for another type or value, named by `what`.
    """
    if type(value) is not float and type(value) is not int:
        raise InputError(f"{what} is {_quoted(value)}, not a number")
    if not low <= value <= high:
        raise InputError(f"{what} is {_quoted(value)}, outside [{low:g}, {high:g}]")
    return float(value)


def is_name(value: object) -> bool:
    """Return True for a text that can be used as a name."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def name(value: Any, what: str) -> str:
    """Return a JSON text that can be used as a name.

    Raises:
        InputError: for another type or text, named by `what`.
    """
    if not is_name(value):
        raise InputError(f"{what} is {_quoted(value)}, not a name of letters, digits, spaces and . + - _")
    return value


def storable(data: Mapping[str, Any], what: str, limit: int = 65_536) -> dict[str, Any]:
    """Return JSON data that can be stored unchanged.

    Raises:
        InputError: if the data are too long or not valid Unicode.
    """
    _check_depth(data, what, MAX_DEPTH)
    try:
        size = len(json.dumps(data, ensure_ascii=False, allow_nan=False).encode())
    except ValueError as error:
        raise InputError(f"{what}: it cannot be stored ({cause(error)})") from None
    if size > limit:
        raise InputError(f"{what}: {size} bytes are more than the {limit} that can be stored")
    return dict(data)


def _check_depth(value: Any, what: str, left: int) -> None:
    if left == 0:
        raise InputError(f"{what}: nested deeper than {MAX_DEPTH} levels")
    for item in value.values() if is_object(value) else value if is_array(value) else ():
        _check_depth(item, what, left - 1)


def _quoted(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "not finite"
    text = str(value)[:40] if isinstance(value, (str, float, bool)) or value is None else type(value).__name__
    if type(value) is int:
        text = "an integer" if abs(value) > 10**18 else str(value)
    return repr(shown(text.encode("utf-8", "backslashreplace").decode())) if isinstance(value, str) else text
