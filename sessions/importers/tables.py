"""Tables of other programs: the names of their columns and the numbers below them, from CSV, TSV, NPZ and Parquet.

`sessions.importers.columns` handles the meaning of the columns. A table is opened from bytes whose size is already
bounded; every defect is an InputError that names the line.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.guards import is_array, is_object
from core.base.words import counted
from sessions.errors import cause, shown
from sessions.strict_json import parse_json

DELIMITERS = ",;\t"
MOST_COLUMNS = 10_000
MOST_UNPACKED = 1024 * 1024 * 1024
"""Largest content of a compressed table [bytes]."""
HEAD = 200
"""Rows read of a Parquet file to show and guess its columns."""
FLAGS = {
    **dict.fromkeys(("true", "on", "yes", "enabled"), 1.0),
    **dict.fromkeys(("false", "off", "no", "disabled"), 0.0),
}
"""Words that other programs use for on and off."""
MISSING = frozenset(("", "nan", "na", "n/a", "null", "none", "-"))
"""Words for a value that is missing."""


class Table(Protocol):
    """Columns of equal length; NaN where a row has no value."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    """Unit of each column as a row of the file states it, or nothing."""
    note: str
    """Part of the file that was left out, in words; known once columns have been read."""

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, each (n,), as numbers or datetime64.

        Raises:
            InputError: for other content.
        """
        ...

    def texts(self, name: str) -> NDArray[np.str_]:
        """Return a column as text (n,), whole numbers without a point."""
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
    understood if the comma is not the separator. A line of units below the names is understood, and half a last line,
    which a crash leaves behind, is left out.
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
        self.note, self.units = "", ()
        below = next(self._rows(), (0, list[str]()))[1]
        if len(below) == len(names) and not any(map(_is_value, below)):
            units = tuple(cell.strip().strip("[]()") for cell in below)
            self.units = units if any(units) else ()

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, see `Table`."""
        for name in names:
            if self.names.count(name) > 1:
                raise InputError(f"{self.names.count(name)} columns have the name {shown(name)}; rename all but one")
        places = [self.names.index(name) for name in names]
        self.note = ""
        # Nearly every table holds only numbers, which numpy reads five times faster than the loop below.
        with contextlib.suppress(ValueError):
            lines = self._plain_lines() if self.head(1) else [self._delimiter]
            values = np.loadtxt(lines, comments=None, delimiter=self._delimiter, usecols=places, ndmin=2)
            return {name: np.ascontiguousarray(column) for name, column in zip(names, values.T, strict=True)}
        parsers = [self._parser(place) for place in places]
        found = [array("d") for _ in names]
        fault: InputError | None = None
        for line, cells in self._rows():
            if fault is not None:
                raise fault
            try:
                if len(cells) != len(self.names):
                    raise ValueError
                values = [parse(cells[place]) for parse, place in zip(parsers, places, strict=True)]
            except ValueError:
                fault = self._fault(line, cells, places, parsers)
                continue
            for column, value in zip(found, values, strict=True):
                column.append(value)
        if fault is not None:
            self.note = "half a last line"
        return {
            name: np.array(column).astype("datetime64[us]") if parse is _date else np.array(column)
            for name, column, parse in zip(names, found, parsers, strict=True)
        }

    def texts(self, name: str) -> NDArray[np.str_]:
        """Return a column as text, see `Table`."""
        place = self.names.index(name)
        return np.array([plain(cells[place]) for _, cells in self._rows() if len(cells) == len(self.names)])

    def head(self, count: int) -> list[list[str]]:
        """Return the first rows, see `Table`."""
        return [[cell.strip() for cell in cells] for _, cells in islice(self._rows(), count)]

    def place(self, index: int) -> str:
        """Return the position of a row, see `Table`."""
        return f"line {next(islice(self._rows(), index, None))[0]}"

    def _fault(
        self, line: int, cells: list[str], places: list[int], parsers: list[Callable[[str], float]]
    ) -> InputError:
        """Return the reason why a line cannot be read."""
        if len(cells) != len(self.names):
            return InputError(
                f"line {line}: {counted(len(cells), 'value')} below {len(self.names)} names; the line may be "
                "truncated, or its decimal comma is taken for a separator"
            )
        for place, parse in zip(places, parsers, strict=True):
            try:
                parse(cells[place])
            except ValueError:
                text = shown(cells[place].strip()[:40])
                kind = "date" if parse is _date else "switch, on or off" if parse is _flag else "number"
                return InputError(f"line {line}: {text!r} in column {self.names[place]} is not a {kind}")
        raise AssertionError(cells)

    def _parser(self, place: int) -> Callable[[str], float]:
        """Return the function that reads a column: of dates, of switches, or of numbers, as its first value is."""
        cells = (cells[place].strip().lower() for _, cells in self._rows() if len(cells) > place)
        return _parser_of(cells, self._number)

    def _lines(self) -> Iterator[str]:
        return iter(io.StringIO(self._text))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of each row below the names and units."""
        above = (not self._named) + bool(self.units)
        for number, line in enumerate(self._lines(), start=1):
            if line.strip() and not _is_comment(line):
                if not above:
                    yield number, self._cells(line)
                above = max(above - 1, 0)

    def _plain_lines(self) -> Iterator[str]:
        """Yield the rows; raises ValueError for one of another number of cells."""
        rows = (line for line in self._lines() if line.strip() and not _is_comment(line))
        for line in islice(rows, (not self._named) + bool(self.units), None):
            if line.count(self._delimiter) != len(self.names) - 1:
                raise ValueError(line)
            yield line

    def _cells(self, line: str) -> list[str]:
        try:
            cells = next(csv.reader([line], delimiter=self._delimiter, skipinitialspace=True))
        except csv.Error as error:
            raise InputError(f"not a table ({cause(error)})") from None
        if len(cells) > MOST_COLUMNS:
            raise InputError(f"{len(cells)} columns are more than the {MOST_COLUMNS} that are read")
        return cells

    def _number(self, cell: str) -> float:
        return _number(cell.replace(",", ".") if self._delimiter != "," and "." not in cell else cell)


