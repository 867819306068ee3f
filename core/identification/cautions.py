"""Answer of an identification: the verdict, and every doubt with its remedy, ordered by its possible effect.

This is the only place that makes the list. Remedies name settings by their titles in the window and in reports, never
by an option of a command.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from core.base.sealed import EDITED
from core.base.units import milliradians, significant
from core.base.words import capitalised
from core.identification.choice.recommendation import VALIDATION, Recommendation
from core.identification.choice.rule import FEW_RUNS, listed
from core.identification.coverage.findings import (
    BOUNDS,
    CAUSES,
    CROSS_VALIDATE,
    EXPORT,
    FREEZE,
    HOLD_OUT,
    IDENTIFY,
    POINTS,
    RECORD,
    RESUME,
    SEARCH,
    Diagnosis,
    Finding,
    ordered,
)
from core.identification.defaults import SEARCH_SHARE
from core.identification.evidence.model import STRIBECK, Evidence
from core.identification.request import IdentificationRequest
from core.identification.runs.conditions import IMPORT_AGAIN
from core.identification.runs.split import DEFAULT_RULE, Split
from core.identification.verdict import Answer, Step, Verdict
from core.motion.trajectories import PAPER_TRAJECTORIES, title_of
from core.servo.model import EDITED_ENTRY, ServoModel

UNSEEN = 1.5
"""Ratio of validation to training error from which a fit counts as overfitted to its runs."""

DISAGREEING = 0.05
"""Repeated searches agree if their training errors differ by less than this share."""

FAR = 3.0
"""Placed points with more than this many times the error of the runs contradict them."""

FEWEST_TRIALS = 1000
"""Smallest number of evaluations that "search longer" doubles."""

KNOWN = ("R", "kt", "armature")
"""Parameters that can be measured or looked up elsewhere: the first candidates to freeze."""

LABELS = {
    RESUME: "Resume",
    IDENTIFY: "Identify again",
    SEARCH: "Search longer",
    FREEZE: "Freeze",
    BOUNDS: "Change the bounds…",
    POINTS: "Leave the points out",
    HOLD_OUT: "Hold out",
    CROSS_VALIDATE: "Cross-validate",
    RECORD: "Record more runs",
    "": "Show the warning",
}
"""Text of the button of each action; those of some also name what they act on, see `step_of`."""

COSTS = (
    ("edited", "stopped", "one_run"),
    ("cause_",),
    ("unusable", "sign", "header_"),
    ("search", "repeats"),
    ("elsewhere", "points", "split", "choice", "time_step"),
    ("spike", "freeze", "step", "gap", "jitter", "encoder", "velocity_lag", "repetition"),
    ("conditions", "evidence", "term"),
    ("residual_",),
)
"""Prefixes of the kinds of findings, by what a doubt may affect.

The largest effect comes first: the result itself, a fact that all runs share, single headers, a better fit, motion the
fit has not seen, some runs, single values, physics that the model lacks.
"""


class Result(Protocol):
    """Model of an identification, see `core.identification.result.ModelResult`."""

    @property
    def model(self) -> ServoModel:
        """Identified model."""
        ...

    @property
    def train_mae(self) -> float:
        """Mean absolute error on the training runs [rad]."""
        ...

    @property
    def validation_mae(self) -> float | None:
        """Mean absolute error on the held-out runs [rad]."""
        ...

    @property
    def evaluations(self) -> int:
        """Evaluations of its search."""
        ...

    @property
    def evidence(self) -> Evidence:
        """Evidence of the training runs."""
        ...

    @property
    def step_cost(self) -> float | None:
        """Mean error due to the time step [rad]."""
        ...

    @property
    def spread(self) -> float | None:
        """Largest difference of training errors between repeats [rad]."""
        ...


class Results(Protocol):
    """Identification, see `core.identification.result.Identification`, which has `answer_about` as a method."""

    @property
    def request(self) -> IdentificationRequest:
        """Servo, models and options."""
        ...

    @property
    def split(self) -> Split:
        """Training runs and held-out runs."""
        ...

    @property
    def results(self) -> Sequence[Result]:
        """Results by model."""
        ...

    @property
    def stopped(self) -> bool:
        """True if it was stopped before the end."""
        ...

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Findings of the runs."""
        ...

    @property
    def recommendation(self) -> Recommendation:
        """Recommended model and the evidence for it."""
        ...

    @property
    def recommended(self) -> Result:
        """Result of the recommended model."""
        ...

    def __getitem__(self, friction: str, /) -> Result:
        """Return the result of a friction model."""
        ...


