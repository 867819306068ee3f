"""Display of numbers: each with its unit and a sensible number of digits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class AngleUnit:
    """Unit in which angles are displayed; internally they are always radians."""

    name: str
    symbol: str
    per_radian: float


RADIANS = AngleUnit("radians", "rad", 1.0)
DEGREES = AngleUnit("degrees", "°", 180.0 / math.pi)
ANGLE_UNITS = (RADIANS, DEGREES)

MOST_DIGITS = 6
"""Largest number of decimals; smaller numbers are shown with an exponent."""

FIGURE_DASH = "–"
"""Text for a missing number."""


def fixed(value: float, digits: int, unit: str = "") -> str:
    """Return a number with this many decimals and its unit; a dash if it is not finite."""
    if not math.isfinite(value):
        return FIGURE_DASH
    text = typeset(f"{value:.{digits}f}")
    return f"{text} {unit}" if unit and unit != "1" else text


def significant(value: float, digits: int = 4) -> str:
    """Return a number with this many significant digits, without an exponent where that stays short."""
    if not math.isfinite(value):
        return FIGURE_DASH
    if value == 0.0:
        return "0"
    scientific = f"{value:.{digits - 1}e}"
    exponent = int(scientific.partition("e")[2])
    if -4 <= exponent < 6:
        return typeset(f"{value:.{max(0, digits - 1 - exponent)}f}")
    return typeset(scientific)


def with_uncertainty(value: float, half_width: float, unit: str = "") -> str:
    """Return a value with its interval, with no more digits than the interval justifies, e.g. "0.413 ± 0.021 N·m".

    Args:
        value: The value.
        half_width: Half width of the interval. NaN or 0 if the value is known, infinite if it is not determined.
        unit: The unit.
    """
    unit = f" {unit}" if unit and unit != "1" else ""
    if math.isinf(half_width):
        return f"{significant(value, 2)}{unit}, not determined"
    if not half_width > 0.0:
        return significant(value) + unit
    digits = 1 - math.floor(math.log10(half_width))
    shown = fixed(value, max(0, digits)) if digits <= MOST_DIGITS else significant(value)
    return f"{shown} ± {significant(half_width, 2)}{unit}"


def as_certain(value: float, half_width: float) -> str:
    """Return a number to be read beside a value: with the digits of the value's interval, but two at least.

    Args:
        value: The number, e.g. a start value, a bound or the true value.
        half_width: Half width of the interval. NaN or 0 if there is none, infinite if the value is not determined.
    """
    if not half_width > 0.0 or not math.isfinite(value) or value == 0.0:
        return significant(value)
    if math.isinf(half_width):
        return significant(value, 2)
    return significant(value, max(2, 2 + math.floor(math.log10(abs(value))) - math.floor(math.log10(half_width))))


def milliradians(value: float | None) -> str:
    """Return an angle error [rad] in mrad, without the unit."""
    if value is None or not math.isfinite(value):
        return FIGURE_DASH
    shown = 1e3 * value
    return typeset(f"{shown:.2f}" if abs(shown) < 10 else f"{shown:.1f}")


EXACT = 0.05
"""Excess that a rounding up ignores, in its steps."""


def about(seconds: float) -> str:
    """Return a roughly estimated duration [s], rounded up, e.g. "a few seconds", "about 40 s", "about 25 min"."""
    if seconds < 8:
        return "a few seconds"
    if seconds < 90:
        return f"about {5 * math.ceil(seconds / 5 - EXACT)} s"
    minutes = math.ceil(seconds / 60 - EXACT)
    if minutes < 60:
        return f"about {minutes} min"
    return f"about {minutes // 60} h" + (f" {minutes % 60:02d} min" if minutes < 600 else "")


def duration(seconds: float) -> str:
    """Return a duration [s], e.g. "6.0 s", "42 s", "3 min 20 s"."""
    if not math.isfinite(seconds):
        return FIGURE_DASH
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


_MINUS = re.compile(r"(?<![\w.,\-])-(?=[\d.∞])|(?<=\de)-(?=\d)")


def typeset(text: str) -> str:
    """Return the text with true minus signs, e.g. "−3.1 … −2e−05" for "-3.1 … -2e-05"."""
    return _MINUS.sub("−", text)


_LONG = re.compile(r"(?<![\w.])\d+\.\d{2,}(?:e[+-]?\d+)?(?!\w|\.\d)")


def readable(text: str) -> str:
    """Return a text with at most four significant digits a number and true minus signs; `code` stays as it is."""

    def short(number: re.Match[str]) -> str:
        digits = number[0].partition("e")[0].replace(".", "").lstrip("0")
        return significant(float(number[0])) if len(digits) > 4 else number[0]

    parts = text.split("`")
    parts[::2] = [typeset(_LONG.sub(short, part)) for part in parts[::2]]
    return "`".join(parts)


def grouped(count: int) -> str:
    """Return a whole number in groups of three digits, e.g. "20 807"; four digits stay together."""
    return f"{count:,}".replace(",", "\u202f") if abs(count) >= 10_000 else str(count)
