"""Checks of values parsed from a file of unknown origin."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, TypeGuard


def is_finite(value: object) -> TypeGuard[int | float]:
    """Return True for a finite number that a float can hold; booleans are not numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    # A comparison accepts integers of any size; converting them to float does not.
    return -sys.float_info.max <= value <= sys.float_info.max


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return True for a JSON object; its keys are strings, as JSON and TOML have no others."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return True for a JSON array."""
    return isinstance(value, list)


def finite_float(text: str) -> float:
    """Parse a number of a JSON text, for `json.loads(parse_float=…)`.

    Raises:
        ValueError: The number is too large for a float.
    """
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is too large for a number")
    return value
