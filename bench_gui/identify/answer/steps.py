"""Next steps: the warnings about a model in their order, each with the button that carries out its remedy.

`core.identification.cautions` makes the list. Plain data; `next_panel` gives each kind of step its button.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.base.units import significant
from core.base.words import capitalised, counted
from core.identification.cautions import held_out_words
from core.identification.coverage.findings import (
    BOUNDS,
    CROSS_VALIDATE,
    FREEZE,
    HOLD_OUT,
    IDENTIFY,
    POINTS,
    RECORD,
    RESUME,
    SEARCH,
    Finding,
)
from core.identification.next.proposal import NextRecordings
from core.identification.verdict import Answer
from core.motion.trajectories import title_of
from core.servo.model import ServoModel

MOST = 3
PROPOSE, QUEUE, COVERAGE = "propose", "queue", "coverage"
"""Kinds of steps besides the actions of a finding."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do."""

    kind: str = ""
    """Kind of the action; empty for a step that only a person can do."""
    text: str
    """Sentence: the problem, or what to find out."""
    button: str = ""
    tip: str = ""
    value: Any = None
    """Argument of the action: name and value to freeze, rule to hold out, number of evaluations."""
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
    return check, _recording("Find the most informative recordings for this servo.", proposals)


def next_steps(
    answer: Answer, model: ServoModel, changed: Sequence[str], proposals: NextRecordings | None
) -> tuple[Step, ...]:
    """Return at most MOST steps: the remedies of the answer's warnings, in their order.

    Args:
        answer: Answer about the model.
        model: The model.
        changed: Titles of settings that differ from the result's.
        proposals: Recordings proposed for the present runs, or None.
    """
    found = [
        _step(warning, model, proposals) for warning in answer.warnings if warning.severity != "note" and warning.remedy
    ]
    if proposals is not None and not any(step.kind in (PROPOSE, QUEUE) for step in found):
        found.append(_recording("", proposals))
    if changed:
        text = f"Settings have changed since: {', '.join(changed)}."
        again = Step(kind=IDENTIFY, text=text, button="Identify again", tip="Search with the current settings")
        found.insert(0, again)
    return tuple(found[:MOST])


def _step(warning: Finding, model: ServoModel, proposals: NextRecordings | None) -> Step:
    text = f"{capitalised(warning.text)}."
    if warning.action == RECORD:
        return _recording(text, proposals, str(warning))
    if warning.action not in _BUTTONS:
        return Step(text=f"{text} {capitalised(warning.remedy)}.")
    button, tip, value = _BUTTONS[warning.action](warning.subject, model)
    return Step(kind=warning.action, text=text, button=button, tip=tip, value=value, more=str(warning))


def _freezing(subject: str, model: ServoModel) -> tuple[str, str, Any]:
    name, _, text = subject.partition("=")
    parameter, value = model.parameters[name], float(text)
    unit = "" if parameter.unit == "1" else f" {parameter.unit}"
    return (
        f"Freeze {parameter.symbol} at {significant(value)}{unit}",
        "Keep this value in the next identification; set another one in Bounds and frozen parameters",
        (name, value),
    )


_BUTTONS: Mapping[str, Callable[[str, ServoModel], tuple[str, str, Any]]] = {
    RESUME: lambda *_: ("Resume", "Continue the search where it was stopped", None),
    IDENTIFY: lambda *_: ("Identify again", "Search with the current settings", None),
    SEARCH: lambda trials, _: (
        "Search longer", f"Allow {trials} evaluations for each model in the next identification", int(trials)
    ),
    FREEZE: _freezing,
    BOUNDS: lambda name, model: (
        f"Bounds of {model.parameters[name].symbol}…", "Change the bounds of its search, or freeze it", None
    ),
    POINTS: lambda *_: ("Leave the points out", "Fit only the runs in the next identification", None),
    HOLD_OUT: lambda rule, _: (
        capitalised(held_out_words(rule)), "Use this split in the next identification", rule
    ),
    CROSS_VALIDATE: lambda *_: (
        "Cross-validate", "Fit each model with one condition held out at a time; this takes minutes", None
    ),
}  # fmt: skip
"""Button, tip and value of each action of a finding."""


def _recording(why: str, proposals: NextRecordings | None, more: str = "") -> Step:
    if proposals is None or not proposals.proposals:
        tip = "Find the cells of the recording plan that would narrow the intervals most"
        return Step(kind=PROPOSE, text=why, button="Propose recordings", tip=tip, more=more)
    best, count = proposals.proposals[0], len(proposals.proposals)
    cell = best.cell
    text = f"Record {title_of(cell.trajectory)} at {cell.mass:g} kg, kp {cell.kp:g}: {best.words}."
    text += f" {counted(count - 1, 'more recording')} proposed." if count > 1 else ""
    tip = "Add the proposed recordings to the end of the queue in Record; nothing starts automatically"
    return Step(kind=QUEUE, text=text, button=f"Add {count} to the queue", tip=tip, more=more)
