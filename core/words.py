"""Counts and words as a person reads them."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, e.g. "1 run", "3 runs"; plural: where it is not the noun with an "s"."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def capitalised(text: str) -> str:
    """Return words from the middle of a sentence as they begin one."""
    return text[:1].upper() + text[1:]
