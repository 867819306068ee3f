"""Recommendation of one of the identified models, and the evidence for it.

Conditions held out as a whole show how a model transfers to unseen ones, and their errors have a standard error. A
share of the runs held out once shows neither. A cross-validation therefore takes precedence over the split of an
identification if it scored the identified models.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.base.errors import IdentificationError
from core.identification.choice.model_choice import CrossValidation, Variant
from core.identification.choice.rule import Contender, choice_in_words, listed, lowest, recommended
from core.servo.terms import CHOSEN_TERMS

CROSS_VALIDATION, VALIDATION, TRAINING = "cross-validation", "validation", "training"
"""Evidence of a recommendation, the best first."""


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """Recommended model."""

    friction: str
    by: str
    """CROSS_VALIDATION, VALIDATION (the held-out runs of one split) or TRAINING (no run was held out)."""
    text: str
    """Explanation: the model, the evidence, and others that are as good."""


def recommend(
    contenders: Sequence[Contender],
    crossvalidation: CrossValidation | None = None,
    *,
    command_path: Sequence[str] = (),
    runs: Collection[str] = (),
    stopped: bool = False,
) -> Recommendation:
    """Recommend one of the contenders, by a cross-validation of the same servo if it scored any of them.

    Args:
        contenders: Models of an identification.
        crossvalidation: Cross-validation of the same servo.
        command_path: Command path of the contenders.
        runs: Ids of the runs with which they were identified and scored.
        stopped: True if the contenders are what a stopped identification found so far. The lowest error then counts,
            since a simpler model that is as good can only be named once all are fitted.
    """
    own = lowest(contenders) if stopped else recommended(contenders)
    by_split = Recommendation(
        friction=own.friction,
        by=TRAINING if own.validation_mae is None else VALIDATION,
        text=choice_in_words(contenders, own),
    )
    if crossvalidation is None:
        return by_split
    # Contact and terms that the runs choose may differ.
    path, present = {*command_path} - {*CHOSEN_TERMS}, {contender.friction for contender in contenders}
    shared = [
        v for v in crossvalidation.variants if v.friction in present and {*v.command_path} - {*CHOSEN_TERMS} == path
    ]
    if not shared:
        return _noted(
            by_split, "The cross-validation includes none of these models: cross-validate them to choose by it."
        )
    try:
        choice, every = crossvalidation.among(shared).choice, crossvalidation.choice
    except IdentificationError as error:
        return _noted(by_split, f"The cross-validation does not help to choose: {error}.")
    found = Recommendation(
        friction=choice.chosen.friction, by=CROSS_VALIDATION, text=f"By cross-validation {choice.text}"
    )
    return _noted(found, *_reservations(crossvalidation, every.chosen, shared, present, runs))


def _reservations(
    crossvalidation: CrossValidation,
    chosen: Variant,
    shared: Sequence[Variant],
    present: set[str],
    runs: Collection[str],
) -> list[str]:
    """Return the limits of the cross-validation for these models, each with its remedy."""
    found: list[str] = []
    if chosen not in shared:
        found.append(f"Of all cross-validated models, {chosen.name} is the choice: identify it too.")
    if unjudged := sorted(present - {variant.friction for variant in shared}):
        names = listed([friction.upper() for friction in unjudged])
        found.append(f"{names} {'was' if len(unjudged) == 1 else 'were'} not cross-validated: do so to compare.")
    if runs and crossvalidation.runs != frozenset(runs):
        found.append("It used other runs than these models: cross-validate these runs.")
    return found


def _noted(found: Recommendation, *notes: str) -> Recommendation:
    return Recommendation(friction=found.friction, by=found.by, text=" ".join((found.text, *notes)))
