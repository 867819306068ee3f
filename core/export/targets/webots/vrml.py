"""Read and write Webots worlds, by a table of node fields and their types.

Webots' worlds are VRML97 with nodes of its own: `Name { field value … }`. The table gives the type of every field;
unknown nodes, fields and values are errors. A user's own world is read without a table. Consecutive numbers then form
one tuple, and the reader of a field checks its length. Strings are quoted, so that a name can hold any text without
ending its string.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.base.errors import ExportError

LARGEST_FILE = 4_000_000
"""Size limit of a world file [bytes]."""
DEEPEST = 50
"""Limit of the nesting depth of nodes."""
MOST_NODES = 100_000
"""Limit of the nodes of a world: nested USE could make a short file expand without end."""

Schema = Mapping[str, Mapping[str, str]]
"""Field types by node: SFFloat, SFVec3f, SFRotation, SFColor, SFBool, SFString, SFNode, or MF… for a list."""


@dataclass(frozen=True)
class Node:
    """A node: SFVec3f, SFRotation and SFColor are tuples, MF… are lists, SFNode is a node or None."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    label: str = ""
    """Name given by DEF."""

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field; raise ExportError if it is missing."""
        if name not in self.fields:
            raise ExportError(f"a {self.name} has no {name}")
        return self.fields[name]

    def inside(self, name: str) -> Node:
        """Return the node in a field; raise ExportError for NULL."""
        found = self[name]
        if found is None:
            raise ExportError(f"{name} of a {self.name} is NULL")
        return found

    def only(self, name: str, of: str) -> Node:
        """Return the only node of a kind in a field; raise ExportError unless there is exactly one."""
        found = [node for node in self[name] if node.name == of]
        if len(found) != 1:
            raise ExportError(f"{name} of a {self.name} holds {len(found)} {of} nodes instead of one")
        return found[0]


def vrml_text(nodes: list[Node], schema: Schema, header: str) -> str:
    """Return the text of a file; raise ExportError for anything outside the schema."""
    return f"{header}\n" + "".join(f"{_node_text(node, schema, '')}\n" for node in nodes)


def read_vrml(path: Path, schema: Schema | None = None, header: str | None = None) -> list[Node]:
    """Read the nodes of a file.

    Args:
        path: The file.
        schema: Table of nodes and fields. None: a user's world, with any node and field.
        header: Required first line. None: any or none.

    Raises:
        ExportError: The file cannot be read or parsed; the message names the line.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ExportError(f"{path}: larger than {LARGEST_FILE / 1e6:g} MB, the limit for worlds")
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExportError(f"{path}: cannot be read as a world: {error}") from None
    first = text.partition("\n")[0].strip()
    if header is not None and first != header:
        raise ExportError(f"{path}: it begins with {first[:40]!r}, not {header!r}")
    return _Reader(path, text, schema).nodes()


_WIDTHS = {"Float": 1, "Vec3f": 3, "Rotation": 4, "Color": 3}
_TOKEN = re.compile(r'(?:[\s,]|#[^\n]*)*(?:("(?:\\["\\]|[^"\\])*")|([{}\[\]])|([^\s,{}\[\]"#]+))')
_NUMBER = re.compile(r"[+-]?(?:[0-9]|\.[0-9]).*")
_TRAILING = re.compile(r"(?:[\s,]|#[^\n]*)*\Z")


def _node_text(node: Node, schema: Schema, indent: str) -> str:
    types = schema.get(node.name)
    if types is None:
        raise ExportError(f"there is no node {node.name!r}")
    lines: list[str] = []
    for name, value in node.fields.items():
        if name not in types:
            raise ExportError(f"a {node.name} has no field {name!r}")
        lines.append(f"{indent}  {name} {_value_text(value, types[name], schema, indent + '  ')}\n")
    return f"{node.name} {{\n{''.join(lines)}{indent}}}"


def _value_text(value: Any, kind: str, schema: Schema, indent: str) -> str:
    base = kind[2:]
    if kind.startswith("MF"):
        if base in ("Node", "Vec3f"):
            inside = "".join(f"{indent}  {_value_text(v, f'SF{base}', schema, indent + '  ')}\n" for v in value)
            return f"[\n{inside}{indent}]"
        return "[ " + " ".join(_value_text(v, f"SF{base}", schema, indent) for v in value) + " ]"
    if base == "Node":
        return "NULL" if value is None else _node_text(value, schema, indent)
    if base == "Bool":
        return "TRUE" if value else "FALSE"
    if base == "String":
        return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
    numbers = (value,) if base == "Float" else tuple(value)
    if len(numbers) != _WIDTHS[base] or not all(math.isfinite(number) for number in numbers):
        raise ExportError(f"{value!r} is not of type {kind}")
    return " ".join(repr(float(number)) for number in numbers)


