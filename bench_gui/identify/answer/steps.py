"""Next steps: the doubts about a model, each with the one action that would help, costliest first.

The cost of a doubt is the share of the answer that it concerns: 1 if the model as a whole may be wrong, otherwise
the share of its free parameters. Plain data; `next_panel` gives each kind of step its button.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench_gui.identify.fit.messages import FitResult, FittedModel
from core.identification.evidence.model import STRIBECK, Evidence, ParameterEvidence
from core.identification.verdict import points_apart
from core.trajectories import title_of
from core.units import significant
from core.words import capitalised, counted

if TYPE_CHECKING:
    from bench_gui.headless.next_recordings import NextRecordings

MOST = 3
FREEZE, BOUNDS, HOLD_OUT, CROSS_VALIDATE = "freeze", "bounds", "hold out", "cross-validate"
SEARCH, POINTS = "search", "points"
PROPOSE, QUEUE, COVERAGE, IDENTIFY = "propose", "queue", "coverage", "identify"
"""Kinds of steps."""

_AFTERWARDS = {
    **dict.fromkeys((FREEZE, BOUNDS, HOLD_OUT, SEARCH, POINTS), ", then identify again"),
    PROPOSE: ", record them, then identify again",
    QUEUE: ", record them, then identify again",
}
"""Text that follows a step's sentence, by its kind."""
_KNOWN = ("R", "kt", "armature")
"""Parameters that can be measured or looked up elsewhere: the first candidates to freeze."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do."""

    kind: str
    text: str
    """Sentence: the problem, or what to find out."""
    button: str
    tip: str
    value: Any = None
    """Argument of the action: name and value to freeze, rule to hold out, number of evaluations."""
    cost: float = 1.0
    """Share of the answer in doubt, 0 … 1."""
    more: str = ""
    """Full text of the warning that the sentence is taken from."""


def first_steps(proposals: NextRecordings | None) -> tuple[Step, ...]:
    """Useful steps before the first identification."""
    check = Step(
        kind=COVERAGE,
        text="Check these runs before you fit them: which terms they determine, their timing, faulty readings.",
        button="Check coverage",
        tip="Check what the chosen runs can determine, and what is wrong with them",
    )
    return check, _recording("Find the most informative recordings for this servo.", proposals, 1.0)


def next_steps(
    row: FittedModel,
    result: FitResult,
    conditions: Sequence[tuple[str, str]],
    changed: Sequence[str],
    proposals: NextRecordings | None,
) -> tuple[Step, ...]:
    """Return at most MOST steps for a model of a result, costliest doubt first.

    Args:
        row: the model.
        result: the result it belongs to.
        conditions: text and rule of each condition that could be held out.
        changed: titles of settings that differ from the result's.
        proposals: recordings proposed for the present runs, or None.
    """
    evidence = row.evidence
    if evidence is None:
        return ()
    found = [*_about_search(row, evidence), *_about_judging(result, conditions), *_about_values(evidence)]
    if text := points_apart(row.model, row.train_mae):
        found.append(
            Step(
                kind=POINTS,
                text=text,
                button="Leave the points out",
                tip="Fit only the runs in the next identification",
                cost=0.8,
            )
        )
    lacking = [evidence.elsewhere] if evidence.elsewhere else list(evidence.conditions)
    if lacking or proposals is not None:
        more = lacking[0] if lacking else ""
        text = capitalised(_problem(more)) if lacking else ""
        found.append(replace(_recording(text, proposals, 1.0 if evidence.elsewhere else 0.5), more=more))
    found.sort(key=lambda step: -step.cost)
    if changed:
        again = "Identify again"
        text = f"Settings have changed since: {', '.join(changed)}."
        found.insert(0, Step(kind=IDENTIFY, text=text, button=again, tip="Search with the current settings"))
    return tuple(found[:MOST])


def sentence(steps: Sequence[Step], row: FittedModel) -> str:
    """One sentence about what to do next."""
    if not steps:
        return f"Next: use {row.model.friction.upper()}, or export it; no open doubts."
    act = steps[0].button[0].lower() + steps[0].button[1:].rstrip("…")
    return f"Next: {act}{_AFTERWARDS.get(steps[0].kind, '')}."


