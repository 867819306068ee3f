"""Benefit of each term of a model: the error without it, with everything else fitted again.

A term is left out at its neutral value, or, for the directional terms, by tying its two coefficients to each other. The
remaining parameters are searched briefly from their values. The whole model is searched in the same way, so a term is
not credited with a gain from the search alone. Costs can be read without loading the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.base.json_fields import OrInfinite, from_plain, plain, plain_fields
from core.identification.choice.model_choice import Estimate, clustered_mean
from core.identification.request import IdentificationRequest
from core.identification.runs.folds import unit_of
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import NEUTRAL
from core.servo.terms import TERMS as PHYSICAL

if TYPE_CHECKING:
    from core.identification.search.warmstart import Reduction

DEFAULT_TRIALS = 3000
"""Evaluations per term: a search that starts at the optimum needs few."""

WORTH = 0.01
"""Share of the error below which a term is not needed, if there are too few held-out runs for a standard error."""

_STRIBECK_LOADS = (
    "load_friction_stribeck",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
)
_QUADRATIC = ("load_friction_motor_quad", "load_friction_external_quad")
_LOADS = ("load_friction_base", "load_friction_motor", "load_friction_external", *_STRIBECK_LOADS, *_QUADRATIC)


@dataclass(frozen=True, kw_only=True)
class Term:
    """Term or group of terms that can be left out of a model."""

    name: str
    title: str
    zero: tuple[str, ...] = ()
    """Friction parameters that are 0 without the term."""
    neutral: Mapping[str, float] = field(default_factory=dict[str, float])
    """Command path terms, and the value of each without the term."""
    tied: tuple[tuple[str, str], ...] = ()
    """Pairs of parameters that are equal without the term."""
    idle: tuple[str, ...] = ()
    """Parameters that have no effect without the term."""

    def parameters(self, model: ServoModel) -> tuple[str, ...]:
        """Return the free parameters that leave the search with the term; empty if the model lacks it."""
        free = {p.name for p in model.parameters.free}
        pairs = [second for first, second in self.tied if {first, second} <= free]
        gone = [name for name in (*self.zero, *self.neutral) if name in free]
        idle = [name for name in self.idle if name in free and self._leaves_idle(free)]
        return (*gone, *pairs, *(idle if gone else ()))

    def without(self, model: ServoModel) -> Reduction:
        """Return the search space of the model without the term."""
        from core.identification.search.warmstart import reduction

        values = model.values
        held = {name: self.neutral.get(name, 0.0) for name in (*self.zero, *self.neutral)}
        gone = self.parameters(model)
        held |= {name: values[name] for name in self.idle}
        return reduction(model, {name: held[name] for name in gone if name in held}, self.tied)

    def _leaves_idle(self, free: set[str]) -> bool:
        """Return True unless other terms at rest remain, which Stribeck's velocity and exponent also shape."""
        at_rest = {"friction_stribeck", *_STRIBECK_LOADS, *_QUADRATIC}
        return not (at_rest & free) - set(self.zero)


TERMS: tuple[Term, ...] = (
    Term(
        name="stribeck",
        title="Stribeck: more friction at rest",
        zero=("friction_stribeck", *_STRIBECK_LOADS),
        idle=("dtheta_stribeck", "alpha"),
    ),
    Term(name="load_dependent", title="friction proportional to the load", zero=_LOADS),
    Term(
        name="directional",
        title="separate coefficients for motor and external torque",
        tied=(
            ("load_friction_motor", "load_friction_external"),
            ("load_friction_motor_stribeck", "load_friction_external_stribeck"),
            ("load_friction_motor_quad", "load_friction_external_quad"),
        ),
    ),
    Term(name="quadratic", title="friction quadratic in the load", zero=_QUADRATIC),
    *(
        Term(name=name, title=term.title, neutral={name: NEUTRAL[name]})
        for name, term in PHYSICAL.items()
        if term.title
    ),
)
"""Every term that can be left out, friction first."""


