"""The answer of an identification in four facts: which model, how large its error, how strong the evidence, what next.

Window, report and command line show the same ones. Data and words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.identification.choice.recommendation import CROSS_VALIDATION
from core.identification.choice.words import FEW_RUNS
from core.identification.coverage.findings import Finding
from core.identification.result import Identification
from core.words import capitalised, counted

Strength = Literal["none", "weak", "good", "strong"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The recommended model and how far to trust it."""

    friction: str
    error: float
    """Mean absolute error on held-out runs, on the runs trained on where none were held out [rad]."""
    judged_by: str
    """The runs of this error, e.g. "2 held-out runs"."""
    strength: Strength
    """Of the evidence for the model and its error."""
    reason: str
    """Why the evidence is that strong, e.g. "only 2 runs were held out"."""
    next_step: str
    """One sentence."""


def verdict(found: Identification, warnings: Sequence[Finding]) -> Verdict:
    """Sum up an identification; warnings: about it, those that can cost the answer most first."""
    best, held, trained = found.recommended, found.split.validation, found.split.train
    strength, reason = _evidence(found)
    step = next((warning.remedy for warning in warnings if warning.severity != "note" and warning.remedy), "")
    return Verdict(
        friction=best.model.friction,
        error=best.train_mae if best.validation_mae is None else best.validation_mae,
        judged_by=counted(len(held), "held-out run") if held else f"{counted(len(trained), 'run')} trained on",
        strength=strength,
        reason=reason,
        next_step=f"{capitalised(step or 'use the model: nothing speaks against it')}.",
    )


def _evidence(found: Identification) -> tuple[Strength, str]:
    held, crossed = found.split.validation, found.crossvalidation
    if found.recommendation.by == CROSS_VALIDATION and crossed is not None:
        return "strong", f"each value of {', '.join(crossed.conditions)} was held out in turn"
    if not held:
        return "none", "no run was held out"
    if len(held) < FEW_RUNS:
        return "weak", f"only {counted(len(held), 'run was', 'runs were')} held out"
    return "good", f"{len(held)} runs were held out"
