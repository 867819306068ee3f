"""Typesetting of symbols for window, report and command line.

printed("K_m^q")             "K<sub>m</sub><sup>q</sup>"
with_symbols("K_m^q is 0")   "K<sub>m</sub><sup>q</sup> is 0"
mathtext("K_m^q")            "$K_{m}^{q}$"
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache

from core.servo.catalogue import servos
from core.servo.terms import COMMAND_PATH_TERMS, FRICTION_MODELS

_PART = re.compile(r"([_^])(\w+?)(?=[_^]|\b)")


def printed(symbols: str) -> str:
    """Return symbols with "_" and "^" as HTML."""
    tags = {"_": "sub", "^": "sup"}
    return _PART.sub(lambda m: f"<{tags[m[1]]}>{m[2]}</{tags[m[1]]}>", html.escape(symbols))


def mathtext(symbol: str) -> str:
    """Return a symbol as matplotlib mathtext."""
    set_apart = _PART.sub(r"\1{\2}", symbol)
    return symbol if set_apart == symbol else f"${set_apart}$"


def with_symbols(text: str, symbols: Sequence[str] | None = None) -> str:
    """Return a text as HTML, with subscripts and superscripts in symbols only.

    symbols: None for those of every friction model and motor.
    """
    known = sorted((html.escape(symbol) for symbol in (symbols or all_symbols())), key=len, reverse=True)
    pattern = re.compile(r"(?<![\w^])(" + "|".join(re.escape(symbol) for symbol in known) + r")(?![\w^])")
    return pattern.sub(lambda match: printed(html.unescape(match[1])), html.escape(text))


@cache
def all_symbols() -> tuple[str, ...]:
    """Return the symbols of friction models M1 to M6, the motor and the command path that have sub- or superscripts."""
    spec = next(iter(servos().values()))
    found = [p.symbol for friction in FRICTION_MODELS for p in spec.parameters(friction, COMMAND_PATH_TERMS).values()]
    return tuple(dict.fromkeys(symbol for symbol in found if _PART.search(symbol)))
