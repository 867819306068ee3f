"""Identification: the request, the search for each model and repeat, and the result.

Models are fitted in nested order, and the simpler one's optimum is among the richer one's starts. A richer model
therefore never scores worse on the recordings it was fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from core.base.errors import IdentificationError, ModelError
from core.identification.choice.rule import EQUAL, NOT_TRIED, SHIFTED, command_path_choice
from core.identification.fitting import ModelFits, Progress, budget_of
from core.identification.misread import misread
from core.identification.request import IdentificationRequest, search_template
from core.identification.result import Identification, ModelResult, best_of_each
from core.identification.runs.conditions import check_runs, suited
from core.identification.runs.split import DEFAULT_RULE, Split, SplitError, split_recordings
from core.identification.search.polish import best_end
from core.identification.search.prior import Prior
from core.identification.search.steps import one_blas_thread
from core.identification.search.timestep import Simulated
from core.identification.workload import Workload
from core.motion.recording import Recording
from core.servo.model import ServoModel, with_contact
from core.servo.parameters import ParameterSet
from core.servo.terms import AUTOMATIC, CONTACT_TITLES, YIELDING, path_of

MEMORIES = (0.1, 0.4)
"""Time constants from which the memory of the load is polished [s]."""
NOT_COMPARED = "The contact is rigid: this fit cannot be repeated with one that yields."

__all__ = ["IdentificationRequest", "Progress", "fit_repeat", "identify"]


@one_blas_thread()
def identify(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    *,
    folder: Path | None = None,
    storage: str = "",
    resume: bool = False,
    known: Sequence[ModelResult] = (),
    on_progress: Callable[[Progress], None] | None = None,
    on_recorded: Callable[[Progress], None] | None = None,
    on_stage: Callable[[float, str], object] = lambda done, text: None,
    on_result: Callable[[ModelResult], None] = lambda result: None,
    should_stop: Callable[[], bool] | None = None,
    should_yield: Callable[[], bool] | None = None,
) -> Identification:
    """Fit every requested model.

    With `command_path_if_better`, the command path is tried first, on the richest model. With an automatic contact, the
    richest model's fit with a rigid one chooses the contact and whether friction has a memory of the load, see
    `friction_choice`. The result's request contains these decisions.

    Args:
        request: Servo, models and options.
        recordings: Recordings of one servo.
        folder: Folder that keeps the Optuna studies in a journal; the caller writes the models.
        storage: Address of another storage for the studies, see `open_storage`; their names begin with the folder's
            name.
        resume: Continue recorded searches.
        known: Results of earlier stops of this identification. If it is stopped again, no error of a model is larger
            than there, see `best_of_each`.
        on_progress: Called after each generation.
        on_recorded: Called instead for each recorded generation of a resumed search.
        on_stage: Called with the share done and the next stage outside the searches, e.g. "M6: values and intervals".
        on_result: Called with the result of each model.
        should_stop: Polled between generations. True stops and keeps the best so far.
        should_yield: Polled between generations. True leaves one processor to others, with the same result.

    Returns:
        The split and one result per model.

    Raises:
        UnusableRuns: No model can be fitted to some runs.
        IdentificationError: The request does not fit the recordings.
    """
    asked, request = request, suited(request, recordings)
    split = split_recordings(recordings, request.validation, request.seed)
    train, validation = _divided(recordings, split)
    searches = partial(
        ModelFits,
        folder=folder,
        storage=storage,
        resume=resume,
        work=Workload(),
        on_progress=on_progress,
        on_recorded=on_recorded,
        on_stage=on_stage,
        should_stop=should_stop,
        should_yield=should_yield,
    )
    tried: tuple[ModelResult, ...] = ()
    reasons: dict[str, str] = {}
    if request.command_path_if_better:
        trial, reasons["command_path_choice"] = _command_path_tried(asked, recordings, split, searches)
        if trial.stopped:
            return _stopped(trial, known)
        request, tried = trial.request, trial.results

    def fits(
        request: IdentificationRequest, tried: Sequence[ModelResult], others: Sequence[ModelResult] = ()
    ) -> Identification:
        job = searches(request, train, validation, reasons=reasons)
        results: list[ModelResult] = []
        for friction in request.models:
            # A model without friction by the load, which has no memory, is as it was.
            same = [one for one in others if one.model.friction == friction and job.is_of(one.model)]
            if same:
                results += same
                continue
            results.append(job.fit(friction, split, results))
            if job.stopped:
                found = Identification(job.request, split, tuple(results), stopped=True)
                return _stopped(found, (*known, *tried, *others))
            on_result(results[-1])
        return Identification(job.request, split, best_of_each([*results, *tried]), stopped=False)

    if request.contact != AUTOMATIC:
        return fits(request, tried)
    return _with_chosen_friction(request, train, tried, reasons, fits)


def _with_chosen_friction(
    request: IdentificationRequest,
    train: Sequence[Recording],
    tried: Sequence[ModelResult],
    reasons: dict[str, str],
    fits: Callable[..., Identification],
) -> Identification:
    """Fit the models with the contact and the memory that the runs choose; `reasons` receives why."""
    found = None if tried else fits(request, ())
    if found is not None and found.stopped:
        return found
    rigid = [*tried, *(found.results if found else ())]
    chosen, reasons["contact_choice"] = friction_choice(request, rigid[-1].model, train)
    if chosen != replace(request, contact="rigid"):
        found = fits(chosen, (), rigid)
    elif found is None:
        found = fits(chosen, tried)
    else:
        found = replace(found, request=replace(found.request, contact="rigid"))
    return found.with_provenance(reasons)


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
        return stiff, NOT_COMPARED
    weak = " One run says little about it." if len(train) == 1 else ""
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
    lasting, other = _polished(request, without, train, {"load_memory": MEMORIES})
    if other < (1.0 - EQUAL) * error:
        reason += (
            f" Friction by the load follows it with a time constant of {lasting.values['load_memory']:.2g} s: "
            f"{1e3 * other:.3g} mrad with this memory, {1e3 * error:.3g} without.{weak}"
        )
        chosen = replace(chosen, command_path=(*chosen.command_path, "load_memory"))
    return chosen, reason


def _polished(
    request: IdentificationRequest,
    model: ServoModel,
    train: Sequence[Recording],
    starts: Mapping[str, Sequence[float]] = MappingProxyType({}),
) -> tuple[ServoModel, float]:
    """Return a model polished on the runs, from its values and from these of its parameters, and its error [rad]."""
    how = Simulated(
        dt=request.dt, supply=request.supply, threads=request.threads, prior=Prior.about(model, request.prior)
    )
    batch = how.batch(model, train)
    ends = [model.with_values({name: value}).parameters.vector() for name in starts for value in starts[name]]
    end, _ = best_end(batch, model.parameters.vector(), ends, [])
    return model.with_vector(end), float(batch.scores(end[None]).combined(request.metric)[0])


def _stopped(found: Identification, earlier: Sequence[ModelResult]) -> Identification:
    """Return what a stopped identification found, and the earlier fits that are better."""
    results = best_of_each([*earlier, *found.results])
    model = results[-1].model
    request = replace(found.request.settled(model.command_path), contact=model.contact)
    return replace(found, request=request, results=results)


def _command_path_tried(
    request: IdentificationRequest, recordings: Sequence[Recording], split: Split, searches: Callable[..., ModelFits]
) -> tuple[Identification, str]:
    """Fit the richest model without and with the command path; return the better identification and the reason.

    Without held-out runs, nothing is fitted and the path is left out.
    """
    with suppress(SplitError):
        if not split.validation:
            split = split_recordings(recordings, DEFAULT_RULE, request.seed)
    without, path = (suited(request.settled(terms), recordings) for terms in ((), request.command_path))
    if not split.validation:
        return Identification(without, split, (), stopped=False), NOT_TRIED
    train, validation = _divided(recordings, split)
    richest = request.models[-1]
    variants = {"without": without, "with": path}
    asked = [(variants[how], richest) for how in variants] + [(variants["with"], model) for model in request.models]
    budgets = [request.repeats * budget_of(one, search_template(one, model)) for one, model in asked]
    found: list[Identification] = []
    for place, (how, wanted) in enumerate(variants.items(), 1):
        job = searches(wanted, train, validation, trial=f"{how} the command path", later=budgets[place:])
        found.append(Identification(job.request, split, (job.fit(richest, split, ()),), job.stopped))
        if job.stopped:
            break
    better, why = command_path_choice(*(tried.contenders[0] for tried in found)) if len(found) > 1 else (False, "")
    if why and not better and any(one.rows for one in misread(train, threads=request.threads)):
        better, why = True, SHIFTED
    chosen = replace(found[-1 if better else 0], stopped=found[-1].stopped)
    return chosen if chosen.stopped else chosen.with_provenance({"command_path_choice": why}), why


@one_blas_thread()
def fit_repeat(
    request: IdentificationRequest,
    friction: str,
    recordings: Sequence[Recording],
    split: Split,
    repeat: int,
    simpler: Sequence[ModelResult] = (),
) -> ModelResult:
    """Fit one model by the search of one repeat: an independent part of `identify`.

    Args:
        request: Servo, models and options.
        friction: Friction model.
        recordings: Recordings of one servo.
        split: Split of these recordings, instead of the request's rule.
        repeat: Number of the repeat, 0 to request.repeats − 1.
        simpler: Results of simpler models, than which this one is not worse.

    Raises:
        UnusableRuns: No model can be fitted to some runs.
        IdentificationError: The request does not fit the recordings.
    """
    train, validation = _divided(recordings, split)
    return ModelFits(request, train, validation).fit(friction, split, simpler, (repeat,))


def _divided(recordings: Sequence[Recording], split: Split) -> tuple[list[Recording], list[Recording]]:
    """Return both sides of a split.

    Raises:
        IdentificationError: Runs cannot be used; `UnusableRuns` if it is for their contents.
    """
    check_runs(recordings)
    by_id = {recording.id: recording for recording in recordings}
    if len(by_id) != len(recordings):
        raise IdentificationError("two recordings share an id")
    return [by_id[i] for i in split.train], [by_id[i] for i in split.validation]
