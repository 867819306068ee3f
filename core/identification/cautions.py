"""Doubts about an identification, each with its remedy, ordered by their possible effect on the result.

Remedies name settings by their titles in the window and in reports, never by an option of a command.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from core.identification.choice.recommendation import VALIDATION
from core.identification.choice.words import FEW_RUNS
from core.identification.coverage.findings import Finding, ordered
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, step_cost
from core.identification.search.timestep import SEARCH_SHARE, expected_error
from core.model import EDITED_ENTRY, ServoModel
from core.sealed import EDITED

UNSEEN = 1.5
"""Ratio of validation to training error from which a fit counts as overfitted to its runs."""

DISAGREEING = 0.05
"""Repeated searches agree if their training errors differ by less than this share."""

COSTS = (
    ("remark", "edited", "stopped"),
    ("unusable", "sign", "header_"),
    ("search", "repeats"),
    ("elsewhere", "split", "choice", "time_step"),
    ("spike", "freeze", "step", "gap", "jitter", "encoder", "velocity_lag", "repetition"),
    ("conditions", "evidence", "term"),
    ("residual_",),
)
"""Prefixes of the kinds of findings, by what a doubt may affect.

The largest effect comes first: the result itself, all runs, a better fit, motion the fit has not seen, some runs,
single values, physics that the model lacks.
"""


def by_cost(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort errors first, then warnings, then notes; within each, the largest possible effect first (COSTS)."""

    def cost(finding: Finding) -> int:
        return next((place for place, kinds in enumerate(COSTS) if finding.kind.startswith(kinds)), len(COSTS))

    return ordered(sorted(findings, key=cost))


def cautions(found: Identification) -> tuple[Finding, ...]:
    """Return what the user should know before using the recommended model."""
    best = found.recommended
    name = best.model.friction.upper()
    stopped = _warning("stopped", "the identification was stopped before its end", "resume it")
    edited = _warning("edited", f"the file of {name} was {EDITED}", "identify again")
    evidence = best.evidence
    kinds = {evidence.elsewhere: "elsewhere", evidence.search: "search"}
    return by_cost(
        [
            *([stopped] if found.stopped else []),
            *([edited] if best.model.provenance.get(EDITED_ENTRY) else []),
            *_about_errors(found),
            *_about_choice(found),
            *_about_repeats(found),
            *(_about_evidence(name, text, kinds.get(text, "evidence")) for text in evidence.warnings),
        ]
    )


def _about_evidence(name: str, text: str, kind: str) -> Finding:
    doubt, _, remedy = text.partition(": ")
    return _warning(kind, f"{name}: {doubt}", remedy)


def _about_errors(found: Identification) -> list[Finding]:
    best = found.recommended
    held, cost = best.validation_mae, step_cost(best.model)
    warnings: list[Finding] = []
    if held is None:
        warnings.append(
            _warning(
                "split",
                "no run was held out, so the error on unseen motion is unknown",
                "hold out a quarter of the runs, or one condition, and identify again",
            )
        )
    elif not math.isfinite(held) or held > UNSEEN * best.train_mae:
        warnings.append(
            _warning(
                "split",
                f"the error on held-out runs is {held / best.train_mae:.2g} times that on training runs"
                if math.isfinite(held)
                else "the simulation of a held-out run diverges",
                "record more conditions, or use a simpler model",
            )
        )
    if cost is not None and cost > SEARCH_SHARE * expected_error(best.model, best.train_mae):
        warnings.append(
            _warning(
                "time_step",
                f"the time step costs {1e3 * cost:.2f} mrad, more than a tenth of the error: the values are valid for "
                "this time step only",
                _finer_step(best.model, found.request),
            )
        )
    return warnings


def _about_choice(found: Identification) -> list[Finding]:
    """Return a doubt if there are too few held-out runs to choose a model."""
    held = len(found.split.validation)
    if found.recommendation.by != VALIDATION or held >= FEW_RUNS or len(found.results) < 2:
        return []
    runs = "1 held-out run is" if held == 1 else f"{held} held-out runs are"
    remedy = "cross-validate: it holds out each condition in turn, and may choose another model"
    return [_warning("choice", f"{runs} too few to choose a model", remedy)]


def _finer_step(model: ServoModel, request: IdentificationRequest) -> str:
    if not model.leapfrog:
        return "identify with the leapfrog integrator, which is of second order"
    if request.substeps is not None:
        return "leave the substeps automatic, so that the fit takes as many as it needs"
    return f"identify with {2 * model.substeps} substeps or more"


def _about_repeats(found: Identification) -> list[Finding]:
    """Return a doubt if repeated searches disagree."""
    best = found.recommended
    if best.spread is None or best.spread <= DISAGREEING * best.train_mae:
        return []
    return [
        _warning(
            "repeats",
            f"repeated searches of {best.model.friction.upper()} end {1e3 * best.spread:.2f} mrad apart",
            "identify with more evaluations; the values of an unconverged search mean little",
        )
    ]


def _warning(kind: str, text: str, remedy: str = "") -> Finding:
    return Finding(kind=kind, severity="warning", text=text, remedy=remedy)