class ArrayTable:
    """Columns in memory, from NPZ and JSON files."""

    note = ""

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        elements: Mapping[str, Sequence[str]] | None = None,
        units: tuple[str, ...] = (),
    ) -> None:
        """Create the table.

        Args:
            columns: Arrays (n,) or (n, m) by name; element k of the latter is the column "name[k]".
            elements: Names of the elements of some columns, which become "name.element".
            units: Units of the columns, if the file states them.

        Raises:
            InputError: There is no column, or two have one name.
        """
        self.units = units
        self._columns: dict[str, NDArray[Any]] = {}
        for name, values in columns.items():
            if values.ndim == 1:
                self._columns[name] = values
            elif values.ndim == 2 and len(self._columns) + values.shape[1] <= MOST_COLUMNS:
                named = (elements or {}).get(name, ())
                for place in range(values.shape[1]):
                    own = f"{name}.{named[place]}" if place < len(named) else f"{name}[{place}]"
                    if own in self._columns:
                        raise InputError(f"two columns are named {own}")
                    self._columns[own] = values[:, place]
        self.names = tuple(self._columns)
        if not self.names:
            raise InputError("no columns: there is no array of one or two dimensions")

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, see `Table`."""
        found = {name: self._columns[name] for name in names}
        for name, values in found.items():
            if len(values) != len(found[names[0]]):
                raise InputError(
                    f"column {shown(name)} has {counted(len(values), 'value')}, "
                    f"{shown(names[0])} has {len(found[names[0]])}"
                )
        return {name: _as_numbers(values, shown(name)) for name, values in found.items()}

    def texts(self, name: str) -> NDArray[np.str_]:
        """Return a column as text, see `Table`."""
        return np.array([plain(cell) for cell in _cells(self._columns[name])])

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
    """Return dates, or numbers of a type that subtracts exactly: large integers stay integers."""
    if values.dtype.kind == "M":
        return values
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "s")
    if values.dtype.kind not in "biuf":
        cells = _cells(values)
        parse = _parser_of((cell.strip().lower() for cell in cells), _number)
        try:
            found = np.array([parse(cell) for cell in cells])
        except ValueError:
            raise InputError(f"column {name} holds no numbers") from None
        return found.astype("datetime64[us]") if parse is _date else found
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        raise InputError(f"column {name} holds integers that are too large")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _cells(values: NDArray[Any]) -> list[str]:
    """Return values as text, nothing for a missing one."""
    return [
        "" if value is None else value.decode("latin-1") if isinstance(value, bytes) else str(value)
        for value in values.tolist()
    ]


def _number(cell: str) -> float:
    text = cell.strip().lower()
    if "_" in text:
        raise ValueError(text)
    return math.nan if text in MISSING else float(text)


def _parser_of(cells: Iterable[str], number: Callable[[str], float]) -> Callable[[str], float]:
    """Return the function that reads a column: of dates, of switches, or of numbers, as its first value is."""
    first = next((cell for cell in cells if cell not in MISSING), "0")
    return number if _is_number(first) or not _is_value(first) else _flag if first in FLAGS else _date


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


def _is_value(cell: str) -> bool:
    """Return whether a cell holds a number, a switch or a date."""
    text = cell.strip().lower()
    if _is_number(text) or text in FLAGS:
        return True
    try:
        _moment(text)
    except ValueError:
        return False
    return True


def _flag(cell: str) -> float:
    """Return 1 for on and 0 for off."""
    text = cell.strip().lower()
    if text not in FLAGS and text not in MISSING:
        raise ValueError(text)
    return FLAGS.get(text, math.nan)


def _date(cell: str) -> float:
    """Return a date as microseconds since 1970, which a float holds exactly."""
    if cell.strip().lower() in MISSING:
        return math.nan
    date = _moment(cell)
    since = date.replace(tzinfo=date.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return float(since // timedelta(microseconds=1))


def _moment(cell: str) -> datetime:
    """Return a date, also one as in 31.12.2026, or a time of day, as of one day; raises ValueError for other text."""
    text = re.sub(
        r"^(\d\d?)\.(\d\d?)\.(\d{4})", lambda found: f"{found[3]}-{found[2]:0>2}-{found[1]:0>2}", cell.strip()
    )
    return datetime.fromisoformat((f"1970-01-01 {text}" if text[2:3] == ":" else text).upper())


def plain(cell: str) -> str:
    """Return the text of a key: 3 and 3.0 are one."""
    return re.sub(r"^([-+]?\d+)\.0*$", r"\1", cell.strip())


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
    texts = {len(values): name for name, values in columns.items() if values.ndim == 1 and values.dtype.kind in "SU"}
    labels = {name: texts.get(values.shape[1], "") for name, values in columns.items() if values.ndim == 2}
    elements = {name: _cells(columns[label]) for name, label in labels.items() if label}
    return ArrayTable({name: values for name, values in columns.items() if name not in labels.values()}, elements)


def _array(content: bytes) -> NDArray[Any] | None:
    """Return the array of a .npy file, None for an array of objects; raises ValueError for a damaged file.

    `numpy.load` would allocate whatever size a damaged header claims.
    """
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except Exception as error:  # numpy parses the header as Python, which fails in a dozen ways
        raise ValueError(cause(error)) from None
    if dtype.hasobject or dtype.itemsize == 0 or len(shape) not in (1, 2):
        return None
    if min(shape) < 0 or math.prod(shape) * dtype.itemsize > len(content) - stream.tell():
        raise ValueError("an array is truncated")
    values = np.frombuffer(content, dtype, math.prod(shape), stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")


class ParquetTable:
    """Columns of Parquet files, one after the other; only those that are asked for are read."""

    note, units = "", ()

    def __init__(self, files: Sequence[Any], elements: Mapping[str, Sequence[str]] | None = None) -> None:
        """Find the columns.

        Args:
            files: Paths or open files with the same columns.
            elements: As for `ArrayTable`.

        Raises:
            InputError: for other files, or if pyarrow is not installed.
        """
        try:
            self._arrow: Any = import_module("pyarrow")
            self._parquet: Any = import_module("pyarrow.parquet")
        except ImportError:
            raise InputError("Parquet files need pyarrow: pip install 'servobench[parquet]'") from None
        self._files, self._elements = files, elements
        with self._refusing():
            opened = [self._parquet.ParquetFile(file) for file in files]
            groups = [
                file.metadata.row_group(place) for file in opened for place in range(file.metadata.num_row_groups)
            ]
            if sum(group.total_byte_size for group in groups) > MOST_UNPACKED:
                raise InputError(f"larger than {MOST_UNPACKED // 2**20} MB when unpacked; split it")
            first = next(opened[0].iter_batches(HEAD), None)
            names = opened[0].schema_arrow.names
        if len(set(names)) != len(names):
            raise InputError("two columns have the same name")
        if first is None:
            raise InputError("the file is empty")
        begun = {name: _arrow_array(first[name]) for name in names}
        self._first = ArrayTable(begun, elements)
        self.names = self._first.names
        self._column = {own: name for name in names for own in ArrayTable({name: begun[name]}, elements).names}

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, see `Table`."""
        read = self._read(names)
        for name in names:
            if name not in read.names:
                raise InputError(
                    f"column {shown(self._column[name])} holds lists of different length, or none in a row"
                )
        return read.columns(names)

    def texts(self, name: str) -> NDArray[np.str_]:
        """Return a column as text, see `Table`."""
        return self._read([name]).texts(name)

    def head(self, count: int) -> list[list[str]]:
        """Return the first rows, see `Table`."""
        return self._first.head(count)

    def place(self, index: int) -> str:
        """Return the position of a row, see `Table`."""
        return f"row {index + 1}"

    def _read(self, names: Sequence[str]) -> ArrayTable:
        wanted = list(dict.fromkeys(self._column[name] for name in names))
        with self._refusing():
            for file in self._files:
                if hasattr(file, "seek"):
                    file.seek(0)
            read = self._arrow.concat_tables(self._parquet.read_table(file, columns=wanted) for file in self._files)
        return ArrayTable({name: _arrow_array(read[name].combine_chunks()) for name in wanted}, self._elements)

    @contextlib.contextmanager
    def _refusing(self) -> Generator[None]:
        try:
            yield
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise InputError(f"not a Parquet file ({cause(error)})") from None


