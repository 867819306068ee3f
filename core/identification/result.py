"""Result of an identification: plain data, stored beside the models and readable without the compiler."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from core.base.errors import IdentificationError, reading_json
from core.base.guards import is_finite
from core.base.json_fields import OrUnknown, from_plain, plain_fields
from core.document.table import Tabular
from core.identification.cautions import answer_about
from core.identification.choice.model_choice import CrossValidation
from core.identification.choice.recommendation import CROSS_VALIDATION, Recommendation, recommend
from core.identification.choice.rule import Contender
from core.identification.coverage.findings import Diagnosis
from core.identification.evidence.model import Evidence
from core.identification.request import IdentificationRequest
from core.identification.runs.split import Split
from core.identification.verdict import Answer
from core.servo.model import ServoModel
from core.servo.parameters import ParameterSet
from core.servo.terms import COMMAND_PATH, FRICTION_MODELS

PARAMETER_FACTS = ("value", "unit", "symbol", "lower", "upper", "at_bound", "frozen")
"""Facts about each parameter in a result's file."""


def step_cost(model: ServoModel) -> float | None:
    """Mean distance from a simulation with ten times finer steps over the training runs [rad]; None if unknown."""
    cost = model.provenance.get("discretisation_error")
    return cost if is_finite(cost) else None


def step_in_words(model: ServoModel, error: float) -> str:
    """Return time step and cost of a fitted model as one line.

    For example "M4: step 2.5 ms, second order: it costs 0.03 mrad, 1 % of the error".

    Args:
        model: The model.
        error: Mean absolute error on the runs that the model was fitted to [rad].
    """
    order = "second order" if model.leapfrog else f"first order ({model.integrator})"
    words = f"{model.friction.upper()}: step {1e3 * model.step:.3g} ms, {order}"
    cost = step_cost(model)
    if cost is None:
        return f"{words}: its cost was not measured"
    length = "less than 0.01" if cost < 0.5e-5 else f"{1e3 * cost:.2f}"
    share = "less than 1" if cost < 0.005 * error else f"{100 * cost / error:.0f}" if error > 0 else "more than 100"
    only = "" if model.leapfrog else "; the values are valid for this step only"
    if model.leapfrog and cost > 0.1 * error:
        only = "; above a tenth the values absorb part of it"
    return f"{words}: it costs {length} mrad, {share} % of the error{only}"


@dataclass(frozen=True)
class Repeat:
    """One search of one model. Errors in rad."""

    seed: int
    train_mae: float
    validation_mae: float | None
    validation_rmse: float | None
    evaluations: int
    parameters: ParameterSet


