"""Result of an identification in four facts: the model, its error, the strength of the evidence, and the next step.

Window, report and command line show the same facts. This module has data and text only.
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
    """Recommended model, and how far to trust it."""

    friction: str
    error: float
    """Mean absolute error [rad] on held-out runs, or on the training runs if none were held out."""
    judged_by: str
    """Runs of this error, e.g. "2 held-out runs"."""
    strength: Strength
    """Strength of the evidence for the model and its error."""
    reason: str
    """Reason for the strength, e.g. "only 2 runs were held out"."""
    next_step: str
    """Next step, one sentence."""


def verdict(found: Identification, warnings: Sequence[Finding]) -> Verdict:
    """Summarise an identification; `warnings` about it come with the largest possible effect first."""
    best, held, trained = found.recommended, found.split.validation, found.split.train
    strength, reason = _evidence(found)
    step = next((warning.remedy for warning in warnings if warning.severity != "note" and warning.remedy), "")
    return Verdict(
        friction=best.model.friction,
        error=best.train_mae if best.validation_mae is None else best.validation_mae,
        judged_by=counted(len(held), "held-out run") if held else f"{counted(len(trained), 'run')}used for training",
        strength=strength,
        reason=reason,
        next_step=f"{capitalised(step or 'use the model: there are no objections')}.",
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
