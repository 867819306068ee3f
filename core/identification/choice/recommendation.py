"""Which of the identified models to use, and by what evidence.

Conditions held out whole say how a model transfers to one it has not seen, and their errors come with a standard error;
a share of the runs held out once says neither. So a cross-validation counts for more than the split an identification
came with, wherever it judged the models that were identified.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.errors import IdentificationError
from core.identification.choice.model_choice import CrossValidation, Variant
from core.identification.choice.words import Contender, choice_in_words, listed, recommended

CROSS_VALIDATION, VALIDATION, TRAINING = "cross-validation", "validation", "training"
"""What a recommendation can rest on, the best evidence first."""


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """One of the identified models."""

    friction: str
    by: str
    """CROSS_VALIDATION, VALIDATION (the runs one split held out) or TRAINING (no run was held out)."""
    text: str
    """Which one, on what evidence, and which others are as good."""


def recommend(
    contenders: Sequence[Contender],
    crossvalidation: CrossValidation | None = None,
    *,
    command_path: Sequence[str] = (),
    runs: Collection[str] = (),
) -> Recommendation:
    """Recommend one of the contenders, by a cross-validation of the same servo where it judged any of them.

    command_path: that of the contenders; runs: ids of those they were identified and judged with.
    """
    own = recommended(contenders)
    by_split = Recommendation(
        friction=own.friction,
        by=TRAINING if own.validation_mae is None else VALIDATION,
        text=choice_in_words(contenders),
    )
    if crossvalidation is None:
        return by_split
    path, present = set(command_path), {contender.friction for contender in contenders}
    shared = [v for v in crossvalidation.variants if v.friction in present and set(v.command_path) == path]
    if not shared:
        return _noted(
            by_split, "The cross-validation judged none of these models: cross-validate them to choose by it."
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
    """What the cross-validation does not say about these models, each with its remedy."""
    found: list[str] = []
    if chosen not in shared:
        found.append(f"Of all that was cross-validated {chosen.name} is the choice: identify it too.")
    if unjudged := sorted(present - {variant.friction for variant in shared}):
        names = listed([friction.upper() for friction in unjudged])
        found.append(f"{names} {'was' if len(unjudged) == 1 else 'were'} not cross-validated: do so to compare.")
    if runs and crossvalidation.runs != frozenset(runs):
        found.append("It was made of other runs than these models: cross-validate these runs.")
    return found


def _noted(found: Recommendation, *notes: str) -> Recommendation:
    return Recommendation(friction=found.friction, by=found.by, text=" ".join((found.text, *notes)))
