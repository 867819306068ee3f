"""Table of all evidence about each parameter: one row per parameter, one column per method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_gui.identify.fit.messages import FittedModel
from bench_gui.identify.tables import grade_tone
from bench_gui.widgets.text_table import Cell, Column, muted
from core.base.units import FIGURE_DASH, as_certain
from core.identification.choice.model_choice import CrossValidation
from core.identification.evidence.certainty import Certainty, ParameterCertainty
from core.identification.evidence.model import ParameterEvidence
from core.servo.terms import COMMAND_PATH, name_of

COLUMNS = (
    Column("Parameter", "Meaning of the parameter"),
    Column("Symbol", "Symbol used in the papers"),
    Column("Value", "Identified value", True),
    Column(
        "Linearised 95 %", "From the sensitivity of the motion; ∞ where these runs do not determine the value", True
    ),
    Column("Profile 95 %", "All other parameters are fitted again at each value; start it under Certainty", True),
    Column("Bootstrap 95 %", "From fits to resampled runs; start it under Certainty", True),
    Column("Held-out fits", "Smallest and largest value over the fits of the cross-validation", True),
    Column("Coverage", "Do the runs contain what the parameter needs? Start it under Coverage"),
    Column("Verdict", "Conclusion from all methods"),
)
TONES = {"good": "good", "weak": "moving", "none": "fault"}
"""Verdict of the coverage to a colour of the theme."""


def evidence_rows(
    row: FittedModel, certainty: Certainty | None, crossvalidation: CrossValidation | None, coverage: Mapping[str, Any]
) -> list[list[Cell]]:
    """Build the rows of COLUMNS for the free parameters of a model.

    Args:
        row: the model.
        certainty: profiles and bootstrap of this model, or None.
        crossvalidation: cross-validation of this model, or None.
        coverage: verdict and explanation by parameter name.
    """
    certain = {} if certainty is None else {p.name: p for p in certainty.parameters}
    ranges = {} if crossvalidation is None else _ranges(row, crossvalidation)
    parameters = () if row.evidence is None else row.evidence.parameters
    return [
        _row(p, row, certain.get(p.name), ranges.get(p.name), coverage.get(p.name)) for p in parameters if not p.frozen
    ]


def _row(
    p: ParameterEvidence,
    row: FittedModel,
    certain: ParameterCertainty | None,
    between: tuple[float, float] | None,
    covered: Mapping[str, Any] | None,
) -> list[Cell]:
    profile = None if certain is None else certain.profile
    spread = None if certain is None else certain.spread
    grade = p.grade
    contradiction = "" if certain is None else certain.contradiction
    warning = "" if row.evidence is None else row.evidence.about(p.name)
    remarks = () if certain is None else certain.remarks
    said = "; ".join(text for text in (warning, *remarks) if text)
    tone = "fault" if contradiction else grade_tone(grade) or ("moving" if said else "")
    unit = "" if p.unit == "1" else f" {p.unit}"
    cells = [
        Cell(name_of(p.name), p.name),
        Cell(p.symbol, p.name, tone),
        Cell(f"{grade.figure}{unit}", tone=tone),
        Cell(f"± {grade.width}" if grade.width[:1].isdigit() else grade.width),
        Cell(FIGURE_DASH, "Not profiled: start it under Certainty") if profile is None else Cell(profile.text),
        Cell(FIGURE_DASH, "No bootstrap: start it under Certainty") if spread is None else Cell(spread.text),
        Cell(FIGURE_DASH, "Not cross-validated: start it under Cross-validation")
        if between is None
        else Cell(" … ".join(as_certain(value, p.half_width) for value in between)),
        Cell(FIGURE_DASH, "Not checked: start it under Coverage")
        if covered is None
        else Cell(covered["verdict"], covered["text"], TONES[covered["verdict"]]),
        Cell("; ".join(text for text in (grade.note, said) if text), said, tone or "muted"),
    ]
    return muted(cells) if tone == "muted" else cells


def _ranges(row: FittedModel, found: CrossValidation) -> dict[str, tuple[float, float]]:
    """Smallest and largest value of each parameter over the fits of the same friction model."""
    path = set(COMMAND_PATH) & set(row.model.parameters)
    fits = [
        fit.model.values
        for fit in found.fits
        if fit.variant.friction == row.model.friction
        and fit.variant.contact == row.model.contact
        and set(fit.variant.command_path) == path
    ]
    if not fits:
        return {}
    return {name: (min(v[name] for v in fits), max(v[name] for v in fits)) for name in fits[0]}
