"""Answer of an identification about a model: its error, the strength of the evidence, the warnings, the next step.

Window, report, terminal and notebook show the same answer in the same words and add no step of their own. This module
has data and text only; `cautions.answer_about` makes the answer.
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

Strength = Literal["weak", "fair", "good"]
"""No or too few runs were held out; enough were; or the models were cross-validated on held-out conditions."""

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
    piece: float = 0.0
    """Time after which the simulation restarts from the measured state [s]; 0 for never."""

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
            return f"{text}; how well the servo repeats a motion is unknown."
        return f"{text}: the model leaves something unexplained."

    @property
    def strength(self) -> Strength:
        """Strength of the evidence for the error and for the choice between models."""
        if self.by == CROSS_VALIDATION:
            return "good"
        return "weak" if self.held_out < FEW_RUNS else "fair"

    @property
    def judged_by(self) -> str:
        """Runs of the error, e.g. "held-out runs"."""
        return "held-out runs" if self.held_out else "the runs it was fitted to"

    @property
    def reason(self) -> str:
        """Reason for the strength, e.g. "only 1 held-out run"."""
        if self.by == CROSS_VALIDATION:
            return "cross-validated on held-out conditions"
        runs = counted(self.held_out, "held-out run") if self.held_out else "no run was held out"
        return f"only {runs}" if 0 < self.held_out < FEW_RUNS else runs

    @property
    def headline(self) -> str:
        """Model and error, e.g. "M6 · 2.62 mrad on held-out runs"."""
        pieces = f", in pieces of {self.piece:g} s" if self.piece else ""
        return f"{self.friction.upper()} · {milliradians(self.error)} mrad on {self.judged_by}{pieces}"

    @property
    def evidence(self) -> str:
        """Sentence about the evidence, e.g. "Weak evidence: only 1 held-out run."."""
        return f"{capitalised(self.strength)} evidence: {self.reason}."


@dataclass(frozen=True, kw_only=True)
class Step:
    """Next step: what carries it out, and what a person reads."""

    action: str
    """Action of `core…coverage.findings`; empty for a step that only a person can take."""
    subject: str = ""
    """Argument of the action, see `Finding.subject`."""
    label: str
    """Text of its button, e.g. "Hold out kp = 400"."""
    text: str
    """Sentence, with the reason unless only the warning explains it."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Verdict on one model of an identification, and what to know before it is used."""

    verdict: Verdict
    warnings: tuple[Finding, ...]
    """Errors, warnings and notes, the one with the largest possible effect first."""

    step: Step
    """The next step: the remedy of the first warning that has one, or the export."""

    @property
    def next_step(self) -> str:
        """Sentence about the next step."""
        return self.step.text
