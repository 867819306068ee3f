"""Identification: the request, the search for each model and repeat, and the result.

Models are fitted in nested order, and the simpler one's optimum is among the richer one's starts. A richer model
therefore never scores worse on the recordings it was fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from core.base.errors import IdentificationError
from core.identification.choice.friction import friction_choice, is_same_fit
from core.identification.choice.rule import FEW_RUNS, SHIFTED, command_path_choice
from core.identification.fitting import ModelFits, Progress, budget_of
from core.identification.misread import misread
from core.identification.request import IdentificationRequest, search_template
from core.identification.result import Identification, ModelResult, best_of_each
from core.identification.runs.conditions import check_runs, suited
from core.identification.runs.split import DEFAULT_RULE, Split, SplitError, split_recordings
from core.identification.search.steps import one_blas_thread
from core.identification.workload import Workload
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import AUTOMATIC

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
    richest model's fit with a rigid one chooses the contact and further terms, see `friction_choice`. The
    result's request contains these decisions.

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

    def fits(wanted: IdentificationRequest, others: Sequence[ModelResult] = (), *starts: ServoModel) -> Identification:
        job = searches(wanted, train, validation, reasons=reasons)
        results: list[ModelResult] = []
        for friction in wanted.models:
            same = is_same_fit(friction, request, wanted)
            if kept := [one for one in others if same and one.model.friction == friction]:
                results += kept
                continue
            results.append(job.fit(friction, split, [*starts, *(one.model for one in results)]))
            if job.stopped:
                found = Identification(job.request, split, tuple(results), stopped=True)
                return _stopped(found, (*known, *tried, *others))
            on_result(results[-1])
        better = best_of_each(results if others else [*results, *tried])
        return Identification(job.request, split, better, stopped=False)

    if request.contact != AUTOMATIC:
        return fits(request)
    return _with_chosen_friction(request, train, tried, reasons, fits)


def _with_chosen_friction(
    request: IdentificationRequest,
    train: Sequence[Recording],
    tried: Sequence[ModelResult],
    reasons: dict[str, str],
    fits: Callable[..., Identification],
) -> Identification:
    """Fit the models with the contact and the terms that the runs choose; `reasons` receives why."""
    found = None if tried else fits(request)
    if found is not None and found.stopped:
        return found
    rigid = [*tried, *(found.results if found else ())]
    chosen, best, reasons["contact_choice"] = friction_choice(request, rigid[-1].model, train)
    if chosen != replace(request, contact="rigid"):
        found = fits(chosen, rigid, best)
    elif found is None:
        found = fits(chosen)
    else:
        found = replace(found, request=replace(found.request, contact="rigid"))
    return found.with_provenance(reasons)


def _stopped(found: Identification, earlier: Sequence[ModelResult]) -> Identification:
    """Return what a stopped identification found, and the earlier fits that are better."""
    results = best_of_each([*earlier, *found.results])
    model = results[-1].model
    request = replace(found.request.settled(model.command_path), contact=model.contact)
    return replace(found, request=request, results=results)


def _command_path_tried(
    request: IdentificationRequest, recordings: Sequence[Recording], split: Split, searches: Callable[..., ModelFits]
) -> tuple[Identification, str]:
    """Fit the richest model without and with the command path; return the better identification and the reason."""
    with suppress(SplitError):
        held = split if split.validation else split_recordings(recordings, DEFAULT_RULE, request.seed)
        split = held if len(held.validation) >= FEW_RUNS else split
    without, path = (suited(request.settled(terms), recordings) for terms in ((), request.command_path))
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
    return ModelFits(request, train, validation).fit(friction, split, [one.model for one in simpler], (repeat,))


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
