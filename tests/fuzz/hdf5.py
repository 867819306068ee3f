"""HDF5 files from recipes: a sound file, changed by a few edits that HDF5 itself writes.

Noise in a file of HDF5 rarely gets past its own checks; what a person with HDF5 at hand can write does. A recipe is a
row of bytes: each edit takes an opcode and what it needs, and a recipe that ends early ends there.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

HUGE = (0, 1, 3, 1000, 10**6, 49_999_999, 50_000_001, 2**31, 2**40, 2**62)
"""Lengths that a dataset without a byte of data may claim."""
LARGEST_ITEM = 256
"""Of a dataset with many of them [bytes]: making the file must not be what takes the memory."""
MOST_READ = 1 << 20
"""Of a dataset whose values are changed [bytes]."""
_WORDS = (b"", b"{}", b"[]", b"null", b"1e400", b"NaN", b'{"mass": 1e999, "length": 1}', b"servobench-run", b"\xff\xfe")
_TYPES = (
    "<f8",
    ">f8",
    "<f4",
    "u1",
    "<u4",
    "<i8",
    "S1",
    "S20000000",
    "?",
    "c16",
    "V16",
    [("time", "<f8"), ("x", "u1")],
)


class Recipe:
    """Bytes taken one after the other; zeros once they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> bool:
        """Whether there is more."""
        return self._at < len(self._data)

    def number(self, below: int) -> int:
        """A number from 0 to below."""
        value = self.word(2 if below > 256 else 1)
        return int.from_bytes(value, "little") % below

    def word(self, count: int) -> bytes:
        """So many bytes."""
        found = self._data[self._at : self._at + count]
        self._at += count
        return found.ljust(count, b"\0")

    def one_of(self, choices: Any) -> Any:
        """One of a sequence; None of an empty one."""
        return choices[self.number(len(choices))] if len(choices) else None


def cooked(base: bytes, recipe: bytes) -> bytes:
    """The file that a recipe makes of a sound one."""
    steps = Recipe(recipe)
    content = io.BytesIO(base)
    with h5py.File(content, "r+", libver="latest" if base[8] == 3 else None) as file:
        for _ in range(8):
            if not steps.left:
                break
            _EDITS[steps.number(len(_EDITS))](file, steps)
    return content.getvalue()


def _objects(file: h5py.File) -> list[Any]:
    found: list[Any] = [file]
    file.visititems(lambda _, item: found.append(item) or None)
    return found


def _parent(item: Any, file: h5py.File) -> tuple[Any, str]:
    parent, _, name = item.name.rpartition("/")
    return file[parent or "/"], name


def _suppressed(edit: Callable[[h5py.File, Recipe], None]) -> Callable[[h5py.File, Recipe], None]:
    """What HDF5 does not let anyone write is no edit."""

    def tried(file: h5py.File, steps: Recipe) -> None:
        try:
            edit(file, steps)
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError, OverflowError):
            return

    return tried


def _set_attribute(file: h5py.File, steps: Recipe) -> None:
    item = steps.one_of(_objects(file))
    name = steps.one_of([*sorted(item.attrs), "units", "x"])
    item.attrs[name] = _value(steps)


def _delete_attribute(file: h5py.File, steps: Recipe) -> None:
    item = steps.one_of(_objects(file))
    name = steps.one_of(sorted(item.attrs))
    if name is not None:
        del item.attrs[name]


def _delete_item(file: h5py.File, steps: Recipe) -> None:
    parent, name = _parent(steps.one_of(_objects(file)), file)
    del parent[name]


def _retype(file: h5py.File, steps: Recipe) -> None:
    """Put a dataset of another type or shape, of any size and without data, in the place of one."""
    parent, name = _parent(steps.one_of(_objects(file)[1:] or [file]), file)
    kind, length, layout = np.dtype(steps.one_of(_TYPES)), steps.one_of(HUGE), steps.number(4)
    old = parent.get(name)
    if layout and isinstance(old, h5py.Dataset):
        kind = old.dtype
    if kind.itemsize > LARGEST_ITEM and layout != 2:
        return
    del parent[name]
    if layout == 3:
        parent.create_dataset(name, (length,), kind, chunks=(max(1, min(length, 16)),), compression="gzip")
    else:
        shape: tuple[int, ...] = ((length,), (length,), (), (2, length))[layout]
        chunks = tuple(min(side, 1024) for side in shape) if shape and all(shape) else None
        parent.create_dataset(name, shape, kind, chunks=chunks)


