"""Contact and further terms of an identification that leaves them to the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.base.errors import ModelError
from core.identification.choice.rule import EQUAL
from core.identification.request import IdentificationRequest
from core.identification.search.polish import best_end
from core.identification.search.timestep import Simulated
from core.motion.recording import Recording
from core.servo.model import ServoModel, with_contact
from core.servo.parameters import ParameterSet
from core.servo.terms import CHOSEN_TERMS, COMMAND_PATH, CONTACT_TITLES, YIELDING, path_of

FEW_RUNS = 5
"""Smallest number of training runs from which a choice is not called weak."""
NOT_COMPARED = "The contact is rigid: this fit cannot be repeated with one that yields."


def friction_choice(
    request: IdentificationRequest, rigid: ServoModel, train: Sequence[Recording]
) -> tuple[IdentificationRequest, ServoModel, str]:
    """Return the request with the contact and terms that follow the training runs best, such a model, and the reasons.

    The fit with a rigid contact is polished, and so is it with a rational elastoplastic one, which costs little beside
    a search, and the best so far with each of CHOSEN_TERMS. Each is chosen if the error is smaller by more than the
    share EQUAL, whatever the number of runs: a contact is stiff if nothing yields, and terms can be small.

    Args:
        request: Options of the fit.
        rigid: Model that was fitted with a rigid contact, of these or some of these runs.
        train: Training runs.
    """
    stiff = replace(request, contact="rigid")
    if request.points or not (request.polish and rigid.leapfrog):
        return stiff, rigid, f"{NOT_COMPARED} Nor were more terms tried."
    few = {1: "One run says", **{count: f"{count} runs say" for count in range(2, FEW_RUNS)}}
    weak = f" {few[len(train)]} little about it." if len(train) in few else ""
    best, error = _polished(request, rigid, train)
    try:
        yielding, other = _polished(request, with_contact(rigid, YIELDING), train)
    except ModelError:
        reason = NOT_COMPARED
    else:
        compared = (
            f"{1e3 * other:.3g} mrad with a rational elastoplastic one, {1e3 * error:.3g} with a rigid one.{weak}"
        )
        if other < (1.0 - EQUAL) * error:
            best, error = yielding, other
        title = CONTACT_TITLES[best.contact].lower()
        reason = f"The contact is {title}: on the training runs {rigid.friction.upper()} errs {compared}"
    path = request.command_path
    for name in _untried(request, rigid.friction):
        term = COMMAND_PATH[name]
        added = replace(best.spec.parameters(best.friction, (name,))[name], value=term.neutral)
        without = replace(best, parameters=ParameterSet([*best.parameters.values(), added]))
        starts = [without.with_values({name: start}) for start in CHOSEN_TERMS[name]]
        better, other = _polished(request, without, train, starts)
        if other < (1.0 - EQUAL) * error:
            # From elsewhere, a polish may find a better fit that does not need the term.
            rest = [parameter for parameter in better.parameters.values() if parameter.name != name]
            bare, least = _polished(request, replace(better, parameters=ParameterSet(rest)), train)
            if least < error:
                best, error = bare, least
        if other < (1.0 - EQUAL) * error:
            unit = "" if term.unit == "1" else f" {term.unit}"
            reason += (
                f" The model has the term {name}, {term.title}: {1e3 * other:.3g} mrad with {term.symbol} = "
                f"{better.values[name]:.2g}{unit}, {1e3 * error:.3g} without.{weak}"
            )
            best, error, path = better, other, (*path, name)
    return replace(request, contact=best.contact, command_path=path), best, reason


def _untried(request: IdentificationRequest, friction: str) -> list[str]:
    """Return those of CHOSEN_TERMS that the request lacks and a friction model can have.

    The offset of the output belongs to a command path by angle, as the dead band does.
    """
    return [
        name
        for name in path_of(friction, CHOSEN_TERMS)
        if name not in request.command_path and (name != "output_offset" or "dead_band" in request.command_path)
    ]


def _polished(
    request: IdentificationRequest,
    model: ServoModel,
    train: Sequence[Recording],
    starts: Sequence[ServoModel] = (),
) -> tuple[ServoModel, float]:
    """Return a model polished on the runs, from its values and from those of `starts`, and its error [rad]."""
    asked = replace(request, contact=model.contact, command_path=model.command_path)
    batch = Simulated.asked(asked, model.friction, len(train)).batch(model, train)
    end, _ = best_end(batch, model.parameters.vector(), [start.parameters.vector() for start in starts], [])
    return model.with_vector(end), float(batch.scores(end[None]).combined(request.metric)[0])


def is_same_fit(friction: str, request: IdentificationRequest, chosen: IdentificationRequest) -> bool:
    """Return True if a request with these choices fits a friction model as the request with a rigid contact does.

    Such is a model without friction by the load if the runs chose a memory of the load only.
    """
    same_path = path_of(friction, chosen.command_path) == path_of(friction, request.command_path)
    return chosen.contact == "rigid" and same_path
