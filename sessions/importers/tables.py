"""Tables of other programs: the names of their columns and the numbers below them, from CSV, TSV, NPZ and Parquet.

`sessions.importers.columns` handles the meaning of the columns. A table is opened from bytes whose size is already
bounded; every defect is an InputError that names the line.
"""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.words import counted
from sessions.errors import cause, shown

DELIMITERS = ",;\t"
MOST_COLUMNS = 10_000
MOST_UNPACKED = 1024 * 1024 * 1024
"""Largest content of a compressed table [bytes]."""
FLAGS = {"true": 1.0, "false": 0.0}
"""Words that other programs use for on and off."""


class Table(Protocol):
    """Columns of equal length."""

    names: tuple[str, ...]

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, each (n,), as numbers or datetime64.

        Raises:
            InputError: for other content.
        """
        ...

    def head(self, count: int) -> list[list[str]]:
        """Return the first rows as text, at most `count`."""
        ...

    def place(self, index: int) -> str:
        """Return the position of a row in the file for a message, e.g. "line 12"."""
        ...


def open_table(content: bytes, ending: str) -> Table:
    """Open a table by its file's ending, one of OPENERS.

    Raises:
        InputError: if the content is not a table of this kind.
    """
    return OPENERS[ending](content)


class TextTable:
    """CSV and TSV: one line of names, then one line per row; lines that begin with # are comments.

    The separator is the comma, semicolon or tab, whichever is most frequent in the line of names. A decimal comma is
    understood if the comma is not the separator.
    """

    def __init__(self, content: bytes) -> None:
        """Find the delimiter and the names.

        Raises:
            InputError: if the content has no line of names.
        """
        self._text, self._delimiter, self._named = _decoded(content), ",", False
        lines = list(islice((line for line in self._lines() if line.strip()), 1000))
        first = next((place for place, line in enumerate(lines) if not _is_comment(line)), None)
        if first is None:
            raise InputError("the file is empty")
        head = lines[first]
        self._delimiter = max(DELIMITERS, key=head.count)
        names = self._cells(head)
        if all(map(_is_number, names)):
            # numpy.savetxt puts the names into a comment.
            names = self._cells(lines[first - 1].lstrip("# ")) if first else []
            self._named = True
            if len(names) != len(self._cells(head)):
                raise InputError("the first line holds numbers; put a line with the columns' names above it")
        if len(names) < 2:
            raise InputError(
                f"one column only ({shown(head.strip()[:60])!r}); columns are separated by commas, semicolons or tabs"
            )
        self.names = tuple(name.strip() for name in names)

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, see `Table`."""
        for name in names:
            if self.names.count(name) > 1:
                raise InputError(f"{self.names.count(name)} columns have the name {shown(name)}; rename all but one")
        places = [self.names.index(name) for name in names]
        found = [array("d") for _ in names]
        for line, cells in self._rows():
            if len(cells) != len(self.names):
                raise InputError(
                    f"line {line}: {counted(len(cells), 'value')} below {len(self.names)} names; the line may be "
                    "truncated, or its decimal comma is taken for a separator"
                )
            for column, place in zip(found, places, strict=True):
                try:
                    column.append(self._number(cells[place]))
                except ValueError:
                    text = shown(cells[place].strip()[:40])
                    raise InputError(f"line {line}: {text!r} in column {self.names[place]} is not a number") from None
        return {name: np.array(column) for name, column in zip(names, found, strict=True)}

    def head(self, count: int) -> list[list[str]]:
        """Return the first rows, see `Table`."""
        return [[cell.strip() for cell in cells] for _, cells in islice(self._rows(), count)]

    def place(self, index: int) -> str:
        """Return the position of a row, see `Table`."""
        return f"line {next(islice(self._rows(), index, None))[0]}"

    def _lines(self) -> Iterator[str]:
        return iter(io.StringIO(self._text))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of each row below the names."""
        named = self._named
        for number, line in enumerate(self._lines(), start=1):
            if line.strip() and not _is_comment(line):
                if named:
                    yield number, self._cells(line)
                named = True

    def _cells(self, line: str) -> list[str]:
        try:
            cells = next(csv.reader([line], delimiter=self._delimiter, skipinitialspace=True))
        except csv.Error as error:
            raise InputError(f"not a table ({cause(error)})") from None
        if len(cells) > MOST_COLUMNS:
            raise InputError(f"{len(cells)} columns are more than the {MOST_COLUMNS} that are read")
        return cells

    def _number(self, cell: str) -> float:
        text = cell.strip().lower()
        if self._delimiter != "," and "." not in text:
            text = text.replace(",", ".")
        if "_" in text:
            raise ValueError(text)
        return math.nan if not text else FLAGS[text] if text in FLAGS else float(text)


class ArrayTable:
    """Columns in memory, from NPZ and Parquet files."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Create the table.

        Args:
            columns: Arrays by name; only those of one dimension are used.
        """
        self._columns = {name: values for name, values in columns.items() if values.ndim == 1}
        self.names = tuple(self._columns)
        if not self.names:
            raise InputError("no columns: there is no array of one dimension")

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, see `Table`."""
        found = {name: self._columns[name] for name in names}
        for name, values in found.items():
            if values.dtype.kind not in "biufM":
                raise InputError(f"column {shown(name)} holds no numbers")
            if len(values) != len(found[names[0]]):
                raise InputError(
                    f"column {shown(name)} has {counted(len(values), 'value')}, "
                    f"{shown(names[0])} has {len(found[names[0]])}"
                )
        return {
            name: values if values.dtype.kind == "M" else _as_numbers(values, shown(name))
            for name, values in found.items()
        }

    def head(self, count: int) -> list[list[str]]:
        """Return the first rows, see `Table`."""
        rows = min(count, max(map(len, self._columns.values())))
        return [
            [shown(str(values[row])[:60]) if row < len(values) else "" for values in self._columns.values()]
            for row in range(rows)
        ]

    def place(self, index: int) -> str:
        """Return the position of a row, see `Table`."""
        return f"row {index + 1}"


