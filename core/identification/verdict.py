"""Result of an identification in four facts: the model, its error, the strength of the evidence, and the next step.

Window and report show the same facts in the same words. This module has data and text only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.identification.choice.recommendation import CROSS_VALIDATION
from core.identification.choice.words import FEW_RUNS
from core.identification.coverage.findings import Finding
from core.identification.result import Identification
from core.model import ServoModel
from core.units import milliradians
from core.words import capitalised, counted

Strength = Literal["none", "weak", "good", "strong"]

FAR = 3.0
"""Placed points with more than this many times the error of the runs contradict them."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Error of a model, and how far to trust it."""

    friction: str
    error: float
    """Mean absolute error [rad] on held-out runs, or on the training runs if none were held out."""
    held_out: int
    """Number of held-out runs."""
    by: str
    """Evidence of the recommendation: CROSS_VALIDATION, VALIDATION or TRAINING of `core…choice.recommendation`."""

    @property
    def strength(self) -> Strength:
        """Strength of the evidence for the error and for the choice between models."""
        if self.by == CROSS_VALIDATION:
            return "strong"
        if not self.held_out:
            return "none"
        return "weak" if self.held_out < FEW_RUNS else "good"

    @property
    def judged_by(self) -> str:
        """Runs of the error, e.g. "held-out runs"."""
        return "held-out runs" if self.held_out else "the runs it was fitted to"

    @property
    def reason(self) -> str:
        """Reason for the strength, e.g. "1 held-out run"."""
        if self.by == CROSS_VALIDATION:
            return "cross-validated on held-out conditions"
        return counted(self.held_out, "held-out run") if self.held_out else "no run was held out"

    @property
    def headline(self) -> str:
        """Model and error, e.g. "M6 · 2.62 mrad on held-out runs"."""
        return f"{self.friction.upper()} · {milliradians(self.error)} mrad on {self.judged_by}"

    @property
    def evidence(self) -> str:
        """Sentence about the evidence, e.g. "Weak evidence: 1 held-out run."."""
        strength = "No independent" if self.strength == "none" else capitalised(self.strength)
        return f"{strength} evidence: {self.reason}."


def verdict(found: Identification) -> Verdict:
    """Return the verdict on the recommended model."""
    best = found.recommended
    return Verdict(
        friction=best.model.friction,
        error=best.train_mae if best.validation_mae is None else best.validation_mae,
        held_out=len(found.split.validation),
        by=found.recommendation.by,
    )


def next_step(warnings: Sequence[Finding]) -> str:
    """Return a sentence about the next step; the warning with the largest possible effect comes first."""
    step = next((warning.remedy for warning in warnings if warning.severity != "note" and warning.remedy), "")
    return f"{capitalised(step or 'use the model: there are no objections')}."


def points_apart(model: ServoModel, train_mae: float) -> str:
    """Sentence about placed points whose error is far larger than that of the runs [rad]; empty if they agree."""
    points = model.provenance.get("placed_points")
    if not points or points["mean_error"] <= FAR * train_mae:
        return ""
    return (
        f"The {points['count']} placed points are off by {milliradians(points['mean_error'])} mrad, the runs by "
        f"{milliradians(train_mae)} mrad: measure the points again, or fit without them."
    )
