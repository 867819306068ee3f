"""Parameters and sets of them: vector and JSON round trips, bounds, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.servo.parameters import Parameter, ParameterSet

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


def make(name="kt", value=1.5, lower=1.0, upper=2.0, **changes):
    return Parameter(name=name, symbol="k", unit="N·m/A", value=value, lower=lower, upper=upper, **changes)


names = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)


@st.composite
def parameters(draw):
    lower, value, upper = sorted(draw(st.tuples(finite, finite, finite)))
    return Parameter(
        name=draw(names),
        symbol=draw(st.text(max_size=5)),
        unit=draw(st.text(max_size=5)),
        value=value,
        lower=lower,
        upper=upper,
        frozen=draw(st.booleans()),
        description=draw(st.text(max_size=20)),
    )


sets = st.lists(parameters(), max_size=8, unique_by=lambda p: p.name).map(ParameterSet)


@given(sets)
def test_json_round_trip(original):
    assert ParameterSet.from_json(original.to_json()) == original


@given(sets, st.randoms(use_true_random=False))
def test_vector_round_trip(original, random):
    vector = np.array([random.uniform(-1e3, 1e3) for _ in original.free])

    moved = original.with_vector(vector)

    np.testing.assert_array_equal(moved.vector(), vector)
    assert [p.name for p in moved.values()] == [p.name for p in original.values()]
    assert [p.value for p in moved.values() if p.frozen] == [p.value for p in original.values() if p.frozen]
    assert original.bounds().shape == (len(original.free), 2)
    assert original.with_vector(original.vector()) == original


def test_a_value_that_is_known_stays_beyond_the_bounds_of_a_search():
    both = ParameterSet([make("a"), make("b")]).frozen_at({"a": 7.0})
    for bounds in ({}, {"b": (1.6, 1.9)}, {"a": (1.6, 1.9), "b": (1.6, 1.9)}):
        moved = both.with_bounds(bounds)
        assert moved["a"].value == 7.0
        assert moved["b"].value == (1.6 if bounds else 1.5)


def test_frozen_parameters_leave_the_vector():
    both = ParameterSet([make("a"), make("b", value=1.2)])

    held = both.frozen_at({"a": 1.7})

    assert held.vector().tolist() == [1.2]
    assert held.numbers() == {"a": 1.7, "b": 1.2}
    assert held["a"].frozen
    assert both.vector().tolist() == [1.5, 1.2]


def test_wrong_vectors_and_names_are_refused():
    one = ParameterSet([make()])
    with pytest.raises(InputError, match="kt"):
        one.with_vector([1.0, 2.0])
    with pytest.raises(InputError, match="no parameter named 'R'"):
        one.with_values({"R": 1.0})


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "not a name"},
        {"lower": 3.0},
        {"lower": -math.inf},
        {"upper": math.nan},
        {"value": math.nan},
        {"value": math.inf},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        make(**wrong)


@pytest.mark.parametrize(
    ("value", "at_bound"), [(1.0, True), (1.0005, True), (1.002, False), (1.5, False), (1.9995, True), (2.0, True)]
)
def test_a_value_within_a_thousandth_of_the_interval_lies_at_its_bound(value, at_bound):
    assert make(value=value).at_bound is at_bound
    assert not make(value=value, frozen=True).at_bound


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"symbol": "k", "unit": "", "value": "many", "lower": 0, "upper": 1},
        {"symbol": "k", "unit": "", "value": 1.0, "lower": 2.0, "upper": 1.0},
        [],
        None,
    ],
)
def test_broken_json_is_refused(data):
    with pytest.raises(InputError):
        ParameterSet.from_json({"kt": data})


def test_sets_are_mappings():
    pair = ParameterSet([make("a"), make("b")])

    assert list(pair) == ["a", "b"]
    assert len(pair) == 2
    assert "a" in pair
    assert "c" not in pair
    assert hash(pair) == hash(ParameterSet([make("a"), make("b")]))
    assert pair != ParameterSet([make("b"), make("a")])
    assert "a=1.5 N·m/A" in repr(pair)
    assert make().with_value(1.8).value == 1.8


def test_a_set_is_an_object():
    with pytest.raises(InputError, match="object"):
        ParameterSet.from_json([1])  # pyright: ignore[reportArgumentType]
