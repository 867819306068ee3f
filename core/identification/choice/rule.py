"""Choice between models: one rule and one wording, for all kinds of scores.

The rule is the one-standard-error rule (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3): choose the simplest
model whose held-out error, compared run by run with that of the best, is within one standard error of it.

An identification scores models on the held-out runs of one split (`Contender`), `model_choice` on every condition held
out in turn. `recommendation` decides which of the two counts. Data and text only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from core.base.words import counted

T = TypeVar("T")

FEW_RUNS = 5
"""With fewer held-out runs, the standard error itself is uncertain: models must also be within CLOSE of the best."""
CLOSE = 0.1
"""Relative difference of errors."""
EQUAL = 0.01
"""Relative difference of errors below which models are equal, for any standard error."""


def simplest_first(
    models: Sequence[T],
    error: Callable[[T], float],
    gap: Callable[[T, T], tuple[float, float]],
    size: Callable[[T], int],
) -> tuple[T, list[T]]:
    """Return the model with the lowest error, and all that are as good (itself among them), the simplest first.

    Args:
        models: The models.
        error: Function that returns a model's error [rad].
        gap: Function that returns the difference between a model's error and that of the best, and its standard error
            [rad].
        size: Function that returns a model's number of parameters.
    """
    best = min(models, key=lambda model: (error(model), size(model)))

    def as_good(model: T) -> bool:
        more, standard_error = gap(model, best)
        return math.isfinite(more) and more <= max(standard_error, EQUAL * error(best))

    close = [model for model in models if model is best or as_good(model)]
    return best, sorted(close, key=lambda model: (size(model), error(model)))


def clustered_mean(clusters: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the mean of all values and its standard error, allowing for correlated values in a cluster.

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
    """Model of an identification; errors in rad."""

    friction: str
    parameters: int
    """Number of free parameters."""
    train_mae: float
    held_out: tuple[tuple[float, ...], ...] = ()
    """Error of each held-out run, one tuple per servo: the same runs for all contenders.

    Empty if no run was held out.
    """
    validation_mae: float | None = None
    """Mean error of the held-out runs; None if there are none."""

    @property
    def error(self) -> float:
        """Mean error on held-out runs, or on its training runs if there are none."""
        return self.train_mae if self.validation_mae is None else self.validation_mae


def recommended(contenders: Sequence[Contender]) -> Contender:
    """Return the simplest contender that is as good as the best."""
    return _ranked(contenders)[1][0]


def lowest(contenders: Sequence[Contender]) -> Contender:
    """Return the contender with the lowest error; of equals, the simplest."""
    return _ranked(contenders)[0]


def choice_in_words(contenders: Sequence[Contender], chosen: Contender | None = None) -> str:
    """Return one to four sentences: the recommended model, the evidence, and others that are as good.

    Args:
        contenders: The models.
        chosen: The recommended one; None for the simplest that is as good as the best.
    """
    _, close = _ranked(contenders)
    chosen = chosen or close[0]
    judged = {c.friction: _judged(c) for c in contenders}
    unseen = chosen.validation_mae is not None
    held = sum(map(len, chosen.held_out))
    on = f" on {counted(held, 'held-out run')}" if held else ""
    text = in_words(
        judged[chosen.friction],
        [judged[c.friction] for c in contenders if c is not chosen],
        [judged[c.friction] for c in close if c is not chosen],
        judged_by=f"validation error{on}" if unseen else "training error",
        margin="within one standard error of the best" if held > 1 else f"within {100 * EQUAL:g} %",
    )
    if len(contenders) > 1 and not unseen:
        text += " No runs were held out, so a richer model cannot do worse: hold some out to choose."
    return text


SHIFTED = "The command path is identified although it lowers no error: a shift of the goals by rows explains more."
"""Explanation if the goals of neighbouring rows hide a delay."""


def command_path_choice(without: Contender, with_it: Contender) -> tuple[bool, str]:
    """Return True if the command path is worth its parameters, and the reason; both have the same friction.

    Below FEW_RUNS held-out runs, the training error decides: which runs are held out then matters more than the path.
    """
    held = sum(map(len, with_it.held_out))
    on = f"on {counted(held, 'held-out run')}"
    if held < FEW_RUNS:
        without, with_it = (replace(one, held_out=(), validation_mae=None) for one in (without, with_it))
        on = f"on the training runs, as fewer than {FEW_RUNS} are held out,"
    better = recommended([without, with_it]) is with_it
    return better, (
        f"The command path is {'identified' if better else 'left out'}: "
        f"{on} {with_it.friction.upper()} errs "
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
    """Return the mean of the differences by run and its standard error, which a single run does not have."""
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
    """Model to choose from."""

    name: str
    """Name, e.g. "M6 + command path"."""
    error: float
    """Mean absolute error of the comparison [rad]."""
    shown: str
    """The error as text, in mrad."""
    parameters: int
    """Number of free parameters; a model with fewer is simpler."""


def in_words(chosen: Judged, others: Sequence[Judged], close: Sequence[Judged], *, judged_by: str, margin: str) -> str:
    """Return one to four sentences: the recommended model, the evidence, and others that are as good.

    Args:
        chosen: Recommended model.
        others: Other models.
        close: Those of the others that are as good.
        judged_by: Kind of the errors, e.g. "validation error on 4 held-out runs".
        margin: Criterion for models that are as good, e.g. "within one standard error of the best".
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
    """Return names as part of a sentence: "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
