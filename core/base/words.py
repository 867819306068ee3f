"""Counts and words for display."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, e.g. "1 run", "3 runs"; `plural` if it is not the noun with an "s"."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def capitalised(text: str) -> str:
    """Return a text with a capital first letter, unless it begins with a symbol or a name such as k_t."""
    return text if "_" in text.partition(" ")[0] else text[:1].upper() + text[1:]
