"""Dataclasses as JSON data and back, by the names and types of their fields.

JSON has no infinity, so a number that is not finite is written as null. The field's type, `OrInfinite` or `OrUnknown`,
determines which number a null stands for when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from core.base.arrays import Array
from core.base.guards import is_object

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    D = TypeVar("D", bound=DataclassInstance)

OrInfinite = Annotated[float, math.inf]
OrUnknown = Annotated[float, math.nan]
ArrayOrInfinite = Annotated[Array, math.inf]


def plain(value: Any) -> Any:
    """Return a value as JSON data: a dataclass by its `to_json` or else by its fields."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return plain_fields(value)
    if is_object(value):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(cast(Array, value).tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[Any]", value)]
    return value


def plain_fields(record: DataclassInstance, besides: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON data, except those named in `besides`."""
    return {f.name: plain(getattr(record, f.name)) for f in fields(record) if f.name not in besides}


def from_plain(kind: type[D], data: Mapping[str, Any], **settled: Any) -> D:
    """Return the dataclass of this kind whose `plain_fields` are the data.

    A missing entry leaves its field's default; an unknown entry is ignored. Call it within `reading_json`, since
    damaged data raise one of the errors below.

    Args:
        kind: The dataclass.
        data: JSON data.
        settled: Values of fields that are not read from the data.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: The data are damaged.
    """
    types = _types(kind)
    read = {
        field.name: _value(types[field.name], data[field.name])
        for field in fields(kind)
        if field.name not in settled and (field.name in data or _is_needed(field))
    }
    return kind(**read, **settled)


def _value(kind: Any, data: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated and get_origin(parts[0]) is np.ndarray:
        values = np.array(data, dtype=np.float64)  # null becomes NaN
        return np.where(np.isnan(values), parts[1], values)
    if origin is Annotated:
        return parts[1] if data is None else float(data)
    if origin is np.ndarray:
        return np.array(data, dtype=np.float64)
    if origin is UnionType:
        return None if data is None else _value(parts[0], data)
    if origin is tuple and parts[1:] == (...,):
        return tuple(_value(parts[0], item) for item in data)
    if origin is tuple:
        return tuple(_value(part, item) for part, item in zip(parts, data, strict=True))
    if origin is Mapping and parts != (str, Any):
        return {str(name): _value(parts[1], item) for name, item in data.items()}
    if origin is Literal and data not in parts:
        raise ValueError(f"{data!r} is none of {', '.join(map(str, parts))}")
    if kind in (str, int, float, bool):
        return kind(data)
    if hasattr(kind, "from_json"):
        return kind.from_json(data)
    return from_plain(cast("type[DataclassInstance]", kind), data) if is_dataclass(kind) else data


def _is_needed(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
