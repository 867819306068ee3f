"""Rows of the parameter table, each with a bar that shows the interval between the bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.identification.evidence.grade import GOOD
from core.identification.evidence.model import ParameterEvidence
from core.identification.result import ModelResult
from core.servo.model import ServoModel
from core.servo.parameters import Parameter


@dataclass(frozen=True, kw_only=True)
class IntervalBar:
    """Positions on a bar from the lower to the upper bound, in per cent of its length."""

    left: float
    width: float
    value: float
    start: float
    open: bool
    """True if the interval is wider than the bounds."""


@dataclass(frozen=True, kw_only=True)
class ParameterRow:
    """Row of the parameter table."""

    parameter: Parameter
    evidence: ParameterEvidence
    truth: float | None
    flags: tuple[str, ...]
    """"at lower bound" or "at upper bound", and the grade of a value that is not good, e.g. "at most 0.047 N·m"."""
    bar: IntervalBar | None
    """Interval bar; None for a frozen parameter."""


def parameter_rows(result: ModelResult, truth: ServoModel | None) -> list[ParameterRow]:
    """Return a row per parameter, in the order of the model."""
    evidence = result.evidence
    known = truth.values if truth is not None else {}
    return [
        ParameterRow(
            parameter=parameter,
            evidence=evidence.of(name),
            truth=known.get(name),
            flags=_flags(evidence.of(name)),
            bar=_bar(evidence.of(name)),
        )
        for name, parameter in result.model.parameters.items()
    ]


def _flags(known: ParameterEvidence) -> tuple[str, ...]:
    bound = (f"at {known.at_bound} bound",) if known.at_bound else ()
    return bound if known.grade.word == GOOD else (*bound, known.grade.note)


def _bar(known: ParameterEvidence) -> IntervalBar | None:
    width = known.upper - known.lower
    if known.frozen or not width > 0.0:
        return None

    def place(value: float) -> float:
        return round(100.0 * min(max((value - known.lower) / width, 0.0), 1.0), 2)

    half = known.half_width if math.isfinite(known.half_width) else math.inf
    left, right = place(known.value - half), place(known.value + half)
    return IntervalBar(
        left=left,
        width=round(right - left, 2),
        value=place(known.value),
        start=place(known.initial),
        open=not known.narrowed,
    )
