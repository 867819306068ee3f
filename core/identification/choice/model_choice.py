"""Choice of a model by its errors on conditions that no fit has seen, their uncertainty, and the choice in words.

Data and statistics only; `crossvalidation` computes the errors. This module does not load the compiler.

Standard errors allow for correlated errors of the runs of one fold: the deviations of a fold's runs are summed before
they are squared (Liang and Zeger 1986, with their correction for few clusters). The result is never smaller than that
of independent runs, which a handful of folds can undercut by chance. Every condition holds out the same runs again, so
conditions are not independent. The standard error of their mean is the mean of their standard errors, its upper bound.
The choice is the one-standard-error rule (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3): the simplest
variant whose paired difference from the best is within one standard error. If a fit happens to be better at one of two
held-out values, mean and standard error are equal, and each of several additions has that chance. An addition must
therefore also be better at most held-out values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from core.base.errors import IdentificationError, StoppedEarly, reading_json
from core.base.json_fields import OrInfinite, from_plain, plain
from core.identification.choice.rule import EQUAL, Judged, clustered_mean, in_words, listed, simplest_first
from core.identification.request import IdentificationRequest
from core.identification.runs.folds import Fold, spoken
from core.servo.model import ServoModel
from core.servo.terms import COMMAND_PATH, COMMAND_PATH_TERMS, CONTACT_TITLES

MOST = 0.8
"""Share of the held-out values at which an addition must be better, by the share EQUAL: all of up to four."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One candidate of the choice: a friction model and its contact, with or without a command path."""

    friction: str
    command_path: tuple[str, ...] = ()
    contact: str = "rigid"

    @property
    def name(self) -> str:
        """Name, e.g. "M6 + command path + offset of the output, elastoplastic"."""
        parts = [self.friction.upper(), *(["command path"] if {*self.command_path} - {"load_memory"} else [])]
        parts += [COMMAND_PATH[term].title or term for term in self.command_path if term not in COMMAND_PATH_TERMS]
        contact = "" if self.contact == "rigid" else f", {CONTACT_TITLES[self.contact].lower()}"
        return " + ".join(parts) + contact

    def adds_to(self, other: Variant) -> bool:
        """Return True if it is the other variant, with a command path, and another contact or more terms."""
        less = set(other.command_path)
        return self != other and self.friction == other.friction and set() < less <= set(self.command_path)

    def asked(self, request: IdentificationRequest) -> IdentificationRequest:
        """Return the request of a fit of this variant, without validation runs."""
        return replace(
            request.settled(self.command_path), models=(self.friction,), contact=self.contact, validation="none"
        )


