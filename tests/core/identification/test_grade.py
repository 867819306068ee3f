"""Grade of a value: the word and the digits follow the interval."""

from __future__ import annotations

import math

import pytest

from core.identification.evidence.grade import AT_LEAST, AT_MOST, GOOD, OPEN, WEAK, grade_of

CASES = {
    "planted": (1.1, 0.04, 0.5, 5.0, GOOD, "1.100 ± 0.040", "1.100", "0.040"),
    "no friction": (0.0003, 0.047, 0.0, 2.0, AT_MOST, "at most 0.047", "≤ 0.047", "–"),
    "resistance": (2.35, 1.3, 0.5, 8.0, WEAK, "2.4 ± 1.3, weak", "2.4", "1.3"),
    "Stribeck velocity": (1.87, 2.6, 0.005, 5.0, AT_MOST, "at most 4.5", "≤ 4.5", "–"),
    "lower bound": (0.6, 0.01, 0.6, 1.6, AT_MOST, "at most 0.61", "≤ 0.61", "–"),
    "upper bound": (0.06, 0.004, 0.0, 0.06, AT_LEAST, "at least 0.056", "≥ 0.056", "–"),
    "both bounds": (1.0, 0.6, 0.5, 1.5, OPEN, "1.0, not determined", "1.0", "∞"),
    "open": (1.0, math.inf, 0.5, 1.5, OPEN, "1.0, not determined", "1.0", "∞"),
    "a third": (3.0, 1.0, 0.0, 9.0, GOOD, "3.0 ± 1.0", "3.0", "1.0"),
    "more than a third": (3.0, 1.01, 0.0, 9.0, WEAK, "3.0 ± 1.0, weak", "3.0", "1.0"),
    "offset near 0": (0.0003, 0.0006, -0.2, 0.2, GOOD, "0.00030 ± 0.00060", "0.00030", "0.00060"),
    "unknown offset": (0.01, 0.024, -0.2, 0.2, WEAK, "0.010 ± 0.024, weak", "0.010", "0.024"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_grade_follows_the_interval(case: str) -> None:
    value, half_width, lower, upper, word, text, figure, width = CASES[case]
    grade = grade_of(value, half_width, lower, upper)
    assert (grade.word, grade.text, grade.figure, grade.width) == (word, text, figure, width)
    assert grade.determined == (word == GOOD)