def _open_parquet(content: bytes) -> ParquetTable:
    return ParquetTable([io.BytesIO(content)])


def _arrow_array(column: Any) -> NDArray[Any]:
    """Return a column of a Parquet file, (n, m) for lists of m numbers each."""
    kind: Any = import_module("pyarrow.types")
    if not (kind.is_list(column.type) or kind.is_fixed_size_list(column.type) or kind.is_large_list(column.type)):
        return column.to_numpy(zero_copy_only=False)
    flat = column.flatten().to_numpy(zero_copy_only=False)
    size = len(flat) // max(len(column), 1)
    whole = column.null_count == 0 and {len(part) for part in column} <= {size}
    return flat.reshape(len(column), size) if whole else np.empty(len(column), object)


SYSID = {"test": "", "time": "s", "goal_voltage": "V", "position": "turns", "velocity": "turn/s"}
"""Columns of WPILib's SysId and their units; it keeps rotations, whatever unit it shows."""
LENGTHS = frozenset(("meters", "feet", "inches"))
"""Units of mechanisms that do not turn."""


def _open_sysid(data: Mapping[str, Any]) -> ArrayTable:
    """Open the tests of WPILib's SysId, rows of [time, voltage, position, velocity] by the test's name."""
    tests = {test: rows for test, rows in data.items() if is_array(rows)}
    mechanism, unit = (str(data.get(key, "")) for key in ("test", "units"))
    if mechanism == "Elevator" or unit.lower() in LENGTHS:
        raise InputError(f"SysId of a mechanism that does not turn ({shown(mechanism)}, in {shown(unit)})")
    rows = [[test, *row] for test, rows in tests.items() for row in rows if is_array(row)]
    if not rows or any(len(row) != len(SYSID) for row in rows):
        raise InputError("not tests of one mechanism by WPILib's SysId, rows of time, voltage, position and velocity")
    columns = zip(SYSID, zip(*rows, strict=True), strict=True)
    table = ArrayTable({name: np.array(values, object) for name, values in columns}, units=tuple(SYSID.values()))
    table.note = ", ".join(f"the empty test {shown(test)}" for test, content in tests.items() if not content)
    return table


