"""Doubts about an identification, each with its remedy: those about all of it first, single values last."""

from __future__ import annotations

import math

from core.identification.choice.recommendation import VALIDATION
from core.identification.choice.words import FEW_RUNS
from core.identification.coverage.findings import Finding
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, step_cost
from core.identification.search.timestep import SEARCH_SHARE, expected_error
from core.model import EDITED_ENTRY, ServoModel
from core.sealed import EDITED

UNSEEN = 1.5
"""Validation error over training error from which a fit is called too close to its runs."""

DISAGREEING = 0.05
"""Repeated searches agree when their training errors differ by less than this share."""


def cautions(found: Identification) -> tuple[Finding, ...]:
    """Return what a person should know before using the recommended model."""
    best = found.recommended
    name = best.model.friction.upper()
    stopped = _warning("stopped", "the identification was stopped before its end", "continue with --resume")
    return (
        *([stopped] if found.stopped else []),
        *([_warning("edited", f"the file of {name} was {EDITED}")] if best.model.provenance.get(EDITED_ENTRY) else []),
        *_about_errors(found),
        *_about_choice(found),
        *_about_repeats(found),
        *(_warning("evidence", f"{name}: {text}") for text in best.evidence.warnings),
    )


def _about_errors(found: Identification) -> list[Finding]:
    best = found.recommended
    held, cost = best.validation_mae, step_cost(best.model)
    warnings: list[Finding] = []
    if held is None:
        warnings.append(
            _warning(
                "split",
                "no recording was held out: the error on motion the fit has not seen is not known",
                "identify with --validation 25%, or with a condition such as --validation kp=200",
            )
        )
    elif not math.isfinite(held) or held > UNSEEN * best.train_mae:
        warnings.append(
            _warning(
                "split",
                f"the error on runs held out is {held / best.train_mae:.2g} times that on runs trained on"
                if math.isfinite(held)
                else "the simulation of a held-out run diverges",
                "record more conditions, or use a simpler model",
            )
        )
    if cost is not None and cost > SEARCH_SHARE * expected_error(best.model, best.train_mae):
        warnings.append(
            _warning(
                "time_step",
                f"the simulation step costs {1e3 * cost:.2f} mrad, more than a tenth of the error: the values hold for "
                "this step only",
                _finer_step(best.model, found.request),
            )
        )
    return warnings


def _about_choice(found: Identification) -> list[Finding]:
    """Held-out runs too few to choose a model by."""
    held = len(found.split.validation)
    if found.recommendation.by != VALIDATION or held >= FEW_RUNS or len(found.results) < 2:
        return []
    runs = "1 held-out run is" if held == 1 else f"{held} held-out runs are"
    remedy = "bench crossvalidate holds out each condition in turn, and may choose another"
    return [_warning("choice", f"{runs} few to choose a model by", remedy)]


def _finer_step(model: ServoModel, request: IdentificationRequest) -> str:
    if not model.leapfrog:
        return "identify with the second-order step: leave out --integrator (“leapfrog” in the window)"
    if request.substeps is not None:
        return "leave out --substeps (“automatic” in the window): as many are taken as the fit needs"
    return f"identify with --substeps {2 * model.substeps} or more (“Substeps” in the window)"


def _about_repeats(found: Identification) -> list[Finding]:
    """Repeated searches that disagree."""
    best = found.recommended
    if best.spread is None or best.spread <= DISAGREEING * best.train_mae:
        return []
    return [
        _warning(
            "repeats",
            f"repeated searches of {best.model.friction.upper()} end {1e3 * best.spread:.2f} mrad apart",
            "identify with more trials; the values of a search that has not converged mean little",
        )
    ]


def _warning(kind: str, text: str, remedy: str = "") -> Finding:
    return Finding(kind=kind, severity="warning", text=text, remedy=remedy)
