"""JSON files that reveal later changes by a seal.

A sealed object holds the SHA-256 of its other entries under "seal"; in an array, each object is sealed. The hash covers
the data in their order, not the text, so a file may be indented differently. A file without a seal comes from
another program and is read as it is.

A flipped bit and an edit by hand look alike, so the kind of file decides. A file that only the program writes is
damaged if its seal is broken: read it with `parse_sealed`. A file that users edit as well (models, annotations, plans,
settings) is used with a warning: read it with `is_edited`.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from core.base.guards import is_array, is_object

LOG = logging.getLogger(__name__)

SEAL = "seal"
"""Name of the last entry of a sealed object."""

SEAL_LINE = "# seal: "
"""Start of the last line of a sealed text that is not JSON; its SHA-256 follows."""

EDITED = "edited by hand, or damaged, since ServoBench wrote it"


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON data with their seal."""
    return {**data, SEAL: _digest(data)}


def sealed_text(data: Any, *, indent: int | None = 2, allow_nan: bool = False) -> str:
    """Return the text of a sealed object, or of an array of sealed objects.

    Raises:
        ValueError: A number is NaN, and `allow_nan` is False.
    """
    whole = [sealed(item) for item in data] if is_array(data) else sealed(data)
    text = json.dumps(whole, indent=indent, ensure_ascii=False, allow_nan=allow_nan)
    try:
        text.encode()
    except UnicodeEncodeError:  # a path that is not valid UTF-8
        text = json.dumps(whole, indent=indent, allow_nan=allow_nan)
    return text + "\n"


def parse_sealed(text: str | bytes) -> Any:
    """Return the data of `sealed_text`, without seals.

    Raises:
        ValueError: A seal is broken, or the text is not JSON.
    """
    data = json.loads(text)
    for item in data if is_array(data) else (data,):
        if is_broken(item):
            raise ValueError(
                "the file is damaged: its contents differ from those that were written (the seal does not match)"
            )
        if isinstance(item, dict):
            cast("dict[str, Any]", item).pop(SEAL, None)
    return data


def is_broken(data: Any) -> bool:
    """Return True for a parsed object whose seal does not match its other entries."""
    return is_object(data) and SEAL in data and data[SEAL] != _digest(data)


def is_edited(data: Any, source: object) -> bool:
    """Return `is_broken` for a file that users may edit, and log a warning that names the source, once per content."""
    if not is_broken(data):
        return False
    _warn_edited(source, _digest(data))
    return True


def with_seal_line(text: str) -> str:
    """Return a text, such as TOML, with a comment as its last line that seals the others."""
    return f"{text}\n{SEAL_LINE}{_hash(text)}\n"


def without_seal_line(text: str, source: object) -> str:
    """Return the text without its seal line, for a file that users may edit; warn if the seal is broken."""
    before, found, after = text.rpartition(f"\n{SEAL_LINE}")
    if not found:
        return text
    seal, _, added = after.partition("\n")
    content = before + added
    if seal.strip() != _hash(content):
        _warn_edited(source, _hash(text))
    return content


def warn_once(message: str) -> None:
    """Log a warning unless this process has logged it before."""
    _warn_once(message, "")


def _warn_edited(source: object, content: str) -> None:
    _warn_once(f"{source}: {EDITED}; it is used as it is (remove the seal to accept the edit)", content)


@cache
def _warn_once(message: str, key: str) -> None:
    LOG.warning("%s", message)


def _digest(data: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in data.items() if name != SEAL}
    return _hash(json.dumps(rest))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
