"""The choice between models: one rule and one wording, whichever way the models were judged.

The rule is the one-standard-error rule (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3): the simplest model
whose held-out error, compared run by run with that of the best, is within one standard error of it.

An identification judges on the runs that one split held out (`Contender`), `model_choice` on every condition held out
in turn, and `recommendation` decides which of the two counts. Data and words only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from core.words import counted

T = TypeVar("T")

FEW_RUNS = 5
"""Fewer held-out runs hardly tell the standard error itself: models are as good only within CLOSE of the best, too."""
CLOSE = 0.1
"""Relative difference of errors."""
EQUAL = 0.01
"""Relative difference of errors below which models are equal, whatever the standard error."""


def simplest_first(
    models: Sequence[T],
    error: Callable[[T], float],
    gap: Callable[[T, T], tuple[float, float]],
    size: Callable[[T], int],
) -> tuple[T, list[T]]:
    """Return the model with the lowest error, and all that are as good, itself among them, the simplest first.

    gap: by how much a model's error exceeds that of the best, and the standard error of this [rad]; size: number of
    parameters.
    """
    best = min(models, key=lambda model: (error(model), size(model)))

    def as_good(model: T) -> bool:
        more, standard_error = gap(model, best)
        return math.isfinite(more) and more <= max(standard_error, EQUAL * error(best))

    close = [model for model in models if model is best or as_good(model)]
    return best, sorted(close, key=lambda model: (size(model), error(model)))


def clustered_mean(clusters: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Mean of all values and its standard error, allowing for values of one cluster that deviate alike.

    With N values in G clusters, the variance is G/(G − 1)·Σ_g (Σ_i (x_gi − x̄))² / N² (Liang and Zeger 1986), or that
    of independent values, s²/N, whichever is larger: a handful of clusters can undercut it by chance. Infinite values
    make both infinite; a single value has an infinite standard error.
    """
    values = np.concatenate([np.asarray(cluster, dtype=np.float64) for cluster in clusters])
    if not np.all(np.isfinite(values)):
        return math.inf, math.inf
    count, groups = len(values), len(clusters)
    mean = float(values.mean())
    if count < 2:
        return mean, math.inf
    independent = float(values.var(ddof=1)) / count
    together = 0.0
    if groups > 1:
        sums = [float(np.sum(np.asarray(cluster) - mean)) for cluster in clusters]
        together = groups / (groups - 1) * sum(total**2 for total in sums) / count**2
    return mean, math.sqrt(max(independent, together))


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A model of an identification; errors in rad."""

    friction: str
    parameters: int
    """Number of free parameters."""
    train_mae: float
    held_out: tuple[tuple[float, ...], ...] = ()
    """Error of each held-out run, one tuple a servo: the same runs for all contenders. Empty where no run was held
    out."""
    validation_mae: float | None = None
    """Mean error of the held-out runs, also where a result of an earlier version does not tell the error of each."""

    @property
    def error(self) -> float:
        """On runs it did not see; on its own if there are none."""
        return self.train_mae if self.validation_mae is None else self.validation_mae


def recommended(contenders: Sequence[Contender]) -> Contender:
    """Return the simplest contender that is as good as the best."""
    return _ranked(contenders)[1][0]


def choice_in_words(contenders: Sequence[Contender]) -> str:
    """One to four sentences: which model is recommended, on what evidence, and which other ones are as good."""
    _, close = _ranked(contenders)
    chosen = close[0]
    judged = {c.friction: _judged(c) for c in contenders}
    unseen = chosen.validation_mae is not None
    held = sum(map(len, chosen.held_out))
    on = f" on {counted(held, 'held-out run')}" if held else ""
    text = in_words(
        judged[chosen.friction],
        [judged[c.friction] for c in contenders if c is not chosen],
        [judged[c.friction] for c in close[1:]],
        judged_by=f"validation error{on}" if unseen else "training error",
        margin="within one standard error of the best" if held > 1 else f"within {100 * EQUAL:g} %",
    )
    if len(contenders) > 1 and not unseen:
        text += " No runs were held out, so a richer model cannot do worse: hold some out to choose."
    return text


NOT_TRIED = "The command path was left out: there was no run to hold out, by which to judge whether it helps."
"""Where `command_path_choice` has nothing to go by."""


def command_path_choice(without: Contender, with_it: Contender) -> tuple[bool, str]:
    """Tell whether the command path is worth its parameters, and why in one sentence; both with the same friction."""
    better = recommended([without, with_it]) is with_it
    held = sum(map(len, with_it.held_out))
    return better, (
        f"The command path is {'identified' if better else 'left out'}: "
        f"on {counted(held, 'held-out run')} {with_it.friction.upper()} errs "
        f"{1e3 * with_it.error:.3g} mrad with it, {1e3 * without.error:.3g} without."
    )


def _ranked(contenders: Sequence[Contender]) -> tuple[Contender, list[Contender]]:
    return simplest_first(
        contenders,
        error=lambda c: c.error,
        gap=_gap,
        size=lambda c: c.parameters,
    )


def _gap(contender: Contender, best: Contender) -> tuple[float, float]:
    """Mean of the differences run by run and its standard error, which one run does not tell."""
    runs = sum(map(len, best.held_out))
    if runs < 2 or not contender.held_out:
        return contender.error - best.error, 0.0
    pairs = zip(contender.held_out, best.held_out, strict=True)
    more, standard_error = clustered_mean([[a - b for a, b in zip(*pair, strict=True)] for pair in pairs])
    return more, standard_error if runs >= FEW_RUNS else min(standard_error, CLOSE * best.error)


def _judged(contender: Contender) -> Judged:
    return Judged(
        name=contender.friction.upper(),
        error=contender.error,
        shown=f"{1e3 * contender.error:.3g}",
        parameters=contender.parameters,
    )


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
    """Number of free parameters: the fewer, the simpler."""


def in_words(chosen: Judged, others: Sequence[Judged], close: Sequence[Judged], *, judged_by: str, margin: str) -> str:
    """Which model is recommended, on what evidence, and which ones are as good: one to four sentences.

    close: those of the others that are as good; judged_by: what the errors are, e.g. "validation error on 4 held-out
    runs"; margin: what makes a model as good, e.g. "within one standard error of the best".
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
