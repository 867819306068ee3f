"""ROS bags as tables: ROS 2 (.db3, .mcap, or their folder) and ROS 1 (.bag), read as a stream.

A row is a message, in the order of arrival, and has values in the columns of its topic only. Columns are `time` and the
numbers of each topic: `/goal/data`, `/command/data[2]`, and for messages that name their elements, such as JointState,
`/joint_states/position[elbow]`.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Generator, Iterator, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.guards import is_array
from sessions.errors import cause, shown

ENDINGS = (".bag", ".db3", ".mcap")
METADATA = "metadata.yaml"
TIME = "time"
NAMED_BY = ("name", "joint_names", "interface_names")
"""Fields that name the elements of the arrays beside them."""
MOST_ELEMENTS = 200
DEEPEST = 4


class BagTable:
    """The messages of a bag, see `sessions.importers.tables.Table`."""

    note, units = "", ()

    def __init__(self, path: Path) -> None:
        """Find the columns in the first message of each topic.

        Raises:
            InputError: if the bag cannot be read or holds no numbers.
        """
        self._path = path
        self._topics: dict[str, str] = {}
        with self._opened() as bag:
            for connection in bag.connections:
                first = next(self._messages(bag, [connection]), None)
                for name in () if first is None else dict(_numbers(connection.topic, first[1])):
                    self._topics.setdefault(name, connection.topic)
        self.names = (TIME, *self._topics)
        if not self._topics:
            raise InputError("no topic of this bag has messages with numbers")

    def columns(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return these columns, see `Table`; only their topics are read."""
        found = [array("d") for name in names if name != TIME]
        wanted = {name: place for place, name in enumerate(name for name in names if name != TIME)}
        times = array("q")
        with self._opened() as bag:
            topics = {self._topics[name] for name in wanted}
            for time, message, topic in self._messages(bag, [c for c in bag.connections if c.topic in topics]):
                times.append(time)
                for column in found:
                    column.append(np.nan)
                for name, value in _numbers(topic, message):
                    if name in wanted:
                        found[wanted[name]][-1] = value
        columns = {name: np.array(found[place]) for name, place in wanted.items()}
        return {name: np.array(times).astype("datetime64[ns]") if name == TIME else columns[name] for name in names}

    def texts(self, name: str) -> NDArray[np.str_]:
        """Refuse: rows of different topics have no value in common.

        Raises:
            InputError: always.
        """
        raise InputError(f"messages of a bag cannot be chosen by {shown(name)}; name the topic in --columns")

    def head(self, count: int) -> list[list[str]]:
        """Return the first rows, see `Table`."""
        rows: list[list[str]] = []
        with self._opened() as bag:
            known = [connection for connection in bag.connections if connection.topic in self._topics.values()]
            for time, message, topic in islice(self._messages(bag, known), count):
                values = {TIME: str(time / 1e9), **{name: f"{value:.9g}" for name, value in _numbers(topic, message)}}
                rows.append([values.get(name, "") for name in self.names])
        return rows

    def place(self, index: int) -> str:
        """Return the position of a row, see `Table`."""
        return f"message {index + 1} of these topics"

    @contextlib.contextmanager
    def _opened(self) -> Generator[Any]:
        try:
            reader: Any = import_module("rosbags.highlevel")
            types: Any = import_module("rosbags.typesys")
        except ImportError:
            raise InputError("ROS bags need rosbags: pip install 'servobench[ros]'") from None
        try:
            with reader.AnyReader([self._path], default_typestore=types.get_typestore(types.Stores.LATEST)) as bag:
                yield bag
        except InputError:
            raise
        except Exception as error:  # the library's readers fail in a dozen ways on damaged files
            raise InputError(f"not a ROS bag, or a damaged one ({cause(error)})") from None

    def _messages(self, bag: Any, connections: Sequence[Any]) -> Iterator[tuple[int, Any, str]]:
        """Yield stamp of arrival [ns], message and topic."""
        for connection, time, data in bag.messages(connections=connections) if connections else ():
            yield time, bag.deserialize(data, connection.msgtype), connection.topic


def _numbers(name: str, value: Any, labels: Sequence[str] = (), depth: int = 0) -> Iterator[tuple[str, float]]:
    """Yield name and value of each number in a message or a part of one; labels: names of the elements of arrays."""
    if isinstance(value, bool | int | float):
        yield name, float(value)
    elif is_array(parts := value.tolist() if isinstance(value, np.ndarray) else value) and depth < DEEPEST:
        named = len(labels) == len(parts) and not any(map(is_dataclass, parts))
        for place, part in enumerate(parts if len(parts) <= MOST_ELEMENTS else ()):
            yield from _numbers(f"{name}[{labels[place] if named else place}]", part, labels, depth + 1)
    elif not isinstance(value, np.ndarray) and is_dataclass(value) and depth < DEEPEST:
        there = {field.name: getattr(value, field.name) for field in fields(value)}
        labels = next((there[key] for key in NAMED_BY if isinstance(there.get(key), list)), labels)
        for field, part in there.items():
            if not field.startswith("_") and field != "header":
                yield from _numbers(f"{name}/{field}", part, labels, depth + 1)