def _as_numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return numbers of a type that subtracts exactly: large integers stay integers."""
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        raise InputError(f"column {name} holds integers that are too large")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _decoded(content: bytes) -> str:
    if b"\0" in content or any(byte < 9 for byte in content[:4096]):
        raise InputError("binary data, not text; save the table as CSV in UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _open_npz(content: bytes) -> ArrayTable:
    columns: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MOST_UNPACKED or len(members) > MOST_COLUMNS:
                raise InputError(f"larger than {MOST_UNPACKED // 2**20} MB when unpacked; split it")
            for member in members:
                with archive.open(member) as file:
                    values = _array(file.read(member.file_size))
                name = member.filename.removesuffix(".npy")
                if name in columns:
                    raise InputError(f"two arrays have the name {shown(name)!r}")
                if values is not None:
                    columns[name] = values
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise InputError(f"not an NPZ file ({cause(error)})") from None
    return ArrayTable(columns)


def _array(content: bytes) -> NDArray[Any] | None:
    """Return the array of a .npy file, None for an array of objects; raises ValueError for a damaged file.

    `numpy.load` would allocate whatever size a damaged header claims.
    """
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    except Exception as error:  # numpy parses the header as Python, which fails in a dozen ways
        raise ValueError(cause(error)) from None
    if dtype.hasobject or dtype.itemsize == 0 or len(shape) != 1:
        return None
    if shape[0] < 0 or shape[0] * dtype.itemsize > len(content) - stream.tell():
        raise ValueError("an array is truncated")
    return np.frombuffer(content, dtype, shape[0], stream.tell())


def _open_parquet(content: bytes) -> ArrayTable:
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("Parquet files need pyarrow: pip install 'servobench[parquet]'") from None
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        groups = (file.metadata.row_group(place) for place in range(file.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > MOST_UNPACKED:
            raise InputError(f"larger than {MOST_UNPACKED // 2**20} MB when unpacked; split it")
        table = file.read()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise InputError(f"not a Parquet file ({cause(error)})") from None
    if len(set(table.column_names)) != len(table.column_names):
        raise InputError("two columns have the same name")
    return ArrayTable({name: table[name].to_numpy() for name in table.column_names})


OPENERS = {".csv": TextTable, ".tsv": TextTable, ".npz": _open_npz, ".parquet": _open_parquet}
"""Ending of a file to the function that opens its table."""