@dataclass(frozen=True, kw_only=True)
class FoldFit:
    """One variant fitted to the rest of one fold and scored on the held-out runs. Errors in rad."""

    variant: Variant
    fold: Fold
    model: ServoModel
    train_mae: OrInfinite
    trained_on: tuple[str, ...]
    """Ids of the runs that it was fitted to: the fold's training runs, or a selection of them."""
    evaluations: int
    errors: Mapping[str, float]
    """Mean absolute error of each held-out run, by id; infinite where the simulation diverges."""

    @property
    def mean(self) -> float:
        """Mean error of the held-out runs."""
        return float(np.mean(list(self.errors.values())))

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for an infinite number. Condition and value identify the fold."""
        return {
            "condition": self.fold.condition,
            "value": self.fold.value,
            "friction": self.variant.friction,
            "command_path": list(self.variant.command_path),
            "contact": self.variant.contact,
            "train_mae": plain(self.train_mae),
            "held_out_mae": plain(self.mean),
            "trained_on": list(self.trained_on),
            "evaluations": self.evaluations,
            "errors": plain(self.errors),
            "model": self.model.to_json(),
        }

    @classmethod
    @reading_json("a fit of a cross-validation", IdentificationError)
    def from_json(cls, data: Mapping[str, Any], fold: Fold) -> FoldFit:
        """Read the data of `to_json`, for the fold that they name.

        Raises:
            IdentificationError: The data do not describe a fit of this fold.
        """
        known = data["errors"]
        errors = {run: math.inf if known[run] is None else float(known[run]) for run in fold.held_out}
        if len(errors) != len(known):
            raise ValueError(f"errors of runs that {fold.label} did not hold out")
        model = ServoModel.from_json(data["model"])
        if model.friction != data["friction"]:
            raise ValueError(f"a model of {model.friction} as a fit of {data['friction']}")
        variant = Variant(friction=model.friction, command_path=tuple(data["command_path"]), contact=model.contact)
        return from_plain(cls, data, variant=variant, fold=fold, model=model, errors=errors)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Mean with its standard error, in the unit of the averaged values; see the module's docstring."""

    mean: OrInfinite
    standard_error: OrInfinite
    runs: int
    folds: int


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """Errors of every variant on every held-out condition."""

    fits: tuple[FoldFit, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    """Conditions that could not be held out, with the reason."""
    stopped: bool = False
    """True if it was stopped before the end; folds on which some variant was not scored are left out."""

    def __post_init__(self) -> None:
        if not self.folds:
            raise StoppedEarly(
                "stopped before every variant was scored on one condition; start again with fewer trials or models"
            )

    @cached_property
    def _by_place(self) -> dict[tuple[Variant, Fold], FoldFit]:
        return {(fit.variant, fit.fold): fit for fit in self.fits}

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Variants in the order in which they were fitted."""
        return tuple(dict.fromkeys(fit.variant for fit in self.fits))

    @property
    def folds(self) -> tuple[Fold, ...]:
        """Folds on which every variant was scored."""
        every = dict.fromkeys(fit.fold for fit in self.fits)
        return tuple(fold for fold in every if all((variant, fold) in self._by_place for variant in self.variants))

    @property
    def conditions(self) -> tuple[str, ...]:
        """Conditions that were held out."""
        return tuple(dict.fromkeys(fold.condition for fold in self.folds))

    def free_parameters(self, variant: Variant) -> int:
        """Return the number of fitted parameters of a variant."""
        return len(self.fit(variant, self.folds[0]).model.parameters.free)

    def fit(self, variant: Variant, fold: Fold) -> FoldFit:
        """Return the fit of a variant with a fold held out."""
        return self._by_place[variant, fold]

    def errors(self, variant: Variant) -> dict[str, float]:
        """Return the mean error of each run over the folds that held it out [rad]."""
        found: dict[str, list[float]] = {}
        for fold in self.folds:
            for run, error in self.fit(variant, fold).errors.items():
                found.setdefault(run, []).append(error)
        return {run: sum(errors) / len(errors) for run, errors in found.items()}

    def error(self, variant: Variant) -> Estimate:
        """Return the mean absolute error on held-out runs [rad]; every condition has the same weight."""
        return self._estimate(lambda fold: self.fit(variant, fold).errors)

    def difference(self, variant: Variant, other: Variant) -> Estimate:
        """Return the error of a variant minus that of another, run by run [rad]; negative if the first is better."""

        def paired(fold: Fold) -> dict[str, float]:
            ours, theirs = self.fit(variant, fold).errors, self.fit(other, fold).errors
            return {run: ours[run] - theirs[run] for run in ours}

        return self._estimate(paired)

    def wins(self, variant: Variant, other: Variant) -> int:
        """Return the number of folds at which a variant is better than another by more than the share EQUAL."""
        return sum(self.fit(variant, fold).mean < (1.0 - EQUAL) * self.fit(other, fold).mean for fold in self.folds)

    def _estimate(self, errors_of: Callable[[Fold], Mapping[str, float]]) -> Estimate:
        by_condition: dict[str, list[list[float]]] = {}
        for fold in self.folds:
            by_condition.setdefault(fold.condition, []).append(list(errors_of(fold).values()))
        means, deviations = zip(*(clustered_mean(clusters) for clusters in by_condition.values()), strict=True)
        runs = {run for fold in self.folds for run in fold.held_out}
        return Estimate(
            mean=float(np.mean(means)),
            standard_error=float(np.mean(deviations)),
            runs=len(runs),
            folds=len(self.folds),
        )

    @property
    def runs(self) -> frozenset[str]:
        """Ids of all runs that were used to fit or to score."""
        return frozenset(run for fit in self.fits for run in (*fit.fold.train, *fit.fold.held_out))

    def among(self, variants: Collection[Variant]) -> CrossValidation:
        """Return the cross-validation with only some of its variants, at least one."""
        return replace(self, fits=tuple(fit for fit in self.fits if fit.variant in variants))

    @property
    def choice(self) -> Choice:
        """Simplest variant that is as good as the best."""
        return choose(self)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        choice = self.choice
        return {
            "variants": [
                {
                    "friction": variant.friction,
                    "command_path": list(variant.command_path),
                    "contact": variant.contact,
                    "name": variant.name,
                    "free_parameters": self.free_parameters(variant),
                    "error": plain(self.error(variant)),
                    "difference_to_best": plain(self.difference(variant, choice.best)),
                }
                for variant in self.variants
            ],
            "chosen": choice.chosen.name,
            "best": choice.best.name,
            "choice": choice.text,
            "folds": [fold.to_json() for fold in dict.fromkeys(fit.fold for fit in self.fits)],
            "fits": [fit.to_json() for fit in self.fits],
            "skipped": dict(self.skipped),
            "stopped": self.stopped,
        }

    @classmethod
    def from_json(cls, data: Any) -> CrossValidation:
        """Read the data of `to_json`. Estimates and choice follow from the fits; unknown entries are ignored.

        Raises:
            IdentificationError: The data do not describe a cross-validation.
        """
        try:
            by_place = {(entry["condition"], entry["value"]): Fold.from_json(entry) for entry in data["folds"]}
            return cls(
                fits=tuple(FoldFit.from_json(fit, by_place[fit["condition"], fit["value"]]) for fit in data["fits"]),
                skipped=tuple((str(condition), str(reason)) for condition, reason in data["skipped"].items()),
                stopped=bool(data["stopped"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IdentificationError) as error:
            why = error if isinstance(error, IdentificationError) else repr(error)
            raise IdentificationError(
                f"the cross-validation cannot be read ({why}): cross-validate these runs again"
            ) from None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Result of the one-standard-error rule."""

    chosen: Variant
    """Simplest variant of those that are as good as the best."""
    best: Variant
    """Variant with the lowest error."""
    as_good: tuple[Variant, ...]
    """All variants within one standard error of the best, or to which it adds something by chance, the simplest first.
    """
    text: str
    """Explanation, one to five sentences."""


def choose(found: CrossValidation) -> Choice:
    """Apply the one-standard-error rule; simpler means fewer free parameters, then the lower error."""
    error = {variant: found.error(variant).mean for variant in found.variants}
    if not any(math.isfinite(value) for value in error.values()):
        raise IdentificationError(
            "the simulation of held-out runs diverges with every model; fit with a finer time step or more substeps"
        )

    def gap(variant: Variant, best: Variant) -> tuple[float, float]:
        found_gap = found.difference(variant, best)
        return found_gap.mean, math.inf if _by_chance(found, best, variant) else found_gap.standard_error

    best, close = simplest_first(found.variants, error.__getitem__, gap, found.free_parameters)
    return Choice(chosen=close[0], best=best, as_good=tuple(close), text=_in_words(found, best, close))


def _by_chance(found: CrossValidation, variant: Variant, simpler: Variant) -> bool:
    """Return True if a variant adds something to a simpler one without being better at most held-out values."""
    more = found.free_parameters(variant) > found.free_parameters(simpler)
    return more and variant.adds_to(simpler) and found.wins(variant, simpler) < MOST * len(found.folds)


def in_milliradians(estimate: Estimate) -> str:
    """Return an estimate as text, e.g. "12.1 ± 0.4", or "12.1" if its standard error is unknown."""
    known = f" ± {1e3 * estimate.standard_error:.1f}" if math.isfinite(estimate.standard_error) else ""
    return f"{1e3 * estimate.mean:.1f}{known}"


def _in_words(found: CrossValidation, best: Variant, close: Sequence[Variant]) -> str:
    chosen = close[0]
    judged = {variant: _judged(found, variant) for variant in found.variants}
    conditions = [spoken(condition) for condition in found.conditions]
    text = in_words(
        judged[chosen],
        [model for variant, model in judged.items() if variant != chosen],
        [judged[variant] for variant in close[1:]],
        judged_by=f"error with {listed(conditions)} held out",
        margin="within one standard error of the best",
    )
    simpler = [variant for variant in found.variants if judged[variant].parameters < judged[chosen].parameters]
    if chosen == best and simpler:
        nearest = min(simpler, key=lambda variant: judged[variant].error)
        gap = in_milliradians(found.difference(nearest, chosen))
        text += f" Of the simpler ones, {nearest.name} is closest, worse by {gap} mrad run by run."
    if _by_chance(found, best, chosen):
        text += f" {best.name} is better at only {found.wins(best, chosen)} of {len(found.folds)} held-out values."
    return f"{text}{_command_path_in_words(found, chosen)}"


def _judged(found: CrossValidation, variant: Variant) -> Judged:
    error, parameters = found.error(variant), found.free_parameters(variant)
    return Judged(name=variant.name, error=error.mean, shown=in_milliradians(error), parameters=parameters)


def _command_path_in_words(found: CrossValidation, chosen: Variant) -> str:
    """Return the effect of the command path for the chosen friction model; empty if only one of the two was fitted."""
    alike = [v for v in found.variants if (v.friction, v.contact) == (chosen.friction, chosen.contact)]
    without = [variant for variant in alike if not variant.command_path]
    with_path = [variant for variant in alike if variant.command_path]
    if not without or not with_path:
        return ""
    gain = found.difference(without[0], with_path[0])
    if not math.isfinite(gain.mean):
        return ""
    amount = in_milliradians(replace(gain, mean=abs(gain.mean)))
    if abs(gain.mean) <= gain.standard_error:
        what = f"makes no difference ({in_milliradians(gain)} mrad)"
    else:
        what = f"{'lowers' if gain.mean > 0 else 'raises'} the error by {amount} mrad"
    return f" With {chosen.friction.upper()} the command path {what}."