def _about_search(row: FittedModel, evidence: Evidence) -> list[Step]:
    if not evidence.search:
        return []
    trials = 2 * max(row.evaluations, 1000)
    return [
        Step(
            kind=SEARCH,
            text=capitalised(_problem(evidence.search)),
            more=evidence.search,
            button="Search longer",
            tip=f"Allow {trials} evaluations for each model in the next identification",
            value=trials,
        )
    ]


def _about_judging(result: FitResult, conditions: Sequence[tuple[str, str]]) -> list[Step]:
    """Steps for weak evidence on the choice between models: hold out the most informative condition."""
    if result.verdict(result.best).strength not in ("none", "weak") or len(result.models) < 2:
        return []
    held_out = result.held_out
    so_far = "No run was held out" if not held_out else f"Only {counted(held_out, 'run')} judged the models"
    order = ("mass", "kp", "length", "trajectory")
    if "=" in result.request.validation or not conditions:
        if not conditions:
            return []
        text = f"{so_far}. A cross-validation holds out every condition in turn."
        tip = "Fit each model with one condition held out at a time; this takes minutes"
        return [Step(kind=CROSS_VALIDATE, text=text, button="Cross-validate", tip=tip, cost=0.6)]
    # Prefer the largest value of the condition that changes a servo's load or stiffness most.
    title, rule = min(reversed(conditions), key=lambda one: order.index(one[1].partition("=")[0]))
    if rule.startswith("trajectory="):
        # The title alone is clear, and short enough for the card.
        title = f"“{title_of(rule.partition('=')[2])}”"
    text = f"{so_far}. Holding out a whole condition shows whether the model transfers to it."
    tip = "Use this split in the next identification"
    return [Step(kind=HOLD_OUT, text=text, button=f"Hold out {title}", tip=tip, value=rule, cost=0.7)]


def _about_values(evidence: Evidence) -> list[Step]:
    """Steps for parameters that are not determined, at a bound of their search, or without effect."""
    free = [p for p in evidence.parameters if not p.frozen]
    found: list[Step] = []
    for names, text in evidence.open_groups():
        concerned = [p for p in free if p.name in names]
        if concerned:
            pick = next((p for name in _KNOWN for p in concerned if p.name == name), concerned[-1])
            step = _freezing(pick, pick.initial, _problem(text), len(concerned) / len(free))
            found.append(replace(step, more=text))
    for p in free:
        if p.at_limit:
            found.append(_freezing(p, p.bound, f"{p.bound_warning}.", 0.0))
        elif p.at_bound and p.name not in STRIBECK:
            text = _problem(p.bound_warning)
            tip = "Change the bounds of its search, or freeze it"
            found.append(
                Step(
                    kind=BOUNDS,
                    text=text,
                    button=f"Bounds of {p.symbol}…",
                    tip=tip,
                    cost=1.0 / len(free),
                    more=p.bound_warning,
                )
            )
    return found


def _problem(warning: str) -> str:
    """Sentence with the problem alone: a warning's text up to its explanation and remedy."""
    return re.split(r"[:;.] ", warning)[0].rstrip(".") + "."


def _freezing(p: ParameterEvidence, value: float, text: str, cost: float) -> Step:
    unit = "" if p.unit == "1" else f" {p.unit}"
    return Step(
        kind=FREEZE,
        text=text,
        button=f"Freeze {p.symbol} at {significant(value)}{unit}",
        tip="Keep this value in the next identification; set another one in Bounds and frozen parameters",
        value=(p.name, value),
        cost=cost,
    )


def _recording(why: str, proposals: NextRecordings | None, cost: float) -> Step:
    if proposals is None or not proposals.proposals:
        tip = "Find the cells of the recording plan that would narrow the intervals most"
        return Step(kind=PROPOSE, text=why, button="Propose recordings", tip=tip, cost=cost)
    best, count = proposals.proposals[0], len(proposals.proposals)
    cell = best.cell
    text = f"Record {title_of(cell.trajectory)} at {cell.mass:g} kg, kp {cell.kp:g}: {best.words}."
    text += f" {counted(count - 1, 'more recording')} proposed." if count > 1 else ""
    tip = "Add the proposed recordings to the end of the queue in Record; nothing starts automatically"
    return Step(kind=QUEUE, text=text, button=f"Add {count} to the queue", tip=tip, cost=cost)
