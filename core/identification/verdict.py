"""Answer of an identification about a model: its error, the strength of the evidence, the warnings, the next step.

Window, report, terminal and notebook show the same answer in the same words. This module has data and text only;
`cautions.answer_about` makes the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from core.base.units import milliradians
from core.base.words import capitalised, counted
from core.identification.choice.recommendation import CROSS_VALIDATION
from core.identification.choice.rule import FEW_RUNS
from core.identification.coverage.findings import Diagnosis, Finding

Strength = Literal["none", "weak", "good", "strong"]

EXHAUSTED, GOOD = 2.0, 5.0
"""Multiples of the attainable error up to which a model leaves nothing to explain, and is good.

On unseen repetitions, even a perfect model errs by √2 times the difference of two repetitions from their median.
"""


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
    diagnosis: Diagnosis | None = None
    """Findings of the runs; None if they were not examined."""

    @property
    def multiple(self) -> float | None:
        """Error over the error that the runs allow; None if that is unknown."""
        return None if self.diagnosis is None else self.error / self.diagnosis.attainable

    @property
    def quality(self) -> str:
        """Sentence about the error as a multiple of what the runs allow; empty if that is unknown."""
        if self.diagnosis is None or self.multiple is None or not math.isfinite(self.multiple):
            return ""
        attainable = self.diagnosis.attainable
        if attainable == self.diagnosis.repeatability:
            source = "by which repetitions differ"
        else:
            source = "of the encoder's rounding" if attainable == self.diagnosis.rounding else "of the readings' noise"
        times = f"{self.multiple:.0f}" if self.multiple >= 10.0 else f"{self.multiple:.2g}"
        text = f"{times} times the {milliradians(attainable)} mrad {source}"
        if self.multiple <= EXHAUSTED:
            return f"{text}: nothing is left to explain."
        if self.multiple <= GOOD:
            return f"{text}: good."
        if self.diagnosis.cause is not None:
            return f"{text}: a warning names a likely cause."
        if math.isnan(self.diagnosis.repeatability):
            return f"{text}; record a motion twice to see how much of it the servo does not repeat."
        return f"{text}: the model leaves something unexplained."

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


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Verdict on one model of an identification, and what to know before it is used."""

    verdict: Verdict
    warnings: tuple[Finding, ...]
    """Errors, warnings and notes, the one with the largest possible effect first."""

    @property
    def next_step(self) -> str:
        """Sentence about the next step: the remedy of the first warning that has one."""
        step = self.first.remedy if self.first is not None else "use the model: there are no objections"
        return f"{capitalised(step)}."

    @property
    def first(self) -> Finding | None:
        """Warning that decides the next step, or None."""
        return next((found for found in self.warnings if found.severity != "note" and found.remedy), None)
