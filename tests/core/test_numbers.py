"""Numbers as people type them: a point or a comma is the decimal sign, and digits are never grouped."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from core.base.numbers import decimal_text, number_parts, parse_number, parse_whole

FINITE = some.floats(allow_nan=False, allow_infinity=False)


@given(FINITE)
def test_a_comma_means_the_same_as_a_point(value):
    for text in (repr(value), f" {value:f} ", f"{value:e}".upper()):
        assert parse_number(text) == parse_number(text.replace(".", ",")) == float(text)
        assert float(decimal_text(text.replace(".", ",").replace("-", "−"))) == float(text)


@pytest.mark.parametrize(
    "text",
    [
        "1.000,5",
        "1,000.5",
        "1.000.000",
        "1,000,000",
        "1 000",
        "1\u202f000,5",
        "1'000.5",
        "1’000",
        "1_000",
        "0,5,",
        "..5",
    ],
)
def test_a_group_separator_is_refused_with_the_remedy(text):
    for parse in (parse_number, parse_whole):
        with pytest.raises(ValueError, match=r"is not a (whole )?number"):
            parse(text)


@pytest.mark.parametrize("text", ["", " ", ",", ".", "-", "e5", "1e", "nan", "inf", "1e999", "٣", "0x10", "5 kg"])
def test_text_that_is_no_finite_number_is_refused(text):
    for parse in (parse_number, parse_whole):
        with pytest.raises(ValueError, match="number"):
            parse(text)


@pytest.mark.parametrize("text", ["0,5", "2.0", "1,000", "1.000", "1e3"])
def test_a_whole_number_has_no_decimal_sign(text):
    assert math.isfinite(parse_number(text))
    with pytest.raises(ValueError, match="not a whole number"):
        parse_whole(text)


@given(some.integers())
def test_a_whole_number_takes_either_minus_sign(value):
    assert parse_whole(f" {value} ") == parse_whole(str(value).replace("-", "−")) == value


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0.5, 1, 1.5", ["0.5", "1", "1.5"]),
        ("0.5,1,1.5", ["0.5", "1", "1.5"]),
        ("0.125,0.25", ["0.125", "0.25"]),
        ("1,2,3", ["1", "2", "3"]),
        ("0,5; 1; 1,5", ["0,5", "1", "1,5"]),
        ("0.5; 1, 1.5", ["0.5", "1", "1.5"]),
        ("0,5;", ["0,5"]),
        ("0.3:0.9:0.1", ["0.3:0.9:0.1"]),
        ("2", ["2"]),
        ("", []),
    ],
)
def test_a_list_is_split_where_it_can_be_read_in_one_way(text, parts):
    assert number_parts(text) == parts


@pytest.mark.parametrize(
    "text",
    ["1,5", "-1,5", "0,5, 1", "0,5 ,1,5", "1,2, 3", "1,000", "1,000,000", "1,000.5", "1.000,5"],
)
def test_a_list_that_can_be_read_in_two_ways_is_refused(text):
    with pytest.raises(ValueError, match="separate the numbers by semicolons"):
        number_parts(text)
