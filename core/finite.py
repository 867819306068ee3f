"""Checks of values parsed from a file that someone else may have written."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, TypeGuard


def is_finite(value: object) -> TypeGuard[int | float]:
    """Whether a value is a finite number that a float can hold; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    # Comparing takes integers of any size, which turning them into floats does not.
    return -sys.float_info.max <= value <= sys.float_info.max


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return True for a JSON object; its names are texts because JSON and TOML have no others."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return True for a JSON array."""
    return isinstance(value, list)


def finite_float(text: str) -> float:
    """A number of a JSON text, for `json.loads(parse_float=…)`; raises ValueError for one beyond what a float holds."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is more than a number can be")
    return value