def by_cost(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort errors first, then warnings, then notes; within each, the largest possible effect first (COSTS)."""

    def cost(finding: Finding) -> int:
        return next((place for place, kinds in enumerate(COSTS) if finding.kind.startswith(kinds)), len(COSTS))

    return ordered(sorted(findings, key=cost))


def answer_about(found: Results, friction: str = "") -> Answer:
    """Return the answer about a model: the recommended one, or the one of this friction model.

    Raises:
        KeyError: The identification has no such model.
    """
    result = found[friction] if friction else found.recommended
    warnings = cautions(found, friction)
    # What was stopped is resumed first: every other remedy would throw its work away.
    due = sorted(
        (one for one in warnings if one.severity != "note" and one.remedy), key=lambda one: one.action != RESUME
    )
    return Answer(
        verdict=Verdict(
            friction=result.model.friction,
            error=result.train_mae if result.validation_mae is None else result.validation_mae,
            held_out=len(found.split.validation),
            by=found.recommendation.by,
            diagnosis=found.diagnosis,
            piece=result.model.control.piece,
        ),
        warnings=warnings,
        step=step_of(due[0], result.model)
        if due
        else Step(action=EXPORT, label="Export…", text="Export the model: there are no objections."),
    )


def step_of(warning: Finding, model: ServoModel) -> Step:
    """Return the step that carries out the remedy of a warning about a model."""
    label, subject = LABELS[warning.action], warning.subject
    if warning.action == HOLD_OUT:
        label = capitalised(held_out_words(subject))
    elif warning.action == FREEZE:
        name, _, value = subject.partition("=")
        parameter = model.parameters[name]
        unit = "" if parameter.unit == "1" else f" {parameter.unit}"
        label = f"Freeze {parameter.description.partition(',')[0]} at {significant(float(value))}{unit}"
    elif warning.action == RECORD and subject:
        label = f"Record {subject} more"
    # A remedy that needs a person needs the whole warning; what to look at fills a sentence by itself.
    explained = warning.action not in ("", BOUNDS)
    why = f", because {warning.text.removeprefix(f'{model.friction.upper()}: ')}" if explained else ""
    return Step(action=warning.action, subject=subject, label=label, text=f"{capitalised(warning.remedy)}{why}.")


def cautions(found: Results, friction: str = "") -> tuple[Finding, ...]:
    """Return what the user should know before using a model, see `answer_about`."""
    result = found[friction] if friction else found.recommended
    name, evidence = result.model.friction.upper(), result.evidence
    return by_cost(
        [
            *([_warning("stopped", "the search was stopped before its end", "resume the identification", RESUME)]
              if found.stopped else []),
            *([_warning("edited", f"the file of {name} was {EDITED}", "identify again", IDENTIFY)]
              if result.model.provenance.get(EDITED_ENTRY) else []),
            *_about_runs(found.diagnosis, result),
            *_about_errors(found, result),
            *_about_choice(found),
            *_about_repeats(result),
            *_about_points(result),
            *(_about_evidence(found.diagnosis, result, text) for text in evidence.warnings),
        ]
    )  # fmt: skip


def _about_runs(diagnosis: Diagnosis | None, result: Result) -> list[Finding]:
    """Return what the runs show; residuals concern only the model with which they were computed."""
    if diagnosis is None:
        text = "headers, clocks and residuals of the runs were not compared with this result"
        return [Finding(kind="undiagnosed", severity="note", text=text, remedy="write its report, which does that")]
    own = diagnosis.friction == result.model.friction
    return [found for found in diagnosis.findings if own or not found.kind.startswith("residual_")]


def _about_evidence(diagnosis: Diagnosis | None, result: Result, text: str) -> Finding:
    """Return a doubt of the evidence; bounds are changed only after causes outside the model were tried in vain."""
    evidence = result.evidence
    doubt, _, remedy = text.partition(": ")
    kinds = {evidence.elsewhere: "elsewhere", evidence.search: "search"}
    action, subject = _action(evidence, text, 2 * max(result.evaluations, FEWEST_TRIALS))
    cause = None if diagnosis is None else diagnosis.cause
    if cause is not None and (action == BOUNDS or text in evidence.no_stribeck()):
        likely = CAUSES.get(cause.kind.removeprefix("cause_"), "a wrong fact")
        action, subject, remedy = "", "", f"first remove the likely cause, {likely}"
    elif action == BOUNDS and diagnosis is not None and diagnosis.tried and diagnosis.friction == result.model.friction:
        tried = listed([CAUSES[kind] for kind in diagnosis.tried if kind in CAUSES])
        remedy += f"; fits with {tried} are no better, so if all that is right, widen the bound"
    elif action == BOUNDS:
        action = subject = ""
    return _warning(kinds.get(text, "evidence"), f"{result.model.friction.upper()}: {doubt}", remedy, action, subject)


def _action(evidence: Evidence, text: str, trials: int) -> tuple[str, str]:
    """Return the action that carries out the remedy of a warning of the evidence, and its subject."""
    if text == evidence.search:
        return SEARCH, str(trials)
    if text == evidence.elsewhere or text in evidence.conditions:
        return "" if IMPORT_AGAIN in text else RECORD, ""
    for names, explanation in evidence.open_groups():
        if text == explanation:
            concerned = [p for p in evidence.parameters if p.name in names and not p.frozen]
            pick = next((p for name in KNOWN for p in concerned if p.name == name), concerned[-1])
            return FREEZE, f"{pick.name}={pick.initial!r}"
    for p in evidence.parameters:
        if p.at_bound and p.name not in STRIBECK and text == p.bound_warning:
            return (FREEZE, f"{p.name}={p.bound!r}") if p.at_limit else (BOUNDS, p.name)
    return "", ""


def _about_errors(found: Results, result: Result) -> list[Finding]:
    held, cost = result.validation_mae, result.step_cost
    warnings: list[Finding] = []
    if held is None and len(found.split.train) == 1:
        text = "the fit used only 1 run, so the error on unseen motion is unknown"
        more = str(len(PAPER_TRAJECTORIES) - 1)
        warnings.append(_warning("one_run", text, "record more runs and hold some of them out", RECORD, more))
    elif held is None:
        text = "no run was held out, so the error on unseen motion is unknown"
        rule = (found.diagnosis.hold_out if found.diagnosis is not None else "") or DEFAULT_RULE
        warnings.append(_warning("split", text, f"{held_out_words(rule)} and identify again", HOLD_OUT, rule))
    elif not math.isfinite(held) or held > UNSEEN * result.train_mae:
        warnings.append(
            _warning(
                "split",
                f"the error on held-out runs is {held / result.train_mae:.2g} times that on training runs"
                if math.isfinite(held)
                else "the simulation of a held-out run diverges",
                "record more conditions, or use a simpler model",
                RECORD,
            )
        )
    if cost is not None and cost > SEARCH_SHARE * max(result.train_mae, result.model.spec.rounding_error):
        warnings.append(
            _warning(
                "time_step",
                f"the time step costs {1e3 * cost:.2f} mrad, more than a tenth of the error: the values are valid for "
                "this time step only",
                _finer_step(result.model, found.request),
            )
        )
    return warnings


def _about_choice(found: Results) -> list[Finding]:
    """Return a doubt if there are too few held-out runs to choose a model."""
    held = len(found.split.validation)
    if found.recommendation.by != VALIDATION or held >= FEW_RUNS or len(found.results) < 2:
        return []
    runs = "1 held-out run is" if held == 1 else f"{held} held-out runs are"
    text = f"{runs} too few to choose a model"
    rule = found.diagnosis.hold_out if found.diagnosis is not None else ""
    if rule and "=" not in found.split.rule:
        remedy = f"{held_out_words(rule)} and identify again"
        return [_warning("choice", text, remedy, HOLD_OUT, rule)]
    remedy = "cross-validate, which holds out each condition in turn"
    return [_warning("choice", text, remedy, CROSS_VALIDATE)]


def held_out_words(rule: str) -> str:
    """Return the remedy that holds out a condition, e.g. "hold out kp = 400"."""
    condition, equals, value = rule.partition("=")
    if not equals:
        return f"hold out {rule.replace('%', ' %')} of the runs"
    if condition == "trajectory":
        return f"hold out “{title_of(value)}”"
    return f"hold out {condition} = {float(value):g}"


def _about_points(result: Result) -> list[Finding]:
    """Return a doubt about placed points whose error is far larger than that of the runs."""
    points = result.model.provenance.get("placed_points")
    if not points or points["mean_error"] <= FAR * result.train_mae:
        return []
    text = (
        f"the {points['count']} placed points are off by {milliradians(points['mean_error'])} mrad, the runs by "
        f"{milliradians(result.train_mae)} mrad"
    )
    return [_warning("points", text, "measure the points again, or fit without them", POINTS)]


def _finer_step(model: ServoModel, request: IdentificationRequest) -> str:
    if not model.leapfrog:
        return "identify with the leapfrog integrator, which is of second order"
    if request.substeps is not None:
        return "leave the substeps automatic, so that the fit takes as many as it needs, or state more"
    return f"identify with {2 * model.substeps} substeps or more"


def _about_repeats(result: Result) -> list[Finding]:
    """Return a doubt if repeated searches disagree."""
    if result.spread is None or result.spread <= DISAGREEING * result.train_mae:
        return []
    text = f"repeated searches of {result.model.friction.upper()} end {1e3 * result.spread:.2f} mrad apart"
    remedy = "identify with more evaluations; the values of an unconverged search mean little"
    return [_warning("repeats", text, remedy, SEARCH, str(2 * max(result.evaluations, FEWEST_TRIALS)))]


def _warning(kind: str, text: str, remedy: str = "", action: str = "", subject: str = "") -> Finding:
    return Finding(kind=kind, severity="warning", text=text, remedy=remedy, action=action, subject=subject)
