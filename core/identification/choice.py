"""A choice between models in words, the same whichever way they were judged.

`evidence` judges on the runs one split held out, `model_choice` on every condition held out in turn, and
`recommendation` says which of the two counts. Data and words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A model up for choice."""

    name: str
    """For example "M6 + command path"."""
    error: float
    """Mean absolute error it was judged by [rad]."""
    shown: str
    """The error as text, in mrad."""
    parameters: int
    """Number of free parameters, or a rank by it: the fewer, the simpler."""


def in_words(chosen: Judged, others: Sequence[Judged], close: Sequence[Judged], *, judged_by: str, margin: str) -> str:
    """Which model is recommended, on what evidence, and which ones are as good: one to four sentences.

    close: those of the others that are as good; judged_by: what the errors are, e.g. "validation error on 4 held-out
    runs"; margin: what makes a model as good, e.g. "within 2 %".
    """
    if not others:
        return f"{chosen.name}: {judged_by} {chosen.shown} mrad; no other model was identified to compare it with."
    best = min((chosen, *others), key=lambda model: (model.error, model.parameters, model is not chosen))
    if best is chosen:
        sentences = [f"{chosen.name} is recommended: lowest {judged_by}, {chosen.shown} mrad."]
    else:
        sentences = [
            f"{chosen.name} is recommended: its {judged_by} is as good as that of {best.name}, which has more "
            f"parameters ({chosen.shown} against {best.shown} mrad)."
        ]
    rest = [model for model in close if model is not best]
    simpler = [model.name for model in rest if model.parameters < chosen.parameters]
    equal = [model.name for model in rest if model.parameters == chosen.parameters]
    richer = [model.name for model in rest if model.parameters > chosen.parameters]
    if simpler:
        sentences.append(f"{listed(simpler)} {'is' if len(simpler) == 1 else 'are'} simpler and {margin}.")
    for names, size in ((equal, "as many"), (richer, "more")):
        if names:
            sentences.append(
                f"{listed(names)} {'comes' if len(names) == 1 else 'come'} {margin} with {size} parameters."
            )
    return " ".join(sentences)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