@dataclass(frozen=True, repr=False)
class ModelResult(Tabular):
    """Result for one friction model: the best repeat and the spread of all. Errors in rad.

    Example:
        >>> found = sb.identify(sb.example(), "m1,m6")  # doctest: +SKIP
        >>> found.recommended.model.values["kt"]  # doctest: +SKIP
    """

    model: ServoModel
    train_mae: float
    validation_mae: float | None
    validation_rmse: float | None
    """Root mean square error on the held-out runs."""
    evaluations: int
    wall_seconds: OrUnknown
    repeats: tuple[Repeat, ...]
    evidence: Evidence
    held_out: Mapping[str, float] = field(default_factory=dict[str, float])
    """Mean absolute error of each held-out run, by id."""

    def heading(self) -> str:
        """Return model and errors."""
        held_out = "" if self.validation_mae is None else f", held out {self.validation_mae * 1e3:.2f} mrad"
        return f"{self.model.title}, training {self.train_mae * 1e3:.2f} mrad{held_out}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the identified parameters with half widths of their 95 % intervals."""
        found = self.evidence.parameters
        return {
            "parameter": [p.name for p in found],
            "value": [p.value for p in found],
            "± 95 %": [p.half_width for p in found],
            "unit": [p.unit for p in found],
            "grade": [p.grade.word for p in found],
        }

    @property
    def error(self) -> float:
        """Mean error on held-out runs, or on the training runs if none was held out."""
        return self.train_mae if self.validation_mae is None else self.validation_mae

    def is_not_worse(self, other: ModelResult) -> bool:
        """Return True if neither the training error nor the held-out error is larger than that of another fit."""
        pairs = ((self.train_mae, other.train_mae), (self.error, other.error))
        return all(mine <= theirs or not math.isfinite(theirs) for mine, theirs in pairs)

    @property
    def step_cost(self) -> float | None:
        """Mean error due to the time step over the training runs [rad]; None if unknown."""
        return step_cost(self.model)

    @property
    def spread(self) -> float | None:
        """Largest difference of training errors between repeats [rad]; None for a single one."""
        maes = [repeat.train_mae for repeat in self.repeats]
        return max(maes) - min(maes) if len(maes) > 1 else None

    def to_json(self, file: Path | None = None) -> dict[str, Any]:
        """Return plain data, as printed by `bench identify --json`."""
        return {
            "model": self.model.friction,
            "servo": self.model.servo,
            "train_mae": self.train_mae,
            "validation_mae": self.validation_mae,
            "validation_rmse": self.validation_rmse,
            "held_out": dict(self.held_out),
            "evaluations": self.evaluations,
            "wall_seconds": self.wall_seconds,
            "repeats": [
                {**plain_fields(repeat, ("parameters",)), "parameters": repeat.parameters.numbers()}
                for repeat in self.repeats
            ],
            "parameters": {
                p.name: {key: getattr(p, key) for key in PARAMETER_FACTS} for p in self.model.parameters.values()
            },
            "evidence": self.evidence.to_json(),
            "warnings": list(self.evidence.warnings),
            "command_path": list(self.model.command_path),
            "command_path_choice": self.model.provenance.get("command_path_choice", ""),
            "contact": self.model.contact,
            "contact_choice": self.model.provenance.get("contact_choice", ""),
            "torque_off": self.evidence.torque_off(self.model.control).mode,
            "integrator": self.model.integrator,
            "step": self.model.step,
            "discretisation_error": step_cost(self.model),
            "selection": self.model.provenance.get("selection"),
            "file": None if file is None else str(file),
        }

    @classmethod
    @reading_json("the result of a model", IdentificationError)
    def from_json(cls, data: Mapping[str, Any], model: ServoModel) -> ModelResult:
        """Read the data of `to_json`, with the model read from its own file.

        Raises:
            IdentificationError: The data do not describe a result.
        """
        repeats = tuple(
            from_plain(
                Repeat,
                {"validation_rmse": None, **repeat},
                parameters=model.parameters.with_values(repeat["parameters"]),
            )
            for repeat in data["repeats"]
        )
        return from_plain(cls, data, model=model, repeats=repeats)


def best_of_each(fits: Iterable[ModelResult]) -> tuple[ModelResult, ...]:
    """Return one fit of each model, in nested order: a later one replaces an earlier one unless an error is larger."""
    best: dict[str, ModelResult] = {}
    for fit in fits:
        if fit.is_not_worse(best.setdefault(fit.model.friction, fit)):
            best[fit.model.friction] = fit
    return tuple(best[friction] for friction in FRICTION_MODELS if friction in best)


