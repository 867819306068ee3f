"""Identification: what is asked, the search for each model and repeat, and what was found.

Models are fitted in nested order, the simpler one's optimum among the richer one's starts, so that a richer model
never scores worse on the recordings it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from core.errors import IdentificationError
from core.identification.choice.words import NOT_TRIED, command_path_choice
from core.identification.fitting import ModelFits, Progress
from core.identification.request import IdentificationRequest, search_template
from core.identification.result import Identification, ModelResult
from core.identification.runs.conditions import check_runs
from core.identification.runs.split import DEFAULT_RULE, Split, SplitError, split_recordings
from core.recording import Recording

__all__ = ["IdentificationRequest", "Progress", "fit_repeat", "identify"]


def identify(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    *,
    folder: Path | None = None,
    storage: str = "",
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_recorded: Callable[[Progress], None] | None = None,
    on_result: Callable[[ModelResult], None] = lambda result: None,
    should_stop: Callable[[], bool] | None = None,
    should_yield: Callable[[], bool] | None = None,
) -> Identification:
    """Fit every model asked for.

    A command path that is identified only if it is better is tried first, on the richest model; the result's request
    holds what was settled.

    folder: where the Optuna studies are kept, in a journal (models are written by the caller); storage: the address of
    another place for them, where the folder's name begins theirs, see `open_storage`; resume: go on with the searches
    on record there, whose generations are told to on_recorded; on_result: hears of each model; should_stop: polled
    between generations, the best so far is kept; should_yield: polled too, leaves one processor to others while it
    says so, with the same result. Raises IdentificationError, UnusableRuns for runs no model can be fitted to.
    """
    split = split_recordings(recordings, request.validation, request.seed)
    train, validation = _divided(recordings, split)
    searches = partial(
        ModelFits,
        folder=folder,
        storage=storage,
        resume=resume,
        on_progress=on_progress,
        on_recorded=on_recorded,
        should_stop=should_stop,
        should_yield=should_yield,
    )
    path_choice, begun = "", 0.0
    if request.command_path_if_better:
        tried, path_choice, begun = _command_path_tried(request, recordings, split, searches)
        if tried.stopped:
            return tried
        request = tried.request
    job = searches(request, train, validation, path_choice=path_choice, span=(begun, 1.0))
    results: list[ModelResult] = []
    for friction in request.models:
        results.append(job.fit(friction, split, results))
        if job.stopped:
            break
        on_result(results[-1])
    return Identification(job.request, split, tuple(results), job.stopped)


def _command_path_tried(
    request: IdentificationRequest, recordings: Sequence[Recording], split: Split, searches: Callable[..., ModelFits]
) -> tuple[Identification, str, float]:
    """The richest model without or with the command path, whichever is better, why, and the share of work done.

    Nothing is fitted, and the path left out, where no run can be held out to judge by.
    """
    with suppress(SplitError):
        if not split.validation:
            split = split_recordings(recordings, DEFAULT_RULE, request.seed)
    if not split.validation:
        return Identification(request.settled(()), split, (), stopped=False), NOT_TRIED, 0.0
    train, validation = _divided(recordings, split)
    richest = request.models[-1]
    variants = {"without": request.settled(()), "with": request.settled(request.command_path)}
    sizes = {how: len(search_template(asked, richest).parameters.free) for how, asked in variants.items()}
    share = 1.0 / (sum(sizes.values()) + len(request.models) * sizes["with"])
    found: list[Identification] = []
    done = 0.0
    for how, asked in variants.items():
        span = (done, done + share * sizes[how])
        job = searches(asked, train, validation, trial=f"{how} the command path", span=span)
        found.append(Identification(job.request, split, (job.fit(richest, split, ()),), job.stopped))
        done = span[1]
        if job.stopped:
            break
    better, why = command_path_choice(*(tried.contenders[0] for tried in found)) if len(found) > 1 else (False, "")
    return replace(found[-1 if better else 0], stopped=found[-1].stopped), why, done


def fit_repeat(
    request: IdentificationRequest,
    friction: str,
    recordings: Sequence[Recording],
    split: Split,
    repeat: int,
    simpler: Sequence[ModelResult] = (),
) -> ModelResult:
    """One model by the search of one repeat, 0 … request.repeats − 1: a part of `identify` that stands for itself.

    split: of these recordings, instead of the request's rule; simpler: results of simpler models, which this one is
    not worse than. Raises as `identify`.
    """
    train, validation = _divided(recordings, split)
    return ModelFits(request, train, validation).fit(friction, split, simpler, (repeat,))


def _divided(recordings: Sequence[Recording], split: Split) -> tuple[list[Recording], list[Recording]]:
    """Both sides of a split; raises IdentificationError, UnusableRuns."""
    check_runs(recordings)
    by_id = {recording.id: recording for recording in recordings}
    if len(by_id) != len(recordings):
        raise IdentificationError("two recordings share an id")
    return [by_id[i] for i in split.train], [by_id[i] for i in split.validation]
