"""Ways to change an input that leave most of it as it was, for parsers that refuse noise at the first byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

Mutate = Callable[[bytes, Random], bytes]

NUMBERS = (
    "0", "-0.0", "1", "-1", "2", "0.5", "1e-320", "1e308", "-1e308", "1e400", "-1e400", "NaN", "Infinity", "-Infinity",
    "255", "256", "65536", "2147483648", "4294967296", "9223372036854775808", "1e19", "1" + "0" * 400, "-1" + "0" * 400,
    "9" * 4301, "1_0", "0x10", "01", "1e", "true", "null",
)  # fmt: skip
"""Texts that stand where a number may."""
TEXTS = (
    '""', '"\\ud800"', '"\\u0000"', '"m6"', '"mx106"', '"../../x"', '"nan"', '"\\n"', '"{}"', '"%s"', '"é"',
    '"' + "a" * 3000 + '"',
)  # fmt: skip
NESTS = ("[" * 60 + "]" * 60, "[" * 5000, '{"a":' * 50 + "1" + "}" * 50, "[" * 3000 + "]" * 3000)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_.]*")


def changed_bytes(data: bytes, rng: Random) -> bytes:
    """Some bytes flipped, removed, inserted, repeated or cut off."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        place = rng.randrange(len(content) + 1)
        count = rng.choice((1, 2, 4, 8, rng.randrange(1, 64)))
        kind = rng.randrange(6)
        if kind == 0 and place < len(content):
            content[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del content[place : place + count]
        elif kind == 2:
            content[place:place] = rng.randbytes(count)
        elif kind == 3:
            content[place:place] = content[place : place + count]
        elif kind == 4:
            content[place : place + count] = rng.choice((b"\0", b"\xff", b"\x80", b"\x7f")) * count
        elif rng.randrange(8) == 0:
            del content[place:]
    return bytes(content)


def changed_text(data: bytes, rng: Random) -> bytes:
    """Numbers, words or lines of a text replaced, repeated, exchanged or removed."""
    kind = rng.randrange(6)
    if kind <= 1:
        return _replaced(_NUMBER, data, rng, lambda: rng.choice(NUMBERS).encode())
    if kind == 2:
        words = _WORD.findall(data) or [b"x"]
        return _replaced(_WORD, data, rng, lambda: rng.choice(words))
    if kind == 3:
        return changed_bytes(data, rng)
    lines = data.splitlines(keepends=True) or [b"\n"]
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    if kind == 4:
        lines[one : one + 1] = rng.choice(([], [lines[one]] * 2, [lines[other]], [lines[one].rstrip(b"\n")]))
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _replaced(pattern: re.Pattern[bytes], data: bytes, rng: Random, new: Callable[[], bytes]) -> bytes:
    found = [match.span() for match in pattern.finditer(data)]
    for start, end in sorted(rng.sample(found, min(len(found), rng.choice((1, 1, 2, 3)))), reverse=True):
        data = data[:start] + new() + data[end:]
    return data


class _Raw:
    """A piece of JSON text that no value stands for."""

    def __init__(self, text: str) -> None:
        self.text = text


def changed_json(data: bytes, rng: Random) -> bytes:
    """Values of a JSON text of another type, size or depth, exchanged, gone or there twice."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return changed_text(data, rng)
    if rng.randrange(8) == 0:
        return changed_text(data, rng)
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            value = _changed(value, rng)
        return _text(value).encode("utf-8", "surrogatepass")
    except RecursionError:
        return changed_text(data, rng)


def _changed(root: Any, rng: Random) -> Any:
    """The value with one of its places changed."""
    places = _places(root)
    if not places:
        return _odd(rng)
    # Half of the time near the root, where the parser's own names are.
    container, key = rng.choice(places[:24]) if rng.randrange(2) else rng.choice(places)
    kind = rng.randrange(8)
    if kind <= 3:
        container[key] = _odd(rng)
    elif kind == 4:
        del container[key]
    elif kind == 5:
        other, place = rng.choice(places)
        container[key] = _Raw(_text(other[place]))
    elif kind == 6 and isinstance(container, dict):
        container[rng.choice((*container, "format", "x", "\ud800", "__class__"))] = _odd(rng)
    elif isinstance(container, list):
        container[key:key] = [container[key]] * rng.choice((1, 2, 20))
    else:
        container[key] = [container[key]]
    return root


def _places(root: Any) -> list[tuple[Any, Any]]:
    """Every place of a value, in order of depth; at most some thousands."""
    found: list[tuple[Any, Any]] = []
    level = [root]
    while level and len(found) < 5000:
        following = []
        for container in level:
            if isinstance(container, (dict, list)):
                keys = list(container) if isinstance(container, dict) else range(len(container))
                found += [(container, key) for key in keys]
                following += [container[key] for key in keys]
        level = following
    return found


def _odd(rng: Random) -> Any:
    return _Raw(
        rng.choice(rng.choice((NUMBERS, NUMBERS, TEXTS, ("[]", "{}", "null", "true", "[1]", '{"a":1}'), NESTS)))
    )


def _text(value: Any) -> str:
    """JSON text of a value with raw pieces in it."""
    if isinstance(value, _Raw):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def either(*ways: Mutate) -> Mutate:
    """One of several ways, by chance."""

    def mutate(data: bytes, rng: Random) -> bytes:
        return rng.choice(ways)(data, rng)

    return mutate