@dataclass(frozen=True, kw_only=True)
class TermCost:
    """Cost of leaving out one term [rad]; negative if the search found something better without it."""

    term: Term
    parameters: tuple[str, ...]
    """Parameters that were left out."""
    training: OrInfinite
    held_out: Estimate | None
    """Mean of the differences by run, with the standard error between runs; None if no run was held out."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"term": self.term.name, "title": self.term.title, **plain_fields(self, besides=("term",))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TermCost:
        """Read the data of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: The data do not describe a cost.
        """
        known = {term.name: term for term in TERMS}
        term = known.get(data["term"]) or Term(name=str(data["term"]), title=str(data["title"]))
        return from_plain(cls, data, term=term)


@dataclass(frozen=True, kw_only=True)
class TermCosts:
    """Costs of all terms of a model, the largest first. Errors in rad."""

    train_mae: OrInfinite
    held_out_mae: float | None
    terms: tuple[TermCost, ...]
    stopped: bool = False
    """True if it was stopped before every term was left out once."""
    model: ServoModel | None = None
    """Whole model after the same search as those without a term; not part of the plain data."""

    @property
    def text(self) -> str:
        """Return which terms are worth their parameters and which are not, in one or two sentences."""

        def worth(cost: TermCost) -> bool:
            if cost.held_out is not None and math.isfinite(cost.held_out.standard_error):
                return cost.held_out.mean > cost.held_out.standard_error
            whole = self.train_mae if self.held_out_mae is None else self.held_out_mae
            return _gain(cost) > WORTH * whole

        needed = [f"{c.term.title} ({1e3 * _gain(c):.1f} mrad)" for c in self.terms if worth(c)]
        idle = [cost.term.title for cost in self.terms if not worth(cost)]
        judged = "training" if self.held_out_mae is None else "held-out"
        parts: list[str] = []
        if needed:
            parts.append(f"On {judged} runs, these terms lower the error: {', '.join(needed)}.")
        if idle:
            parts.append(f"These runs do not need: {', '.join(idle)}.")
        return " ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "train_mae": self.train_mae,
            "held_out_mae": plain(self.held_out_mae),
            "terms": plain(self.terms),
            "text": self.text,
            "stopped": self.stopped,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TermCosts:
        """Read the data of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: The data do not describe costs.
        """
        return from_plain(cls, data, model=None)


def term_costs(
    model: ServoModel,
    request: IdentificationRequest,
    train: Sequence[Recording],
    held_out: Sequence[Recording] = (),
    *,
    trials: int = DEFAULT_TRIALS,
    on_progress: Callable[[Term, float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    should_yield: Callable[[], bool] | None = None,
) -> TermCosts:
    """Leave out each term of a fitted model, one at a time, and fit the rest again.

    Args:
        model: Fitted model.
        request: Request of its fit (metric, sample time, supply, seed, threads).
        train: Runs that it was fitted to.
        held_out: Runs to score it on.
        trials: Evaluations per term.
        on_progress: Called with the next term and the share done.
        should_stop: As for `identify`.
        should_yield: As for `identify`.
    """
    from core.identification.evaluate import evaluate
    from core.identification.search.objective import Batch
    from core.identification.search.warmstart import search_on

    options: dict[str, Any] = {"dt": request.dt, "supply": request.supply, "threads": request.threads}
    asked: dict[str, Any] = {"metric": request.metric, "should_stop": should_stop, "should_yield": should_yield}
    batch = Batch(model, train, **options)
    present = [(term, gone) for term in TERMS if (gone := term.parameters(model))]

    def errors(candidate: ServoModel, runs: Sequence[Recording]) -> dict[str, float]:
        return {run.id: run.mae for run in evaluate(candidate, runs, **options).runs} if runs else {}

    whole = search_on(model, batch, trials, request.seed, **asked)
    known, unseen = errors(whole, train), errors(whole, held_out)
    unit = {recording.id: (unit_of(recording), *recording.conditions().items()) for recording in held_out}
    costs: list[TermCost] = []
    for place, (term, gone) in enumerate(present):
        if should_stop is not None and should_stop():
            break
        if on_progress is not None:
            on_progress(term, (place + 1) / (len(present) + 1))
        without = search_on(whole, batch, trials, request.seed, within=term.without(whole), **asked)
        if should_stop is not None and should_stop():
            break
        trained, judged = errors(without, train), errors(without, held_out)
        costs.append(
            TermCost(
                term=term,
                parameters=gone,
                training=_mean(trained) - _mean(known),
                held_out=_paired(judged, unseen, unit) if held_out else None,
            )
        )
    return TermCosts(
        model=whole,
        train_mae=_mean(known),
        held_out_mae=_mean(unseen) if unseen else None,
        terms=tuple(sorted(costs, key=_gain, reverse=True)),
        stopped=len(costs) < len(present),
    )


def _paired(without: dict[str, float], whole: dict[str, float], place: Mapping[str, Any]) -> Estimate:
    """Return the mean increase, with repetitions of one condition as a cluster."""
    clusters: dict[Any, list[float]] = {}
    for run, error in without.items():
        clusters.setdefault(place[run], []).append(error - whole[run])
    mean, deviation = clustered_mean(list(clusters.values()))
    return Estimate(mean=mean, standard_error=deviation, runs=len(without), folds=len(clusters))


def _gain(cost: TermCost) -> float:
    return cost.training if cost.held_out is None else cost.held_out.mean


def _mean(errors: Mapping[str, float]) -> float:
    return sum(errors.values()) / len(errors)
