"""What a reader should know before trusting the numbers, each with its remedy, the gravest first."""

from __future__ import annotations

import math

from bench_gui.report.examined import Examination
from core.identification.coverage.findings import Finding, ordered
from core.identification.request import IdentificationRequest
from core.identification.result import step_cost
from core.identification.timestep import SEARCH_SHARE, expected_error
from core.model import ServoModel

UNSEEN = 1.5
"""Validation error over training error from which a fit is called too close to its runs."""


def warnings_of(seen: Examination) -> tuple[Finding, ...]:
    """Errors, warnings and notes about the result as a whole; notes on single runs stay in their sections."""
    found, best = seen.contents.found, seen.contents.found.recommended
    name = best.model.friction.upper()
    # What runs lack is said by the evidence already, in the same words.
    covered = seen.coverage.value.findings if seen.coverage.value is not None else ()
    return ordered(
        [
            *(_warning("remark", text) for text in seen.contents.remarks),
            *([_stopped()] if found.stopped else []),
            *(f for f in covered if f.severity != "note" and f.kind != "conditions"),
            *(doubt.finding() for doubt in seen.doubts.value or ()),
            *(_warning("evidence", f"{name}: {text}") for text in best.evidence.warnings),
            *_about_errors(seen),
            *_about_search(seen),
            *(seen.residuals.value.hints if seen.residuals.value is not None else ()),
        ]
    )


def _about_errors(seen: Examination) -> list[Finding]:
    best = seen.contents.found.recommended
    held, cost = best.validation_mae, step_cost(best.model)
    found = []
    if held is None:
        found.append(
            _warning(
                "split",
                "no recording was held out: the error on motion the fit has not seen is not known",
                "identify with --validation 25%, or with a condition such as --validation kp=200",
            )
        )
    elif not math.isfinite(held) or held > UNSEEN * best.train_mae:
        found.append(
            _warning(
                "split",
                f"the error on runs held out is {held / best.train_mae:.2g} times that on runs trained on"
                if math.isfinite(held)
                else "the simulation of a held-out run diverges",
                "record more conditions, or use a simpler model",
            )
        )
    if cost is not None and cost > SEARCH_SHARE * expected_error(best.model, best.train_mae):
        found.append(
            _warning(
                "time_step",
                f"the simulation step costs {1e3 * cost:.2f} mrad, more than a tenth of the error: the values hold for "
                "this step only",
                _finer_step(best.model, seen.contents.found.request),
            )
        )
    return found


def _finer_step(model: ServoModel, request: IdentificationRequest) -> str:
    if not model.leapfrog:
        return "identify with the second-order step: leave out --integrator (“leapfrog” in the window)"
    if request.substeps is not None:
        return "leave out --substeps (“automatic” in the window): as many are taken as the fit needs"
    return f"identify with --substeps {2 * model.substeps} or more (“Substeps” in the window)"


def _about_search(seen: Examination) -> list[Finding]:
    """Searches that were still falling at their end, and repeats that disagree."""
    best = seen.contents.found.recommended
    name = best.model.friction
    late = [trace for trace in seen.traces.value or () if trace.friction == name and trace.late]
    found = []
    if late and len(late) == len([trace for trace in seen.traces.value or () if trace.friction == name]):
        found.append(
            _warning(
                "search",
                f"the search of {name.upper()} was still falling by more than 1 % in its last tenth "
                f"({late[0].total} evaluations)",
                "identify with more trials (--trials)",
            )
        )
    spread = best.spread
    if spread is not None and spread > 0.05 * best.train_mae:
        found.append(
            _warning(
                "repeats",
                f"repeated searches of {name.upper()} end {1e3 * spread:.2f} mrad apart",
                "identify with more trials; parameters of a search that has not arrived mean little",
            )
        )
    return found


def _stopped() -> Finding:
    return _warning("stopped", "the identification was stopped before its end", "go on with --resume")


def _warning(kind: str, text: str, remedy: str = "") -> Finding:
    return Finding(kind=kind, severity="warning", text=text, remedy=remedy)
