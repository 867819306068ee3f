"""Numbers as people type them: a point or a comma is the decimal sign, and digits are never grouped.

Every number that a person types is read here, whether in a field of the window, in a dialog, in an address or on the
command line. A group separator is refused: guessing what 1.000,5 or 1,000.5 means could be wrong by a factor of 1000.
"""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"[0-9],0[0-9]|(?<![0-9.])[1-9][0-9]{0,2}(\.[0-9]{3},|,[0-9]{3}\.)[0-9]")
"""Text that is either a list or a number with group separators, e.g. 1,000 or 1.000,5."""
_WHOLE = re.compile(r"[+-]?[0-9]+")


def decimal_text(text: str) -> str:
    """Return a typed number as Python and TOML write it: with a decimal point and an ASCII minus sign.

    Raises:
        ValueError: The text is not a number.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if not _NUMBER.fullmatch(plain):
        grouped = re.search(r"[0-9][.,'’_\s]+[0-9]", plain)
        hint = "; use one decimal point or comma, and no group separators" if grouped else ""
        raise ValueError(f"{text.strip()[:40]!r} is not a number{hint}")
    return plain.replace(",", ".")


def parse_number(text: str) -> float:
    """Parse a finite number, e.g. "0.5", "0,5", "−3" or "1e-3".

    Raises:
        ValueError: The text is not a number, or too large.
    """
    value = float(decimal_text(text))
    if math.isinf(value):
        raise ValueError(f"{text.strip()[:40]} is too large for a number")
    return value


def parse_whole(text: str) -> int:
    """Parse a whole number, which has neither a decimal sign nor group separators.

    Raises:
        ValueError: The text is not a whole number.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if not _WHOLE.fullmatch(plain):
        raise ValueError(f"{text.strip()!r} is not a whole number; use digits only")
    return int(plain)


def number_parts(text: str) -> list[str]:
    """Split a list of numbers at its semicolons and commas; beside a semicolon, "0,5" has a decimal comma.

    Raises:
        ValueError: A comma may separate or be a decimal sign, as in "1,5" or "0,5, 1", or group digits, as in "1,000".
    """
    text = text.strip()
    tight, spaced = re.search(r"\S,\S", text), re.search(r"\s,|,\s", text)
    grouped = ";" not in text and _GROUPED.search(text)
    if is_pair(text) or grouped or (tight and spaced):
        raise ValueError(f"{text!r} can be read in two ways; separate the numbers by semicolons, e.g. 0,5; 1,5")
    parts = text.split(";") if tight and ";" in text else re.split("[;,]", text)
    return [part.strip() for part in parts if part.strip()]


def is_pair(text: str) -> bool:
    """Return whether a text such as "1,5" is either one number with a decimal comma or two whole numbers."""
    return bool(re.fullmatch(r"[+-]?[0-9]+,(0|[1-9][0-9]*)", text.strip()))