class _Reader:
    """Recursive-descent parser of a world's text."""

    def __init__(self, path: Path, text: str, schema: Schema | None) -> None:
        self._path, self._text, self._schema = path, text, schema
        self._at = 0
        self._count = self._deepest = 0
        self._labelled: dict[str, tuple[Node, int, int]] = {}
        """Nodes by DEF name, each with its number of nodes and its nesting depth."""

    def nodes(self) -> list[Node]:
        """Return all nodes up to the end."""
        found: list[Node] = []
        while not _TRAILING.match(self._text, self._at):
            found.append(self._node(self._take(), 0))
        return found

    def _node(self, name: str, depth: int) -> Node:
        if name == "USE":
            label = self._take()
            if label not in self._labelled:
                raise self._wrong(f"USE {label[:40]}: no DEF before it has this name")
            node, count, height = self._labelled[label]
            self._counted(count, depth + height)
            return node
        if name == "DEF":
            label, kind, before, deepest = self._take(), self._take(), self._count, self._deepest
            self._deepest = depth
            node = replace(self._node(kind, depth), label=label)
            self._labelled[label] = node, self._count - before, self._deepest - depth
            self._deepest = max(deepest, self._deepest)
            return node
        types: Mapping[str, str] | None = {} if self._schema is None else self._schema.get(name)
        if types is None:
            raise self._wrong(f"there is no node {name[:40]!r}")
        self._counted(1, depth)
        self._expect("{")
        fields: dict[str, Any] = {}
        while (word := self._take()) != "}":
            if self._schema is not None and word not in types:
                raise self._wrong(f"a {name} has no field {word[:40]!r}")
            if word in fields:
                raise self._wrong(f"a {name} has {word} twice")
            fields[word] = self._value(types[word], depth) if word in types else self._untyped(depth)
        return Node(name, fields)

    def _counted(self, count: int, depth: int) -> None:
        self._count += count
        self._deepest = max(self._deepest, depth)
        if depth > DEEPEST:
            raise self._wrong("nodes are nested too deeply")
        if self._count > MOST_NODES:
            raise self._wrong(f"more than {MOST_NODES} nodes")

    def _untyped(self, depth: int) -> Any:
        word = self._take()
        if word == "[":
            found: list[Any] = []
            while (word := self._take()) != "]":
                found.append(self._untyped_single(word, depth))
            return found
        if not _NUMBER.fullmatch(word):
            return self._untyped_single(word, depth)
        words = [word]
        while (token := _TOKEN.match(self._text, self._at)) and _NUMBER.fullmatch(token[3] or ""):
            words.append(self._take())
        return tuple(self._number(each) for each in words)

    def _untyped_single(self, word: str, depth: int) -> Any:
        if _NUMBER.fullmatch(word):
            return self._number(word)
        kind = "String" if word.startswith('"') else "Bool" if word in ("TRUE", "FALSE") else "Node"
        return self._single(kind, word, depth)

    def _value(self, kind: str, depth: int) -> Any:
        base = kind[2:]
        if kind.startswith("MF"):
            return list(self._list(f"SF{base}", depth))
        return self._single(base, self._take(), depth)

    def _list(self, kind: str, depth: int) -> Iterator[Any]:
        self._expect("[")
        while (word := self._take()) != "]":
            yield self._single(kind[2:], word, depth)

    def _single(self, base: str, word: str, depth: int) -> Any:
        if base == "Node":
            return None if word == "NULL" else self._node(word, depth + 1)
        if base == "Bool":
            if word not in ("TRUE", "FALSE"):
                raise self._wrong(f"{word[:40]!r} is neither TRUE nor FALSE")
            return word == "TRUE"
        if base == "String":
            if not word.startswith('"'):
                raise self._wrong(f"{word[:40]!r} is not a string")
            return re.sub(r'\\(["\\])', r"\1", word[1:-1])
        words = [word, *(self._take() for _ in range(_WIDTHS[base] - 1))]
        values = tuple(self._number(each) for each in words)
        return values[0] if base == "Float" else values

    def _number(self, word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._wrong(f"{word[:40]!r} is not a number")
        return value

    def _take(self) -> str:
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            raise self._wrong("the text ends too early or holds an open string")
        self._at = token.end()
        return next(part for part in token.groups() if part is not None)

    def _expect(self, mark: str) -> None:
        word = self._take()
        if word != mark:
            raise self._wrong(f"expected {mark!r}, found {word[:40]!r}")

    def _wrong(self, what: str) -> ExportError:
        line = self._text.count("\n", 0, self._at) + 1
        return ExportError(f"{self._path}, line {line}: {what}")
