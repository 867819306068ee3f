"""What a file may hold where a number belongs: JSON has integers of any size and reads 1e400 as infinite."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, ModelError
from core.base.guards import finite_float, is_finite
from core.servo.bench import Bench
from core.servo.model import ServoModel

HUGE = 10**400


@given(st.one_of(st.integers(), st.floats(), st.integers(-HUGE, HUGE)))
def test_finite_is_what_a_float_holds(value):
    try:
        held = math.isfinite(float(value))
    except OverflowError:
        held = False

    assert is_finite(value) == held


@pytest.mark.parametrize("value", [True, None, "1", [1.0], HUGE, -HUGE, math.nan, math.inf])
def test_what_is_no_number_is_refused_by_a_bench(value):
    with pytest.raises(InputError, match="mass"):
        Bench(mass=value, length=0.1)


def test_numbers_of_json_beyond_a_float_are_refused():
    assert json.loads("[1e308]", parse_float=finite_float) == [1e308]
    with pytest.raises(ValueError, match="1e400"):
        json.loads("[1e400]", parse_float=finite_float)
    with pytest.raises(ModelError, match="1e400"):
        ServoModel.from_json_text('{"format": "servobench-model", "provenance": {"x": 1e400}}')
