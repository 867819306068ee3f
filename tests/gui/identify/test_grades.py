"""Window, report and files grade a value by one rule."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from bench_gui.headless.report.parameters import parameter_rows as report_rows
from bench_gui.identify.tables import INTERVAL_COLUMN, NOTE_COLUMN, VALUE_COLUMN, badge, parameter_rows
from core.identification.evidence.certainty import FLAGGED, ParameterCertainty, parameters_named
from core.identification.evidence.grade import AT_LEAST, FROZEN, GOOD, LEFT_OUT, OPEN, WEAK
from core.identification.evidence.model import NORMAL_95, Evidence, ParameterEvidence
from core.identification.result import ModelResult
from core.servo.model import ServoModel, build_model


def evidence_of(model: ServoModel) -> Evidence:
    """Evidence with one parameter of each grade, then good ones."""
    shares = (0.1, 0.6, 1.5, math.inf)
    known = []
    for place, p in enumerate(model.parameters.values()):
        width = abs(p.value or p.upper) * (shares[place] if place < len(shares) else 0.01)
        value = p.value or 0.5 * (p.lower + p.upper)
        at_bound = "upper" if place == 5 else ""
        known.append(
            ParameterEvidence(
                name=p.name, symbol=p.symbol, unit=p.unit, value=p.upper if at_bound else value, initial=p.value,
                lower=p.lower, upper=p.upper, frozen=place == 4, at_bound=at_bound,
                standard_error=math.nan if place == 4 else width / NORMAL_95,
            )
        )  # fmt: skip
    return Evidence(parameters=tuple(known), conditions=(), noise=1e-3, samples=100, independent=50.0)


def test_window_report_and_files_use_the_one_rule() -> None:
    model = build_model("mx106", "m2")
    evidence = evidence_of(model)
    model = model.with_values({p.name: p.value for p in evidence.parameters})
    words = {p.grade.word for p in evidence.parameters}
    assert {GOOD, WEAK, OPEN, FROZEN, AT_LEAST} <= words
    result = ModelResult(model, 0.01, None, None, 1, 1.0, (), evidence)
    window = parameter_rows(list(model.parameters.values()), evidence, "")
    assert result.columns()["grade"] == [p.grade.word for p in evidence.parameters]
    for p, cells, row in zip(evidence.parameters, window, report_rows(result, None), strict=True):
        assert cells[VALUE_COLUMN].text == p.grade.figure
        assert cells[INTERVAL_COLUMN].text == (p.grade.width or "–")
        assert cells[NOTE_COLUMN].text.startswith(p.grade.note)
        assert (cells[VALUE_COLUMN].tone == "") == (p.grade.determined and not p.at_bound)
        assert (p.grade.note in row.flags) == (p.grade.word != GOOD)
        stored = p.to_json()
        assert (stored["grade"], stored["text"], stored["determined"]) == (
            p.grade.word, p.grade.text, p.grade.word in (GOOD, FROZEN),
        )  # fmt: skip
        assert ParameterEvidence.from_json(json.loads(json.dumps(stored | {"standard_error": None})))
        if not p.frozen:
            certain = ParameterCertainty(
                name=p.name, symbol=p.symbol, unit=p.unit, value=p.value, half_width=p.half_width,
                lowest=p.lower, highest=p.upper,
            )  # fmt: skip
            assert certain.grade == p.grade
    flagged = parameters_named(evidence, (FLAGGED,))
    assert flagged == tuple(p.name for p in evidence.parameters if not p.determined)


def test_a_term_that_is_left_out_has_no_number() -> None:
    p = next(p for p in evidence_of(build_model("mx106", "m1")).parameters if p.name == "kt")
    limit = replace(p, name="goal_slew", symbol="ω_max", value=1e9, lower=0.5, upper=9.0, frozen=True)
    assert (limit.grade.word, limit.grade.text, badge(limit)) == (LEFT_OUT, LEFT_OUT, LEFT_OUT)
    assert "left out" in limit.bound_warning
    assert replace(limit, value=5.0).grade.word == FROZEN