def _bomb(file: h5py.File, steps: Recipe) -> None:
    """A dataset of some megabytes in some hundred bytes."""
    parent, name = _parent(steps.one_of(_objects(file)[1:] or [file]), file)
    old = parent.get(name)
    kind = old.dtype if isinstance(old, h5py.Dataset) else np.dtype("<f8")
    if kind.itemsize > LARGEST_ITEM:
        return
    del parent[name]
    count = steps.one_of((1000, 100_000, 1_000_000))
    parent.create_dataset(name, data=np.zeros(count, kind), chunks=(min(count, 100_000),), compression="gzip")


def _change_values(file: h5py.File, steps: Recipe) -> None:
    datasets = [
        item
        for item in _objects(file)
        if isinstance(item, h5py.Dataset) and item.ndim == 1 and 0 < item.nbytes < MOST_READ
    ]
    dataset = steps.one_of(datasets)
    if dataset is not None:
        values = dataset[()]
        raw = bytearray(values.tobytes())
        raw[steps.number(len(raw))] ^= 1 + steps.number(255)
        dataset[...] = np.frombuffer(bytes(raw), values.dtype)


def _link(file: h5py.File, steps: Recipe) -> None:
    parent, name = _parent(steps.one_of(_objects(file)[1:] or [file]), file)
    kind = steps.number(4)
    target = steps.one_of([item.name for item in _objects(file)])
    if kind == 3:
        file[f"{target.rstrip('/')}/again"] = file[target]
        return
    del parent[name]
    parent[name] = (h5py.SoftLink(target), h5py.ExternalLink("/etc/passwd", target), h5py.SoftLink(f"/{name}"))[kind]


def _elsewhere(file: h5py.File, steps: Recipe) -> None:
    """A dataset whose values lie in another file."""
    parent, name = _parent(steps.one_of(_objects(file)[1:] or [file]), file)
    del parent[name]
    length = steps.one_of(HUGE[:5])
    if steps.number(2):
        parent.create_dataset(name, (length,), "<f8", external=[("/dev/zero", 0, 8 * length)])
    else:
        layout = h5py.VirtualLayout(shape=(length,), dtype="<f8")
        layout[:] = h5py.VirtualSource(".", file.name, shape=(length,))
        parent.create_virtual_dataset(name, layout)


def _value(steps: Recipe) -> Any:
    """A value that an attribute may have."""
    kind = steps.number(10)
    if kind == 0:
        return steps.one_of((0, 1, -1, 2, 10**9, 2**63 - 1, 0.0, -0.0, np.nan, np.inf, 1e308))
    if kind == 1:
        return steps.one_of(_WORDS)
    if kind == 2:
        return np.bytes_(steps.word(1 + steps.number(16)))
    if kind == 3:
        return np.zeros(steps.number(64), steps.one_of(_TYPES[:6]))
    if kind == 4:
        return h5py.Empty(steps.one_of(_TYPES[:6]))
    if kind == 5:
        return np.array(["a", "b"], dtype=h5py.string_dtype())
    if kind == 6:
        return steps.one_of((np.uint8(255), np.float32(1.5), np.int8(-1), np.True_, np.uint64(2**64 - 1), 1 + 2j))
    if kind == 7:
        return steps.word(steps.number(60_000) + 1).hex()[:60_000]
    if kind == 8:
        return steps.one_of(
            ("[" * 20_000, '{"a":' * 9000, "9" * 5000, '{"mass": NaN, "length": 1' + "0" * 400 + "}", "\ud800x"[1:])
        )
    return np.void(steps.word(8))


_EDITS = tuple(
    map(
        _suppressed,
        (
            _set_attribute,
            _set_attribute,
            _delete_attribute,
            _delete_item,
            _retype,
            _bomb,
            _change_values,
            _link,
            _elsewhere,
        ),
    )
)
