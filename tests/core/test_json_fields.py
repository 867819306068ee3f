"""Dataclasses as JSON data and back: every kind of field, with numbers that are unknown, infinite or nought."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest

from core.base.arrays import Array
from core.base.json_fields import ArrayOrInfinite, OrInfinite, OrUnknown, from_plain, plain, plain_fields
from core.base.sealed import parse_sealed, sealed_text


@dataclass(frozen=True)
class Part:
    name: str
    count: int = 1


class Own:
    """Has a form of its own."""

    def __init__(self, value):
        self.value = value

    def to_json(self):
        return {"own": self.value}

    @classmethod
    def from_json(cls, data):
        return cls(data["own"])


@dataclass(frozen=True)
class Whole:
    text: str
    number: float
    width: OrInfinite
    ratio: OrUnknown
    flag: bool
    parts: tuple[Part, ...]
    pair: tuple[str, int]
    by_name: Mapping[str, Part]
    free: Mapping[str, Any]
    kind: Literal["a", "b"]
    own: Own
    row: Array
    limits: ArrayOrInfinite
    maybe: Part | None = None
    more: tuple[float, ...] = field(default=(0.5,))


WHOLE = Whole(
    text="größer", number=0.25, width=3.5, ratio=0.75, flag=True, parts=(Part("x", 2), Part("y", 3)), pair=("z", 4),
    by_name={"p": Part("q", 5)}, free={"r": [6, None]}, kind="b", own=Own(7), row=np.array([8.5, 9.5]),
    limits=np.array([10.5, 11.5]), maybe=Part("s", 12), more=(13.5, 14.5),
)  # fmt: skip


def there_and_back(whole):
    return from_plain(Whole, json.loads(json.dumps(plain(whole), allow_nan=False)))


def assert_same(found, expected):
    assert plain(found) == plain(expected)
    for name, value in vars(expected).items():
        assert type(getattr(found, name)) is type(value), name


def test_every_kind_of_field_comes_back():
    assert_same(there_and_back(WHOLE), WHOLE)
    assert there_and_back(WHOLE).own.value == 7


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("width", math.inf, math.inf),
        ("width", 0.0, 0.0),
        ("ratio", math.nan, math.nan),
        ("ratio", 0.0, 0.0),
        ("limits", np.array([0.0, math.inf]), [0.0, math.inf]),
        ("row", np.array([0.0, math.nan]), [0.0, math.nan]),
        ("maybe", None, None),
        ("flag", False, False),
        ("parts", (), ()),
    ],
)
def test_a_null_stands_for_what_its_field_says_and_nought_for_nought(name, value, expected):
    found = getattr(there_and_back(Whole(**{**vars(WHOLE), name: value})), name)
    if isinstance(value, (float, np.ndarray)):
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


def test_a_missing_entry_is_the_default_and_an_unknown_or_settled_one_is_not_read():
    data = plain(WHOLE)
    del data["maybe"], data["more"]
    found = from_plain(Whole, {**data, "later": 1}, text="settled")
    assert (found.maybe, found.more, found.text) == (None, (0.5,), "settled")
    assert set(plain_fields(WHOLE, besides=("row", "own"))) == set(data) - {"row", "own"} | {"maybe", "more"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("text", ...), ("pair", ["z"]), ("pair", ["z", 4, 5]), ("kind", "c"), ("number", "x"), ("parts", 3), ("own", {})],
)
def test_damaged_data_raise(name, value):
    data = {**plain(WHOLE), name: value}
    if value is ...:
        del data[name]
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        from_plain(Whole, data)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_object_of_an_array_has_a_seal_of_its_own(place):
    text = sealed_text([{"n": 10}, {"n": 11}, {"n": 12}])
    with pytest.raises(ValueError, match="damaged"):
        parse_sealed(text.replace(f'"n": {10 + place}', '"n": 13'))