@dataclass(frozen=True, repr=False)
class Identification(Tabular):
    """Result of an identification: the split and one result per model, in nested order.

    Example:
        >>> found = sb.identify(sb.example(), "m1,m6")  # doctest: +SKIP
        >>> [result.model.friction for result in found.results]  # doctest: +SKIP
        ['m1', 'm6']
    """

    request: IdentificationRequest
    split: Split
    results: tuple[ModelResult, ...]
    stopped: bool
    """True if it was stopped before the end; the results so far are kept."""
    crossvalidation: CrossValidation | None = None
    """Cross-validation of the same servo; if there is one, it decides between the models."""
    diagnosis: Diagnosis | None = None
    """Findings of the runs about the result, see `core.identification.diagnosis`; None if they were not examined."""

    def with_provenance(self, more: Mapping[str, Any]) -> Identification:
        """Return the identification with more entries in the provenance of every model."""
        results = [
            replace(result, model=replace(result.model, provenance={**result.model.provenance, **more}))
            for result in self.results
        ]
        return replace(self, results=tuple(results))

    def judged_by(self, crossvalidation: CrossValidation) -> Identification:
        """Return the identification with a cross-validation that decides between the models.

        Raises:
            IdentificationError: The cross-validation is of another servo.
        """
        servo = crossvalidation.fits[0].model.servo
        if servo != self.results[0].model.servo:
            raise IdentificationError(
                f"the cross-validation is of {servo}, the models are of {self.results[0].model.servo}: "
                "cross-validate runs of this servo"
            )
        return replace(self, crossvalidation=crossvalidation)

    def heading(self) -> str:
        """Return the recommended model, the number of runs and the next step."""
        runs = len(self.split.train) + len(self.split.validation)
        model = f"{self.recommended.heading()}, recommended; from {runs} runs, {len(self.split.validation)} held out"
        return f"{model}. Next: {self.answer().next_step}"

    def row(self, friction: str, file: Path | None = None) -> dict[str, Any]:
        """Return a model's entry of `result.json`: its result, with the warnings and the next step of its answer."""
        answer = self.answer(friction)
        shown = {"warnings": [str(warning) for warning in answer.warnings], "next_step": answer.next_step}
        return {**self[friction].to_json(file), **shown}

    def answer(self, friction: str = "") -> Answer:
        """Return the verdict on a model, what to know before it is used, and the next step.

        Args:
            friction: Friction model. Default: the recommended one.

        Raises:
            KeyError: There is no such model.
        """
        # To a type checker, a cached property is no property.
        return answer_about(cast("Any", self), friction)

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the errors of each model [mrad]."""
        held_out = [r.validation_mae for r in self.results]
        return {
            "model": [r.model.friction.upper() for r in self.results],
            "training [mrad]": [r.train_mae * 1e3 for r in self.results],
            "held out [mrad]": [None if error is None else error * 1e3 for error in held_out],
            "evaluations": [r.evaluations for r in self.results],
            "warnings": [len(self.answer(r.model.friction).warnings) for r in self.results],
        }

    def __getitem__(self, friction: str) -> ModelResult:
        """Return the result of one friction model, e.g. `found["m6"]`; raises KeyError for one that was not fitted."""
        found = {result.model.friction: result for result in self.results}
        return found[friction.lower()]

    @property
    def contenders(self) -> list[Contender]:
        """Return what the choice between the models is based on if there is no cross-validation."""
        return [
            Contender(
                friction=result.model.friction,
                parameters=len(result.model.parameters.free),
                train_mae=result.train_mae,
                held_out=(tuple(result.held_out.values()),) if result.held_out else (),
                validation_mae=result.validation_mae,
            )
            for result in self.results
        ]

    @cached_property
    def recommendation(self) -> Recommendation:
        """Recommended model and the evidence for it, as text."""
        return recommend(
            self.contenders,
            self.crossvalidation,
            command_path=[name for name in COMMAND_PATH if name in self.results[0].model.parameters],
            runs=(*self.split.train, *self.split.validation),
            stopped=self.stopped,
        )

    @property
    def recommended(self) -> ModelResult:
        """Model to use: the choice of the cross-validation, else the simplest that is as good on the held-out runs."""
        return next(result for result in self.results if result.model.friction == self.recommendation.friction)

    @property
    def choice(self) -> str:
        """Explanation of the recommendation.

        It names the recommended model, the evidence, other models that are as good, and the reasons for the command
        path and for the contact.
        """
        found, origin = self.recommendation, self.results[0].model.provenance
        keys = () if found.by == CROSS_VALIDATION else ("command_path_choice", "contact_choice")
        return " ".join([found.text, *(origin[key] for key in keys if origin.get(key))])
