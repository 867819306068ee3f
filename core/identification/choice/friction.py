"""Contact and memory of the load of an identification that leaves them to the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.base.errors import ModelError
from core.identification.choice.rule import EQUAL
from core.identification.request import IdentificationRequest
from core.identification.search.polish import best_end
from core.identification.search.prior import Prior
from core.identification.search.timestep import Simulated
from core.motion.recording import Recording
from core.servo.model import ServoModel, with_contact
from core.servo.parameters import ParameterSet
from core.servo.terms import CONTACT_TITLES, YIELDING, path_of

MEMORIES = (0.1, 0.4)
"""Time constants from which the memory of the load is polished [s]."""
FEW_RUNS = 5
"""Smallest number of training runs from which a choice is not called weak."""
NOT_COMPARED = "The contact is rigid: this fit cannot be repeated with one that yields."


def friction_choice(
    request: IdentificationRequest, rigid: ServoModel, train: Sequence[Recording]
) -> tuple[IdentificationRequest, str]:
    """Return the request with the contact and memory that follow the training runs best, and the reasons.

    The fit with a rigid contact is polished, and so is it with a rational elastoplastic one, which costs little beside
    a search, and the better one with a memory of the load. Each is chosen if the error is smaller by more than the
    share EQUAL, whatever the number of runs: a contact is stiff if nothing yields, and a memory can be short.

    Args:
        request: Options of the fit.
        rigid: Model that was fitted with a rigid contact, of these or some of these runs.
        train: Training runs.
    """
    stiff = replace(request, contact="rigid")
    if request.points or not (request.polish and rigid.leapfrog):
        return stiff, f"{NOT_COMPARED} Nor was a memory of the load tried."
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
    chosen = replace(request, contact=best.contact)
    if "load_memory" in request.command_path or "load_memory" not in path_of(rigid.friction, ["load_memory"]):
        return chosen, reason
    memory = replace(best.spec.parameters(best.friction, ("load_memory",))["load_memory"], value=0.0)
    without = replace(best, parameters=ParameterSet([*best.parameters.values(), memory]))
    starts = [without.with_values({"load_memory": time}) for time in MEMORIES]
    lasting, other = _polished(request, without, train, starts)
    if other < (1.0 - EQUAL) * error:
        reason += (
            f" Friction by the load has a memory of {lasting.values['load_memory']:.2g} s: "
            f"{1e3 * other:.3g} mrad with it, {1e3 * error:.3g} without.{weak}"
        )
        chosen = replace(chosen, command_path=(*chosen.command_path, "load_memory"))
    return chosen, reason


def _polished(
    request: IdentificationRequest,
    model: ServoModel,
    train: Sequence[Recording],
    starts: Sequence[ServoModel] = (),
) -> tuple[ServoModel, float]:
    """Return a model polished on the runs, from its values and from those of `starts`, and its error [rad]."""
    how = Simulated(
        dt=request.dt, supply=request.supply, threads=request.threads, prior=Prior.about(model, request.prior)
    )
    batch = how.batch(model, train)
    end, _ = best_end(batch, model.parameters.vector(), [start.parameters.vector() for start in starts], [])
    return model.with_vector(end), float(batch.scores(end[None]).combined(request.metric)[0])


def is_same_fit(model: ServoModel, request: IdentificationRequest) -> bool:
    """Return True if a request with these choices would fit the model as it was fitted with a rigid contact.

    Such is a model without friction by the load if the runs chose a memory of the load only.
    """
    return request.contact == model.contact == "rigid" and "load_memory" not in path_of(
        model.friction, request.command_path
    )
