"""Griffe extension: every public name of `servobench` has its example, set as code.

`Example:` in a docstring begins a section of examples, as `Examples:` does. A docstring that has none gets the one from
`type_examples.toml`.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import griffe

_TITLE = re.compile(r"^Example:$", re.MULTILINE)


@cache
def _examples() -> dict[str, str]:
    """Example of each public name that comes from another module, by its path there."""
    import servobench

    written = tomllib.loads((Path(__file__).parent / "type_examples.toml").read_text("utf-8"))
    return {f"{getattr(servobench, name).__module__}.{name}": text for name, text in written.items()}


class Examples(griffe.Extension):
    """Changes docstrings before they are parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Name the section of examples as the parser knows it, or add one."""
        if obj.docstring is None:
            return
        text = _TITLE.sub("Examples:", obj.docstring.value)
        if "Examples:" not in text and obj.path in _examples():
            text = f"{text.rstrip()}\n\nExamples:\n{textwrap.indent(_examples()[obj.path].strip(), '    ')}\n"
        obj.docstring.value = text