def _open_json(content: bytes) -> ArrayTable:
    data = parse_json(content)
    if is_object(data) and "sysid" in data:
        return _open_sysid(data)
    columns: dict[str, NDArray[Any]] = {}

    def walk(data: Any, name: str) -> None:
        if is_object(data):
            for key, value in data.items():
                walk(value, f"{name}.{key}" if name else key)
        elif is_array(data) and data and all(map(is_object, data)):  # a list of records
            walk({key: [record.get(key) for record in data] for key in dict.fromkeys(k for r in data for k in r)}, name)
        elif is_array(data):
            texts = all(isinstance(value, str) or value is None for value in data)
            with contextlib.suppress(ValueError, TypeError, OverflowError):
                numbers = [math.nan if value is None else value for value in data]
                columns[name] = np.array(data, object) if texts else np.array(numbers, np.float64)

    walk(data, "")
    lengths = Counter(map(len, columns.values()))
    usual = max(lengths, key=lambda length: (lengths[length], length), default=0)
    columns = {name: values for name, values in columns.items() if len(values) == usual}
    if len(columns) < 2:
        raise InputError("there are no two arrays of the same length")
    return ArrayTable(columns)


OPENERS = {
    **{".csv": TextTable, ".tsv": TextTable, ".json": _open_json},
    **{".npz": _open_npz, ".parquet": _open_parquet},
}
"""Ending of a file to the function that opens its table."""
